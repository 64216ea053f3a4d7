/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of other versions. */
#include "fleet/versions.h"

#include "base/auto.h"

static const char *nodes(size_t nr)
{
	return nr == 1 ? "node" : "nodes";
}

char *versions_older_text(const struct gather *census)
{
	size_t nr = census->older.all.nr;
	auto_free char *names = node_names_text(&census->older);

	return nr ? xasprintf("%zu %s of an older version: %s; JVMs that die there are not seen, "
			      "and early waves may record again: update sysflame there",
			      nr, nodes(nr), names)
		  : NULL;
}

char *versions_foreign_text(const struct gather *census)
{
	size_t nr = census->foreign.all.nr;
	auto_free char *names = node_names_text(&census->foreign);

	return nr ? xasprintf("%zu %s answered in another version of the protocol and cannot take "
			      "part: %s; update sysflame there, or here",
			      nr, nodes(nr), names)
		  : NULL;
}

void versions_report(const struct gather *census, void (*report)(void *ctx, const char *text),
		     void *ctx)
{
	auto_free char *older = versions_older_text(census);
	auto_free char *foreign = versions_foreign_text(census);

	if (older)
		report(ctx, older);
	if (foreign)
		report(ctx, foreign);
}
