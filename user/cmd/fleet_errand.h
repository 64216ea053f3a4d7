/* SPDX-License-Identifier: Apache-2.0 */
/* The options that say what nodes are to do: record, or fetch their past. */
#pragma once

#include <limits.h>

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

struct fleet_errand {
	const char *events, *ago, *reason;
	int hz, duration_s;
	bool no_waves;
	u32 ago_s;
	struct fleet_choice choice;
};

#define FLEET_ERRAND_HZ INT_MIN /* no -F: 99 Hz */
#define FLEET_ERRAND_DEFAULTS                                                          \
	{                                                                              \
		.events = "cpu", .reason = "", .hz = FLEET_ERRAND_HZ, .duration_s = 30 \
	}

#define FLEET_ERRAND_OPTS(e)                                                                          \
	FLEET_CHOICE_OPTS(&(e)->choice),                                                              \
		{ 0,                                                                                  \
		  "no-waves",                                                                         \
		  OPT_BOOL,                                                                           \
		  &(e)->no_waves,                                                                     \
		  NULL,                                                                               \
		  "record all nodes at once; more than 10 take waves of one node, 1 %, the "          \
		  "rest" },                                                                           \
		{ 'e', "event", OPT_STRING, &(e)->events, "EVENT,..", "record these events (cpu)" },  \
		{ 'F', "freq", OPT_INT, &(e)->hz, "HZ", "samples per second and CPU (99)" },          \
		{ 'd', "duration", OPT_INT, &(e)->duration_s, "S", "record S seconds (30)" },         \
		{ 0,          "ago",                                                                  \
		  OPT_STRING, &(e)->ago,                                                              \
		  "TIME",     "record nothing: fetch the S seconds that ended TIME ago, as in 20m" }, \
	{                                                                                             \
		0, "reason", OPT_STRING, &(e)->reason, "TEXT", "for the audit list of every node"     \
	}

/* Returns an exit status; errors are logged. */
int fleet_errand_check(struct fleet_errand *e, const char *command);
void fleet_errand_apply(const struct fleet_errand *e, struct controller_order *o);
