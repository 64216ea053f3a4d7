/* SPDX-License-Identifier: Apache-2.0 */
/* The key of a connection to NATS. */
#include "fleet/wire/bus_key.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "fleet/wire/key.h"

#define SEED_BYTES 1024 /* of the file */
#define AGAIN      "the signature begins with 0"
#define TRIES      5 /* a server may send the same text again */

/* NULL: the file cannot be read. */
static char *read_seed(const char *path)
{
	char *seed = NULL;
	size_t len;

	if (file_read(path, SEED_BYTES, &seed, &len))
		return NULL;
	seed[strcspn(seed, "\r\n")] = '\0';
	return seed;
}

static void drop_seed(char *seed)
{
	if (seed)
		explicit_bzero(seed, strlen(seed));
	free(seed);
}

/* A natsSignatureHandler; the library frees *why and *signature. */
static natsStatus sign(char **why, unsigned char **signature, int *len, const char *text, void *ctx)
{
	struct bus_key *k = ctx;
	u8 bytes[FLEET_SIGN_LEN];
	char *seed = read_seed(k->path);
	int err = seed ? nkey_sign(seed, text ?: "", strlen(text ?: ""), bytes) : -ENOENT;

	k->was_asked = text && *text;
	drop_seed(seed);
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

natsStatus bus_key_set(natsOptions *opts, struct bus_key *k)
{
	char public_key[NKEY_TEXT];
	char *seed = read_seed(k->path);
	int err = seed ? nkey_public(seed, public_key) : -ENOENT;

	drop_seed(seed);
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
