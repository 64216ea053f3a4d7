/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences on nodes of a census. */
#include "fleet/census_text.h"

#include "base/auto.h"

/* "N nodes WHAT: NAMES; CONSEQUENCE". NULL without nodes. */
static char *sentence(const struct node_names *n, const char *what, const char *consequence)
{
	size_t nr = n->all.nr;
	auto_free char *names = node_names_text(n);

	return nr ? xasprintf("%zu %s %s: %s; %s", nr, nr == 1 ? "node" : "nodes", what, names,
			      consequence)
		  : NULL;
}

char *census_foreign_text(const struct gather *census)
{
	return sentence(&census->foreign,
			"answered in another version of the protocol and cannot take part",
			"update sysflame there, or here");
}

char *census_silent_text(const struct gather *census)
{
	return sentence(&census->silent, "seen in the last 90 s did not answer",
			"sysflame fleet ls lists them");
}

char *census_late_text(const struct gather *nodes)
{
	return sentence(&nodes->late, "came too late for the census and took no part",
			"the next request counts them");
}

void census_text_report(const struct gather *census, void (*report)(void *ctx, const char *text),
			void *ctx)
{
	auto_free char *foreign = census_foreign_text(census);

	if (foreign)
		report(ctx, foreign);
}
