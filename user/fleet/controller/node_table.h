/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sums that each node recorded for each service and method. Intervals over nodes need these
 * sums, and no stack of each node. Workers make the rows of the results that they merge; the
 * controller joins them.
 */
#pragma once

#include "base/str.h"
#include "base/vec.h"
#include "profile/names.h"
#include "profile/profile.h"

#define NODE_TABLE_ROWS 16384 /* of a node: the heaviest */

enum node_row_kind {
	NODE_ROW_SERVICE,
	NODE_ROW_METHOD, /* its self value */
	NR_NODE_ROW_KINDS,
};

struct node_row {
	u32 node;       /* the index of its total */
	u32 type, name; /* texts; a type's is "NAME/UNIT" */
	enum node_row_kind kind;
	u64 value; /* as recorded */
};

/* Rows of a node are adjacent, and nodes are in ascending order. */
struct node_table {
	struct node_text *by_text; /* owned */
	VEC(const char *) texts;
	size_t bytes; /* of texts */
	VEC(struct node_row) rows;
};

void node_table_fini(struct node_table *t);

/* The index of a text that is added if missing; UINT32_MAX: there is no room. */
u32 node_table_text(struct node_table *t, const char *text);

/* The index of the text of that type; UINT32_MAX: no row has that type. */
u32 node_table_type(const struct node_table *t, const struct value_type *type);

/* Adds the rows of a node, with the names of its frames after `names`. */
void node_table_add(struct node_table *t, u32 node, const struct profile *p, struct naming *names);

/* Removes the rows of the last node, and of all later ones. */
void node_table_drop(struct node_table *t, u32 node);

void node_table_encode(const struct node_table *t, struct str *out);

/* Adds the rows of `nr` nodes, whose numbers then begin with `first`. -EBADMSG: malformed. */
int node_table_decode(struct node_table *t, const void *bytes, size_t len, u32 first, u32 nr);

/* The service of a sample, or the name of its process. */
const char *node_table_service(const struct labels *l);

/* Appends the heaviest methods of a node with their shares: "a.B.run 12.3 %, main 4.5 %". */
void node_table_name(const struct node_table *t, u32 node, struct str *out);
