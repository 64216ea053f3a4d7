/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each client of NATS may publish and subscribe to, in the language of nats-server's
 * configuration (docs/fleet-protocol.md). A user is one line.
 */
#pragma once

#include "base/str.h"

enum rights_kind {
	RIGHTS_NODE,
	RIGHTS_PERSON,
	RIGHTS_OPERATOR, /* a person, too */
	NR_RIGHTS,
};

/* Appends the line of a client. `inbox`: the token of its inboxes; of a node its name. */
void rights_add(struct str *out, enum rights_kind kind, const char *name, const char *inbox,
		const char *public_key);

/* Whether a line is that of the client. */
bool rights_line_is(const char *line, enum rights_kind kind, const char *name);

/* Appends the configuration of the server in the middle, and of one near the nodes. */
void rights_add_hub(struct str *out, const char *leaf_password);
void rights_add_leaf(struct str *out, const char *hub_host, const char *leaf_password);
