/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys by which NATS knows its clients ("nkeys"): Ed25519 keys as text, in base32 with a prefix for
 * their kind and a checksum (CRC-16/XMODEM).
 */
#pragma once

#include "fleet/message.h"

#define NKEY_TEXT      57 /* a public key, "U..", with its NUL */
#define NKEY_SEED_TEXT 59 /* a private one, "SU.." */

/* A new key of a client. Negative errno. */
int nkey_new(char seed[NKEY_SEED_TEXT], char public_key[NKEY_TEXT]);

/* The public key of a seed. -EINVAL if the text is no seed of a client. */
int nkey_public(const char *seed, char public_key[NKEY_TEXT]);

/* A signature of FLEET_SIGN_LEN bytes. -EINVAL if the text is no seed; other negative errno. */
int nkey_sign(const char *seed, const void *bytes, size_t nr, u8 *signature);
