/* SPDX-License-Identifier: Apache-2.0 */
/* Names of nodes, for sentences on them. Each counts once; more than NODE_NAMES_MAX do not count.
 */
#pragma once

#include "base/vec.h"

#define NODE_NAMES_MAX   1000
#define NODE_NAMES_SHOWN 10

struct node_names {
	VEC(char *) all; /* owned */
};

void node_names_add(struct node_names *n, const char *name);
bool node_names_have(const struct node_names *n, const char *name);

/* "n1, n2 and 3 more"; the caller frees it. */
char *node_names_text(const struct node_names *n);
void node_names_fini(struct node_names *n);
