/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of a node. */
#include "web/fleet_entries.h"

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/time.h"
#include "fleet/entry.h"

#define LINES_MAX 1000

int fleet_entries_read(struct store *s, struct str *out)
{
	struct store_audit_list l = { 0 };
	int err = store_audit_read(s, LINES_MAX, &l);

	vec_each(a, &l.list) {
		entry_add(out, a->at_ns / NS_PER_MS, a->who, a->what);
		str_add_char(out, '\n');
	}
	store_audit_list_fini(&l);
	return err;
}

void fleet_entries_publish(struct link *l, const char *subject, const char *node, u64 at_ms,
			   const char *who, const char *what)
{
	auto_free char *own = xasprintf("%s.%s", subject, node);
	auto_str struct str line = { 0 };

	entry_add(&line, at_ms, who, what);
	if (!l || link_publish(l, own, "", line.at, line.len))
		log_debug("fleet: a message to %s was not sent", own);
}
