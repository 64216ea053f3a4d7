/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences on nodes of other versions. */
#pragma once

#include "fleet/gather.h"

/* Nodes that take part, and do it less well; NULL if there are none. The caller frees it. */
char *versions_older_text(const struct gather *census);

/* Nodes that cannot take part; as above. */
char *versions_foreign_text(const struct gather *census);

/* Reports both. */
void versions_report(const struct gather *census, void (*report)(void *ctx, const char *text),
		     void *ctx);
