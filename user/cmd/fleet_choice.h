/* SPDX-License-Identifier: Apache-2.0 */
/* The options that say how many nodes take part. */
#pragma once

#include "base/opt.h"
#include "fleet/controller.h"

struct fleet_choice {
	const char *nodes, *samples;
	bool yes;
	double nr_nodes, share, nr_samples; /* one of them, or none */
};

#define FLEET_CHOICE_OPTS(c)                                                                          \
	{ 0,           "nodes", OPT_STRING,                                                           \
	  &(c)->nodes, "N|P%",  "N of these nodes, or a share of them (all, up to 200)" },            \
		{ 0,          "samples",                                                              \
		  OPT_STRING, &(c)->samples,                                                          \
		  "N",        "as many nodes as give about N samples, by their use of CPUs so far" }, \
	{                                                                                             \
		0, "yes", OPT_BOOL, &(c)->yes, NULL, "also more than 200 nodes; takes an operator"    \
	}

/* Returns an exit status; errors are logged. */
int fleet_choice_parse(struct fleet_choice *c, const char *command);
void fleet_choice_apply(const struct fleet_choice *c, struct controller_order *o);
