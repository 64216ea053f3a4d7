/* SPDX-License-Identifier: Apache-2.0 */
/* The certificate and the key by which the daemon serves HTTPS. */
#pragma once

#include "base/str.h"
#include "base/types.h"

struct tls {
	char *cert, *key; /* PEM texts; NULL without TLS */
};

/*
 * Reads both files. -EPERM for a key that others than its owner and group may read, or that anybody
 * else may change; -EINVAL for a file without PEM. `why` gets a sentence.
 */
int tls_read(const char *cert_path, const char *key_path, struct tls *out, struct str *why);

/* Erases the key. */
void tls_fini(struct tls *t);
