/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How two groups of nodes differ, with intervals over nodes: samples of one node are not
 * independent of each other, so that their number alone promises too much.
 */
#pragma once

#include "base/vec.h"
#include "fleet/controller/controller.h"
#include "fleet/controller/estimate.h"
#include "profile/profile.h"

/* A group: its merged profile, and a value type with the values as recorded. */
struct contrast_side {
	const struct profile *profile;
	u32 type;
	const struct merge_total *totals; /* of its nodes */
	size_t nr_totals;
	bool sums_are_known; /* `totals` are sums of `type` */
	/* sums of the group's nodes; NULL: there are too many nodes */
	const struct node_table *table;
};

struct contrast_method {
	char *name;             /* owned */
	double before, after;   /* self, as a share of the group: 0 to 1 */
	struct estimate change; /* of the share */
	/*
	 * whether chance explains the change, tested among all methods of both groups; needs
	 * intervals
	 */
	bool is_chance;
};

struct contrast {
	u32 nr_before, nr_after;        /* nodes */
	bool has_nodes;                 /* both groups have a table */
	bool has_sums;                  /* `mean_before`, `mean_after` and `change` are known */
	double mean_before, mean_after; /* of a node */
	struct estimate change;         /* of the mean */
	VEC(struct contrast_method) methods; /* by change of the share, the largest first */
	u32 nr_compared, nr_changed;         /* of all methods; changed: by more than chance */
};

/*
 * With at most `nr_methods` methods; with none unless `has_nodes`. contrast_fini frees it.
 *
 * Each interval is that of a single method. Among many methods, some change by chance. Whether a
 * method has changed is therefore decided among all of them, by Welch's test over nodes and
 * diff_limit (profile/diff.h).
 */
void contrast_make(const struct contrast_side *before, const struct contrast_side *after,
		   size_t nr_methods, struct contrast *out);
void contrast_fini(struct contrast *c);

/* Notes of the comparison `p`: the page shows them in its panel of the coverage. */
void contrast_note(const struct contrast *c, const char *unit, struct profile *p);

/*
 * Appends "+12.3 (from +4.5 to +20.1)", or only "+12.3" if there are too few nodes for an interval.
 */
void contrast_add_change(struct str *out, const struct estimate *e, double factor,
			 const char *unit);

/*
 * Moves the values of type `*type` as they were recorded, which an estimate keeps in a type of its
 * own (fleet/controller/estimate.h), to its name. Sets *type to them.
 */
void contrast_use_raw(struct profile *p, u32 *type);
