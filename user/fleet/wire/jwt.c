/* SPDX-License-Identifier: Apache-2.0 */
/* JSON Web Tokens of NATS. */
#include "fleet/wire/jwt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/auto.h"
#include "base/time.h"

#define SECRET_BYTES 256

/* base64url without padding. */
static void add_base64(struct str *out, const void *bytes, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789-_";
	const u8 *at = bytes;
	u32 held = 0, nr = 0;

	for (size_t i = 0; i < len; i++) {
		held = held << 8 | at[i];
		for (nr += 8; nr >= 6; nr -= 6)
			str_add_char(out, digits[held >> (nr - 6) & 63]);
	}
	if (nr)
		str_add_char(out, digits[held << (6 - nr) & 63]);
}

int jwt_sign(const struct jwt_claims *c, struct str *out)
{
	static const char head[] = "{\"typ\":\"JWT\",\"alg\":\"ed25519-nkey\"}";
	auto_str struct str claims = { 0 };
	u8 random[FLEET_ID_LEN], signature[FLEET_SIGN_LEN];
	char issuer[NKEY_TEXT], id[2 * FLEET_ID_LEN + 1];
	int err = nkey_public(c->issuer, issuer);

	if (err || getrandom(random, sizeof(random), 0) != sizeof(random))
		return err ?: -EIO;
	hex_print(random, sizeof(random), id);
	str_addf(&claims, "{\"jti\":\"%s\",\"iat\":%llu,\"iss\":\"%s\",\"sub\":\"%s\",", id,
		 (unsigned long long)(time_wall_ns() / NS_PER_SEC), issuer, c->subject);
	if (c->expires_s)
		str_addf(&claims, "\"exp\":%llu,", (unsigned long long)c->expires_s);
	str_addf(&claims, "\"name\":\"%s\",\"nats\":{%s,\"version\":2}}", c->name, c->nats);
	size_t begin = out->len;
	add_base64(out, head, sizeof(head) - 1);
	str_add_char(out, '.');
	add_base64(out, claims.at, claims.len);
	err = nkey_sign(c->issuer, out->at + begin, out->len - begin, signature);
	if (err)
		return err;
	str_add_char(out, '.');
	add_base64(out, signature, sizeof(signature));
	return 0;
}

int jwt_user(const char *signing_seed, const char *account, const char *name,
	     const char *public_key, u64 expires_s, struct str *out)
{
	auto_free char *nats = xasprintf("\"issuer_account\":\"%s\",\"type\":\"user\"", account);
	const struct jwt_claims claims = { .issuer = signing_seed,
					   .subject = public_key,
					   .name = name,
					   .expires_s = expires_s,
					   .nats = nats };

	return jwt_sign(&claims, out);
}

int jwt_join(const char *secret, const char *node, char seed[NKEY_SEED_TEXT], struct str *out)
{
	char signing[SECRET_BYTES], account[SECRET_BYTES], public_key[NKEY_TEXT];
	u64 expires_s = time_wall_ns() / NS_PER_SEC + JWT_JOIN_S;
	int err = sscanf(secret, "%255s %255s", signing, account) == 2 ? 0 : -EINVAL;

	err = err ?: nkey_new(NKEY_USER, seed, public_key);
	err = err ?: jwt_user(signing, account, node, public_key, expires_s, out);
	explicit_bzero(signing, sizeof(signing));
	return err;
}
