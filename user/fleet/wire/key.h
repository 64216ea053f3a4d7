/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of people (Ed25519), and what each may ask of a node. The file DIR/keys has a line for each
 * key; # begins a comment:
 *
 *   KEY ROLE PERSON [NAMESPACE,..]
 *
 * KEY is the public key, 64 hexadecimal digits. A profiler needs namespaces. Clients of NATS have
 * keys of their own, at the end of this file.
 */
#pragma once

#include "base/vec.h"
#include "fleet/wire/message.h"

enum fleet_role {
	FLEET_VIEWER,   /* the census, and slices of continuous profiling */
	FLEET_PROFILER, /* recordings of processes in its namespaces, too */
	FLEET_OPERATOR, /* everything */
	NR_FLEET_ROLES,
};

/* Bytes of a public key that name the inboxes of its owner: "_INBOX.HEX.>". */
#define INBOX_OWNER 8

struct fleet_key {
	u8 key[FLEET_KEY_LEN];
	enum fleet_role role;
	char person[64];
	char namespaces[256];
};

struct fleet_keys {
	VEC(struct fleet_key) all;
};

/* Adds the keys of a file. -EINVAL and a sentence with the line if it is malformed. */
int keys_parse(const char *text, struct fleet_keys *out, struct str *why);
void keys_fini(struct fleet_keys *k);
const struct fleet_key *keys_find(const struct fleet_keys *k, const u8 *key);

/* Whether `name` is one of the key's namespaces. */
bool key_has_namespace(const struct fleet_key *k, const char *name);

/* A new pair; the private key is a seed of FLEET_KEY_LEN bytes. Negative errno. */
int key_new(u8 *private_key, u8 *public_key);
int key_public(const u8 *private_key, u8 *public_key);

/*
 * The owner's part of the names of inboxes, as hexadecimal digits, and a new inbox,
 * "_INBOX.OWNER.RANDOM". Negative errno.
 */
int key_inbox(const u8 *private_key, char owner[2 * INBOX_OWNER + 1], char inbox[64]);

/* A signature of FLEET_SIGN_LEN bytes. Negative errno. */
int key_sign_bytes(const u8 *private_key, const void *bytes, size_t nr, u8 *signature);

enum key_use {
	KEY_FOR_REQUEST,
	KEY_FOR_POLICY, /* fleet/wire/policy.h */
};

/* Signs the bytes in `m`, and sets its key. Negative errno. */
int key_sign(const u8 *private_key, enum key_use use, struct fleet_signed *m);

/* Whether m->key has signed it for that use. */
bool key_has_signed(enum key_use use, const struct fleet_signed *m);

/* Bytes as hexadecimal digits. The text has room for 2 * len + 1 bytes. */
void hex_print(const u8 *bytes, size_t len, char *text);
bool hex_parse(const char *text, u8 *bytes, size_t len);

/* SHA-256. */
void digest(const void *bytes, size_t len, u8 out[FLEET_HASH_LEN]);

/*
 * Keys of NATS ("nkeys"): Ed25519 keys as text, in base32 with a prefix for their kind and a
 * checksum (CRC-16/XMODEM).
 */
#define NKEY_TEXT      57 /* a public key, "U..", with its NUL */
#define NKEY_SEED_TEXT 59 /* a private one, "SU.." */

enum nkey_kind {
	NKEY_OPERATOR, /* "O": it signs accounts */
	NKEY_ACCOUNT,  /* "A": it signs clients */
	NKEY_USER,     /* "U": a client */
	NR_NKEY_KINDS,
};

/* A new key. Negative errno. */
int nkey_new(enum nkey_kind kind, char seed[NKEY_SEED_TEXT], char public_key[NKEY_TEXT]);

/* The public key of a seed. -EINVAL if the text is no seed. */
int nkey_public(const char *seed, char public_key[NKEY_TEXT]);

/* A signature of FLEET_SIGN_LEN bytes. -EINVAL if the text is no seed; other negative errno. */
int nkey_sign(const char *seed, const void *bytes, size_t nr, u8 *signature);
