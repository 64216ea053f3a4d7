/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services and methods of an estimate, with intervals. They take samples that have the label of
 * their node: those of at most 200 nodes.
 */
#pragma once

#include "base/vec.h"
#include "fleet/controller/controller.h"
#include "fleet/controller/estimate.h"
#include "profile/profile.h"

#define PARTS_NODES 10 /* with samples of a part; with fewer, no interval can be trusted */

enum parts_by {
	PARTS_SERVICES,
	PARTS_METHODS, /* their self values */
};

struct part {
	char *name; /* owned */
	u64 value;
	u32 nr_nodes; /* that have samples of it */
	struct estimate estimate;
};

struct parts {
	VEC(struct part) all; /* the largest first */
};

/* The largest `max` parts of the first type of a merged profile; none if it is no estimate. */
void parts_make(const struct profile *p, const struct controller_state *s, enum parts_by by,
		size_t max, struct parts *out);
void parts_fini(struct parts *parts);

/* NULL: it is not among them. */
const struct part *parts_find(const struct parts *parts, const char *name);

/* Notes "fleet-method/NAME" with the shares of methods: the page shows them. */
void parts_note(const struct parts *methods, struct profile *p);
