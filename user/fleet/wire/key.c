/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of people, and of clients of NATS. */
#include "fleet/wire/key.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/auto.h"
#include "base/str.h"

#define KEYS_MAX 10000

static const char *const role_names[NR_FLEET_ROLES] = { "viewer", "profiler", "operator" };

AUTO_DEFINE(pkey, EVP_PKEY *, EVP_PKEY_free)
AUTO_DEFINE(mdctx, EVP_MD_CTX *, EVP_MD_CTX_free)
#define auto_pkey  __attribute__((cleanup(auto_pkey_run)))
#define auto_mdctx __attribute__((cleanup(auto_mdctx_run)))

void hex_print(const u8 *bytes, size_t len, char *text)
{
	for (size_t i = 0; i < len; i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
}

static int digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

bool hex_parse(const char *text, u8 *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		int high = digit(text[2 * i]), low = high < 0 ? -1 : digit(text[2 * i + 1]);
		if (low < 0)
			return false;
		bytes[i] = (u8)(high << 4 | low);
	}
	return !text[2 * len];
}

void digest(const void *bytes, size_t len, u8 out[FLEET_HASH_LEN])
{
	if (!EVP_Digest(bytes, len, out, NULL, EVP_sha256(), NULL))
		abort();
}

static bool take_role(const char *name, enum fleet_role *out)
{
	for (int i = 0; i < NR_FLEET_ROLES; i++)
		if (!strcmp(name, role_names[i])) {
			*out = i;
			return true;
		}
	return false;
}

static bool take_word(char *field, size_t size, const char *word)
{
	if (!utf8_is_clean(word, size - 1))
		return false;
	copy_text(field, size, word);
	return true;
}

/* Parses a line. Returns an error as the rest of a sentence. */
static const char *take_line(char *line, struct fleet_key *k)
{
	char *rest = line, *words[5] = { 0 }, *word;
	size_t nr = 0;

	while (nr < ARRAY_SIZE(words) && (word = strsep(&rest, " \t\r")))
		if (*word)
			words[nr++] = word;
	if (nr < 3 || nr > 4)
		return "expected KEY ROLE PERSON [NAMESPACE,..]";
	if (!hex_parse(words[0], k->key, sizeof(k->key)))
		return "a key has 64 hexadecimal digits";
	if (!take_role(words[1], &k->role))
		return "a role is viewer, profiler or operator";
	if (!take_word(k->person, sizeof(k->person), words[2]) ||
	    (nr == 4 && !take_word(k->namespaces, sizeof(k->namespaces), words[3])))
		return "a name is too long or malformed";
	if ((k->role == FLEET_PROFILER) != (nr == 4))
		return "a profiler, and nobody else, has namespaces";
	return NULL;
}

int keys_parse(const char *text, struct fleet_keys *out, struct str *why)
{
	auto_free char *copy = xstrdup(text);
	char *rest = copy, *line;
	u32 number = 0;

	while ((line = strsep(&rest, "\n"))) {
		struct fleet_key k = { 0 };
		number++;
		line[strcspn(line, "#")] = '\0';
		if (strspn(line, " \t\r") == strlen(line))
			continue;
		const char *fault = take_line(line, &k);
		if (!fault && out->all.nr == KEYS_MAX)
			fault = "there are more than 10000 keys";
		if (!fault && keys_find(out, k.key))
			fault = "the key has a line already";
		if (fault) {
			str_addf(why, "line %u: %s", number, fault);
			return -EINVAL;
		}
		vec_push(&out->all, k);
	}
	return 0;
}

void keys_fini(struct fleet_keys *k)
{
	vec_fini(&k->all);
}

const struct fleet_key *keys_find(const struct fleet_keys *keys, const u8 *key)
{
	for (size_t i = 0; i < keys->all.nr; i++)
		if (!memcmp(keys->all.at[i].key, key, FLEET_KEY_LEN))
			return &keys->all.at[i];
	return NULL;
}

bool key_has_namespace(const struct fleet_key *k, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = k->namespaces; *at;) {
		size_t here = strcspn(at, ",");
		if (here == len && len && !strncmp(at, name, len))
			return true;
		at += here + (at[here] == ',');
	}
	return false;
}

static EVP_PKEY *open_private(const u8 *private_key)
{
	return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, private_key, FLEET_KEY_LEN);
}

int key_public(const u8 *private_key, u8 *public_key)
{
	auto_pkey EVP_PKEY *key = open_private(private_key);
	size_t len = FLEET_KEY_LEN;

	return key && EVP_PKEY_get_raw_public_key(key, public_key, &len) ? 0 : -EIO;
}

int key_inbox(const u8 *private_key, char owner[2 * INBOX_OWNER + 1], char inbox[64])
{
	u8 random[FLEET_ID_LEN], public_key[FLEET_KEY_LEN];
	char text[2 * FLEET_ID_LEN + 1];
	int err = key_public(private_key, public_key);

	if (err || getrandom(random, sizeof(random), 0) != sizeof(random))
		return err ?: -EIO;
	hex_print(random, sizeof(random), text);
	hex_print(public_key, INBOX_OWNER, owner);
	snprintf(inbox, 64, "_INBOX.%s.%s", owner, text);
	return 0;
}

int key_new(u8 *private_key, u8 *public_key)
{
	auto_pkey EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	size_t len = FLEET_KEY_LEN;

	if (!key || !EVP_PKEY_get_raw_private_key(key, private_key, &len))
		return -EIO;
	return key_public(private_key, public_key);
}

/*
 * Appends the signed bytes behind a text for the use: a signature is thus valid for one use only.
 */
static void add_signed_bytes(const struct fleet_signed *m, enum key_use use, struct str *out)
{
	static const char requests[] = "sysflame fleet request 1";
	static const char policies[] = "sysflame fleet policy 1";

	if (use == KEY_FOR_REQUEST)
		str_add_bytes(out, requests, sizeof(requests));
	else
		str_add_bytes(out, policies, sizeof(policies));
	str_add_bytes(out, m->request, m->len);
}

int key_sign_bytes(const u8 *private_key, const void *bytes, size_t nr, u8 *signature)
{
	auto_pkey EVP_PKEY *key = open_private(private_key);
	auto_mdctx EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	size_t len = FLEET_SIGN_LEN;

	if (!key || !ctx || !EVP_DigestSignInit(ctx, NULL, NULL, NULL, key) ||
	    !EVP_DigestSign(ctx, signature, &len, bytes, nr))
		return -EIO;
	return 0;
}

int key_sign(const u8 *private_key, enum key_use use, struct fleet_signed *m)
{
	auto_str struct str bytes = { 0 };

	add_signed_bytes(m, use, &bytes);
	return key_sign_bytes(private_key, bytes.at, bytes.len, m->signature)
		       ?: key_public(private_key, m->key);
}

bool key_has_signed(enum key_use use, const struct fleet_signed *m)
{
	auto_pkey EVP_PKEY *key =
		EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, m->key, FLEET_KEY_LEN);
	auto_mdctx EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	auto_str struct str bytes = { 0 };

	add_signed_bytes(m, use, &bytes);
	return key && ctx && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key) &&
	       EVP_DigestVerify(ctx, m->signature, sizeof(m->signature), (u8 *)bytes.at,
				bytes.len) == 1;
}

#define PREFIX_SEED  0x90u /* 'S' */
#define PUBLIC_BYTES (1 + FLEET_KEY_LEN + 2)
#define SEED_BYTES   (2 + FLEET_KEY_LEN + 2)

static const u8 prefixes[NR_NKEY_KINDS] = {
	[NKEY_OPERATOR] = 14 << 3, /* 'O' */
	[NKEY_ACCOUNT] = 0,
	[NKEY_USER] = 20 << 3, /* 'U' */
};

static const char base32[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

static u16 checksum(const u8 *bytes, size_t len)
{
	u32 crc = 0;

	for (size_t i = 0; i < len; i++) {
		crc ^= (u32)bytes[i] << 8;
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1;
	}
	return (u16)crc;
}

/* The last character is filled up with zeros. */
static void print(const u8 *bytes, size_t len, char *text)
{
	u32 held = 0, nr = 0;

	for (size_t i = 0; i < len; i++) {
		held = held << 8 | bytes[i];
		for (nr += 8; nr >= 5; nr -= 5)
			*text++ = base32[held >> (nr - 5) & 31];
	}
	if (nr)
		*text++ = base32[held << (5 - nr) & 31];
	*text = '\0';
}

static bool parse(const char *text, u8 *bytes, size_t len)
{
	u32 held = 0, nr = 0;
	size_t got = 0;

	for (; *text; text++) {
		const char *at = strchr(base32, *text);
		if (!at || got == len)
			return false;
		held = held << 5 | (u32)(at - base32);
		nr += 5;
		if (nr >= 8)
			bytes[got++] = (u8)(held >> (nr -= 8));
	}
	return got == len && !(held & ((1u << nr) - 1));
}

static void print_key(u8 *bytes, size_t len, char *text)
{
	u16 crc = checksum(bytes, len - 2);

	bytes[len - 2] = (u8)crc;
	bytes[len - 1] = (u8)(crc >> 8);
	print(bytes, len, text);
}

static int print_public(enum nkey_kind kind, const u8 *private_key, char *text)
{
	u8 bytes[PUBLIC_BYTES] = { prefixes[kind] };
	int err = key_public(private_key, bytes + 1);

	if (!err)
		print_key(bytes, sizeof(bytes), text);
	return err;
}

/* The two bytes before the key have the prefixes of a seed and of its kind, five bits each. */
static void put_prefixes(enum nkey_kind kind, u8 *bytes)
{
	bytes[0] = (u8)(PREFIX_SEED | prefixes[kind] >> 5);
	bytes[1] = (u8)(prefixes[kind] << 3);
}

static int parse_seed(const char *seed, enum nkey_kind *kind, u8 *private_key)
{
	u8 bytes[SEED_BYTES], wanted[2];

	if (!parse(seed, bytes, sizeof(bytes)) ||
	    checksum(bytes, SEED_BYTES - 2) !=
		    (u16)(bytes[SEED_BYTES - 2] | bytes[SEED_BYTES - 1] << 8))
		return -EINVAL;
	for (*kind = 0; *kind < NR_NKEY_KINDS; (*kind)++) {
		put_prefixes(*kind, wanted);
		if (!memcmp(bytes, wanted, sizeof(wanted)))
			break;
	}
	memcpy(private_key, bytes + 2, FLEET_KEY_LEN);
	explicit_bzero(bytes, sizeof(bytes));
	return *kind < NR_NKEY_KINDS ? 0 : -EINVAL;
}

int nkey_new(enum nkey_kind kind, char seed[NKEY_SEED_TEXT], char public_key[NKEY_TEXT])
{
	u8 bytes[SEED_BYTES];

	put_prefixes(kind, bytes);
	if (getrandom(bytes + 2, FLEET_KEY_LEN, 0) != FLEET_KEY_LEN)
		return -EIO;
	int err = print_public(kind, bytes + 2, public_key);
	if (!err)
		print_key(bytes, sizeof(bytes), seed);
	explicit_bzero(bytes, sizeof(bytes));
	return err;
}

int nkey_public(const char *seed, char public_key[NKEY_TEXT])
{
	u8 private_key[FLEET_KEY_LEN];
	enum nkey_kind kind;
	int err =
		parse_seed(seed, &kind, private_key) ?: print_public(kind, private_key, public_key);

	explicit_bzero(private_key, sizeof(private_key));
	return err;
}

int nkey_sign(const char *seed, const void *bytes, size_t nr, u8 *signature)
{
	u8 private_key[FLEET_KEY_LEN];
	enum nkey_kind kind;
	int err = parse_seed(seed, &kind, private_key)
			  ?: key_sign_bytes(private_key, bytes, nr, signature);

	explicit_bzero(private_key, sizeof(private_key));
	return err;
}
