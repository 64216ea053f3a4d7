/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates by which clients check a NATS server: an authority, and a server that it signed. */
#pragma once

#include "base/str.h"

struct certificate {
	struct str pem, key; /* the certificate, and its private key */
};

/* A new authority of ten years. Negative errno. */
int certificate_authority(struct certificate *out);

/* Whether these are names and IP addresses, joined by commas. */
bool certificate_takes(const char *hosts);

/*
 * A certificate of two years for a server: `hosts` as in certificate_takes.
 * -EINVAL if they or the authority are malformed.
 */
int certificate_server(const struct certificate *authority, const char *hosts,
		       struct certificate *out);

void certificate_fini(struct certificate *c);
