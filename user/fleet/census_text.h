/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences on nodes of a census that cannot take part. */
#pragma once

#include "fleet/gather.h"

/*
 * A sentence with the names of nodes with another version of the protocol. NULL if there is no such
 * node. The caller frees it.
 */
char *census_foreign_text(const struct gather *census);

/* The same for nodes that JetStream has seen lately and that did not answer. */
char *census_silent_text(const struct gather *census);

/* The same for nodes of a request that its census does not count. */
char *census_late_text(const struct gather *nodes);

/* Reports those of another version of the protocol. */
void census_text_report(const struct gather *census, void (*report)(void *ctx, const char *text),
			void *ctx);
