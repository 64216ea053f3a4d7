/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims as NATS takes them in operator mode: JSON Web Tokens, version 2 of github.com/nats-io/jwt,
 * signed by nkeys. An operator signs an account, and keys of the account sign its clients.
 */
#pragma once

#include "base/str.h"
#include "fleet/wire/key.h"

struct jwt_claims {
	const char *issuer; /* the seed that signs */
	const char *subject, *name;
	u64 expires_s;    /* since 1970; 0: never */
	const char *nats; /* JSON: the members of "nats" but "version" */
};

/* Appends the token. Negative errno. */
int jwt_sign(const struct jwt_claims *c, struct str *out);

/*
 * Appends a client's token. `signing_seed` is a scoped key of the account; the account holds the
 * rights of that key's clients.
 */
int jwt_user(const char *signing_seed, const char *account, const char *name,
	     const char *public_key, u64 expires_s, struct str *out);

/* validity of a node's token; the node makes a new one at each connection */
#define JWT_JOIN_S (12 * 3600)

/*
 * The secret by which nodes join has two words: the seed of a scoped key, and the account. Makes a
 * key for the node, and appends its token. -EINVAL: the secret is malformed.
 */
int jwt_join(const char *secret, const char *node, char seed[NKEY_SEED_TEXT], struct str *out);
