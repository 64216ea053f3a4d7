/* SPDX-License-Identifier: Apache-2.0 */
/* The key of a connection to NATS. */
#include "fleet/wire/bus_key.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "fleet/wire/jwt.h"

#define FILE_BYTES 8192
#define AGAIN      "the signature begins with 0"
#define TRIES      5 /* a server may send the same text again */

char *bus_file_in(const char *dir, const char *name)
{
	char *path = dir ? xasprintf("%s/%s", dir, name) : NULL;

	/* A file that cannot be read is no missing one: connecting without it would hide that. */
	if (path && access(path, F_OK)) {
		free(path);
		return NULL;
	}
	return path;
}

void bus_key_init(struct bus_key *k, const char *dir, const char *name)
{
	*k = (struct bus_key){ .path = bus_file_in(dir, "nats.nk"), .name = name };
	k->token_path = k->path ? bus_file_in(dir, "nats.jwt") : NULL;
	k->join_path = k->path ? NULL : bus_file_in(dir, "join");
}

bool bus_key_exists(const struct bus_key *k)
{
	return k->path || k->join_path;
}

/* The first line of a file. NULL: it cannot be read. */
static char *read_line(const char *path)
{
	char *text = NULL;
	size_t len;

	if (!path || file_read(path, FILE_BYTES, &text, &len))
		return NULL;
	text[strcspn(text, "\r\n")] = '\0';
	return text;
}

static void drop_secret(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

/* Negative errno. */
static int read_seed(struct bus_key *k)
{
	char *seed = k->path ? read_line(k->path) : NULL;

	if (k->path)
		copy_text(k->seed, sizeof(k->seed), seed ?: "");
	drop_secret(seed);
	return *k->seed ? 0 : -ENOENT;
}

/* A natsSignatureHandler; the library frees *why and *signature. */
static natsStatus sign(char **why, unsigned char **signature, int *len, const char *text, void *ctx)
{
	struct bus_key *k = ctx;
	u8 bytes[FLEET_SIGN_LEN];
	int err = read_seed(k) ?: nkey_sign(k->seed, text ?: "", strlen(text ?: ""), bytes);

	k->was_asked = text && *text;
	if (err) {
		*why = xstrdup("the file nats.nk cannot be read, or is malformed");
		return NATS_ERR;
	}
	if (!bytes[0]) {
		*why = xstrdup(AGAIN);
		return NATS_ERR;
	}
	*signature = xmemdup(bytes, sizeof(bytes));
	*len = sizeof(bytes);
	return NATS_OK;
}

/* A natsUserJWTHandler; the library frees *token and *why. */
static natsStatus give_token(char **token, char **why, void *ctx)
{
	struct bus_key *k = ctx;
	char *text = read_line(k->join_path ?: k->token_path);
	auto_str struct str made = { 0 };
	int err = !text ? -ENOENT : k->join_path ? jwt_join(text, k->name, k->seed, &made) : 0;

	if (err)
		*why = xasprintf("%s cannot be read, or is malformed",
				 k->join_path ?: k->token_path);
	else
		*token = xstrdup(k->join_path ? made.at : text);
	drop_secret(text);
	return err ? NATS_ERR : NATS_OK;
}

natsStatus bus_key_set(natsOptions *opts, struct bus_key *k)
{
	char public_key[NKEY_TEXT];

	if (k->join_path || k->token_path)
		return natsOptions_SetUserCredentialsCallbacks(opts, give_token, k, sign, k);
	int err = read_seed(k) ?: nkey_public(k->seed, public_key);
	return err ? NATS_INVALID_ARG : natsOptions_SetNKey(opts, public_key, sign, k);
}

natsStatus bus_key_connect(natsConnection **out, natsOptions *opts)
{
	natsStatus s = NATS_ERR;

	for (int i = 0; i < TRIES; i++) {
		s = natsConnection_Connect(out, opts);
		const char *why = s == NATS_ERR ? nats_GetLastError(NULL) : NULL;
		if (!why || !strstr(why, AGAIN))
			break;
	}
	return s;
}
