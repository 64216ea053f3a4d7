/* SPDX-License-Identifier: Apache-2.0 */
/* What nodes are to do. */
#include "cmd/fleet_errand.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "base/utf8.h"
#include "cmd/cmd.h"
#include "cmd/fleet_request.h"

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

static int usage_error(const char *command, const char *text)
{
	log_error("fleet %s: %s", command, text);
	return EXIT_USAGE;
}

int fleet_errand_check(struct fleet_errand *e, const char *command)
{
	if (e->ago && !parse_span(e->ago, &e->ago_s))
		return usage_error(command,
				   "--ago: takes a time, as in 90s, 20m, 2h or 1d, up to 30d");
	if (e->duration_s < 1 || e->duration_s > 3600)
		return usage_error(command, "-d: takes 1 to 3600 s");
	if (e->ago && e->hz != FLEET_ERRAND_HZ)
		return usage_error(
			command, "-F: with --ago, samples have the rate at which nodes took them");
	if (e->hz == FLEET_ERRAND_HZ)
		e->hz = 99;
	if (e->hz < 1 || e->hz > 10000)
		return usage_error(command, "-F: takes 1 to 10000 Hz");
	if (!utf8_is_clean(e->events, 127) || !utf8_is_clean(e->reason, 127))
		return usage_error(command, "-e and --reason take 127 bytes of UTF-8, without "
					    "control characters");
	return fleet_choice_parse(&e->choice, command);
}

void fleet_errand_apply(const struct fleet_errand *e, struct controller_order *o)
{
	o->want = e->ago ? WANT_SLICES : WANT_RECORDING;
	copy_text(o->events, sizeof(o->events), e->events);
	copy_text(o->reason, sizeof(o->reason), e->reason);
	o->hz = (u32)e->hz;
	o->duration_s = (u32)e->duration_s;
	o->ago_s = e->ago_s;
	o->has_waves = !e->no_waves;
	fleet_choice_apply(&e->choice, o);
}
