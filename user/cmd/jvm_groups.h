/* SPDX-License-Identifier: Apache-2.0 */
/* JVMs grouped by what doctor found about them: a node may run a thousand alike. */
#pragma once

#include "base/str.h"
#include "base/vec.h"
#include "jvm/jvm_support.h"

struct jvm_group {
	char *key;      /* the finding with N for each number: sizes and minutes differ */
	char *finding;  /* the phrase, then a line for each reason */
	bool is_varied; /* other members have other numbers */
	const char *verdict;
	struct str members; /* "PID MAIN, PID MAIN"; the first few */
	size_t nr;
};

struct jvm_groups {
	VEC(struct jvm_group) all; /* in the order of their first JVMs */
};

void jvm_groups_add(struct jvm_groups *g, const struct javaproc *j, const struct jvm_support *s);

/* On standard output. */
void jvm_groups_print(const struct jvm_groups *g);
void jvm_groups_fini(struct jvm_groups *g);
