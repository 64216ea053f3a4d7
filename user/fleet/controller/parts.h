/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services and methods of a merged profile, and of an estimate their intervals. Nodes and intervals
 * take the table of nodes, which at most 200 nodes have.
 */
#pragma once

#include "base/vec.h"
#include "fleet/controller/controller.h"
#include "fleet/controller/estimate.h"
#include "profile/profile.h"

/* least nodes with samples of a part: with fewer, no interval can be trusted */
#define PARTS_NODES 10

enum parts_by {
	PARTS_SERVICES,
	PARTS_METHODS, /* their self values */
};

struct part {
	char *name; /* owned */
	u64 value;
	u32 nr_nodes;             /* nodes that have samples of this part; 0: unknown */
	struct estimate estimate; /* zero unless the profile is an estimate and has_nodes is set */
	double *values;           /* parts_of_nodes: as recorded, by parts.totals; owned */
};

struct parts {
	VEC(struct part) all; /* the largest first */
	size_t nr_more;
	bool has_nodes; /* there is a table of nodes */
	/* parts_of_nodes: the nodes that delivered, as indexes of controller_state.totals; owned */
	u32 *totals;
	u32 nr_totals;
};

/* The largest `max` parts of the first type of a merged profile. */
void parts_make(const struct profile *p, const struct controller_state *s, enum parts_by by,
		size_t max, struct parts *out);

/*
 * The largest `max` services by a value type of the table of nodes, without reading the profile;
 * none without a table. In an estimate, values are those of all nodes that match.
 */
void parts_of_nodes(const struct controller_state *s, const struct value_type *type, size_t max,
		    struct parts *out);
void parts_fini(struct parts *parts);

/* Notes "fleet-method/NAME" with the shares of methods: the page shows them. */
void parts_note(const struct parts *methods, struct profile *p);
