/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences on nodes of other versions. */
#pragma once

#include "fleet/gather.h"

/*
 * Names the nodes of older versions, which take part, and says what they cannot do. NULL if there
 * are none. The caller frees it.
 */
char *versions_older_text(const struct gather *census);

/* The same for nodes with another version of the protocol, which cannot take part. */
char *versions_foreign_text(const struct gather *census);

/* Reports both. */
void versions_report(const struct gather *census, void (*report)(void *ctx, const char *text),
		     void *ctx);
