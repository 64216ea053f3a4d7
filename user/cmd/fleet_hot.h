/* SPDX-License-Identifier: Apache-2.0 */
/* A reading of `sysflame fleet top`: services and methods of a merged profile. */
#pragma once

#include <stdio.h>

#include "base/vec.h"
#include "fleet/controller.h"
#include "profile/tree.h"

struct hot_service {
	char *name; /* owned; clean UTF-8 */
	u64 value;
	u32 nr_nodes; /* 0: unknown */
};

struct fleet_hot {
	const struct profile *profile;
	const char *unit;
	u64 total, window_ns;
	u64 until_wall_ns;
	size_t nr_matched, nr_delivered;
	bool is_estimate;
	VEC(struct hot_service) services; /* by value, the largest first */
	struct tree tree;
	struct hot_methods methods;
};

/* Reads the first type of the profile, which must outlive *out. fleet_hot_fini frees it. */
void fleet_hot_make(const struct profile *p, const struct controller_state *s,
		    const struct controller_order *o, struct fleet_hot *out);
void fleet_hot_fini(struct fleet_hot *h);

/* Text whose lines have at most `width` characters, or a line of JSON. */
void fleet_hot_print(const struct fleet_hot *h, size_t nr_services, size_t nr_methods, size_t width,
		     FILE *out);
void fleet_hot_print_json(const struct fleet_hot *h, size_t nr_services, size_t nr_methods,
			  FILE *out);
