/* SPDX-License-Identifier: Apache-2.0 */
/* The hottest methods of each process, over the samples of the last seconds. */
#pragma once

#include "profile/profile.h"

#define HOT_WINDOW_NS (30ull * 1000000000)

struct hot_method_share {
	const char *name; /* clean UTF-8; valid until the next hot_add */
	bool is_java;
	u64 self, total; /* samples; `total` counts a stack once, however often it has the method */
};

struct hot_list {
	VEC(struct hot_method_share) all; /* by self, then total, then name */
	u64 nr_samples;                   /* of the process in the window */
};

struct hot;

struct hot *hot_new(void);
void hot_free(struct hot *h);

/* Adds the samples of a profile whose time ended at `now_ns`. The frames have names to be shown. */
void hot_add(struct hot *h, const struct profile *p, u64 now_ns);

/* The methods of a process; replaces the contents of *out. */
void hot_find(const struct hot *h, pid_t pid, u64 now_ns, struct hot_list *out);
void hot_list_fini(struct hot_list *l);
