/* SPDX-License-Identifier: Apache-2.0 */
/* What a node hands out of its audit list, and publishes of it and of triggers (fleet/entry.h). */
#pragma once

#include "fleet/link.h"
#include "store/store.h"

/* Appends the newest entries of the list, a line for each. Negative errno. */
int fleet_entries_read(struct store *s, struct str *out);

/* Publishes an entry on "SUBJECT.NODE". A stream keeps it; without one it is lost. */
void fleet_entries_publish(struct link *l, const char *subject, const char *node, u64 at_ms,
			   const char *who, const char *what);
