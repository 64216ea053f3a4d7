/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder that `sysflame fleet init` makes (docs/fleet-operations.md): keys, certificates and
 * configuration for NATS, and a folder for each client. Errors are logged.
 */
#pragma once

#include "fleet/wire/key.h"

/* Which rights a client of NATS gets. */
enum rights_kind {
	RIGHTS_NODE,
	RIGHTS_PERSON,
	RIGHTS_OPERATOR, /* a person, too */
	NR_RIGHTS,
};

struct layout_options {
	const char *dir;
	const char *hosts; /* of the server, joined by commas */
	const char *person;
	enum rights_kind person_kind;
};

/* Whether a certificate can name these hosts. Returns an exit status. */
int layout_check_hosts(const char *hosts);

/* Writes everything but the person's key, which exists. Returns an exit status. */
int layout_write(const struct layout_options *o, const char *names, const u8 *public_key);

/* A private file, or one for everybody. Fails if it exists. Negative errno. */
int layout_write_file(const char *path, bool is_private, const void *bytes, size_t len);

/*
 * Drops the lines of a person (NULL: of nobody) from the file `keys`, appends `line`, and copies
 * the file to the folder of each node. Returns an exit status.
 */
int layout_change_keys(const char *dir, const char *without, const char *line);

/* Whether layout_add would find no such client. Returns an exit status. */
int layout_check_new(const char *dir, enum rights_kind kind, const char *name);

/* Adds a client to a folder that layout_write has made, or removes it. Returns an exit status. */
int layout_add(const char *dir, enum rights_kind kind, const char *name, const u8 *public_key);
int layout_revoke(const char *dir, enum rights_kind kind, const char *name);

/* Makes a new secret by which nodes join. Servers that know the new secret refuse the old one. */
int layout_revoke_join(const char *dir);
