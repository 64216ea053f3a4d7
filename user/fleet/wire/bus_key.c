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

	/*
	 * A file that exists but cannot be read is an error: connecting without it would hide the
	 * fault.
	 */
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

/* The first line of a file. Negative errno. */
static int read_line(const char *path, char **out)
{
	size_t len;
	int err = file_read(path, FILE_BYTES, out, &len);

	if (!err)
		(*out)[strcspn(*out, "\r\n")] = '\0';
	return err;
}

static void drop_secret(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

/* The process has another user than who started the daemon. */
static char *fault_text(const char *path, int err)
{
	return err == -EINVAL ? xasprintf("%s is malformed", path)
			      : xasprintf("%s cannot be read by the user %u: %s", path, getuid(),
					  strerror(-err));
}

/* Negative errno. A node that joins has made its seed with its token. */
static int read_seed(struct bus_key *k)
{
	char *seed = NULL;
	int err = k->path ? read_line(k->path, &seed) : 0;

	if (seed)
		copy_text(k->seed, sizeof(k->seed), seed);
	drop_secret(seed);
	return err;
}

/* A natsSignatureHandler; the library frees *why and *signature. */
static natsStatus sign(char **why, unsigned char **signature, int *len, const char *text, void *ctx)
{
	struct bus_key *k = ctx;
	u8 bytes[FLEET_SIGN_LEN];
	int err = read_seed(k) ?: nkey_sign(k->seed, text ?: "", strlen(text ?: ""), bytes);

	k->was_asked = text && *text;
	if (err) {
		*why = fault_text(k->path ?: k->join_path, err);
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
	const char *path = k->join_path ?: k->token_path;
	auto_str struct str made = { 0 };
	char *text = NULL;
	int err = read_line(path, &text);

	if (!err && k->join_path)
		err = jwt_join(text, k->name, k->seed, &made);
	if (err)
		*why = fault_text(path, err);
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
