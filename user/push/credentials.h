/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The credentials for receivers: a file of root's that nobody else may read. A section begins with
 * the address in brackets whose requests it is for; then come lines `key = value`:
 *
 *   [https://profiles.example:4318]
 *   bearer = TOKEN                  or   basic = USER:PASSWORD
 *   header = X-Scope-OrgID: team-a       may be repeated
 *   ca = /etc/sysflame/ca.pem            the certificates that servers are checked by
 */
#pragma once

#include "base/str.h"
#include "push/receiver.h"

#define CREDENTIAL_HEADERS 8

/* Texts are owned; NULL if they are missing. */
struct credentials {
	char *bearer, *basic;
	char *headers[CREDENTIAL_HEADERS];
	u32 nr_headers;
	char *ca; /* PEM */
};

/*
 * Reads the section for each of the receivers into `out`. -EPERM if others could read or write the
 * file, -EINVAL if a line is wrong; `why` gets a sentence without any secret.
 */
int credentials_read(const char *path, const struct receiver *receivers, u32 nr,
		     struct credentials *out, struct str *why);

/* Overwrites the secrets, and frees them. */
void credentials_wipe(struct credentials *c);
