/* SPDX-License-Identifier: Apache-2.0 */
/* How many nodes take part. */
#include "cmd/fleet_choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cmd/cmd.h"

/* A number above 0 with this end. */
static bool parse_number(const char *text, const char *end, double *out)
{
	char *rest;
	double value = strtod(text, &rest);

	if (rest == text || strcmp(rest, end) != 0 || !isfinite(value) || !(value > 0))
		return false;
	*out = value;
	return true;
}

int fleet_choice_parse(struct fleet_choice *c, const char *command)
{
	if (c->nodes && c->samples) {
		log_error("fleet %s: --nodes and --samples exclude each other", command);
		return EXIT_USAGE;
	}
	if (c->nodes && parse_number(c->nodes, "%", &c->share) && c->share <= 100) {
		c->share /= 100;
		return 0;
	}
	if (c->nodes && !parse_number(c->nodes, "", &c->nr_nodes)) {
		log_error("fleet %s: --nodes: takes a number, as in 20, or a share, as in 5%%",
			  command);
		return EXIT_USAGE;
	}
	if (c->samples && !parse_number(c->samples, "", &c->nr_samples)) {
		log_error("fleet %s: --samples: takes a number, as in 40000", command);
		return EXIT_USAGE;
	}
	return 0;
}

void fleet_choice_apply(const struct fleet_choice *c, struct controller_order *o)
{
	o->nr_nodes = c->nr_nodes;
	o->share = c->share;
	o->nr_samples = c->nr_samples;
	o->is_confirmed = c->yes;
}
