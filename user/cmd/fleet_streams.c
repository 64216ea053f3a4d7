/* SPDX-License-Identifier: Apache-2.0 */
/* Entries that JetStream keeps of a fleet. */
#include "cmd/fleet_streams.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/auto.h"
#include "base/log.h"
#include "fleet/selector.h"

#define SEARCHED 5000 /* messages, if a selector chooses among them */

struct taking {
	struct selector selector;
	bool selects;
	const struct gather *census; /* NULL: unknown */
	struct entries *out;
};

/* What people asked for concerns no single node. */
static bool is_selected(const struct taking *t, const char *node)
{
	const struct gather_node *n = t->census ? gather_find(t->census, node) : NULL;
	auto_free char *name = xasprintf("node=%s", node);

	if (!t->selects)
		return true;
	if (!*node || (n && n->verdict == VERDICT_NO_MATCH))
		return false;
	return selector_admits(&t->selector, n && *n->labels ? n->labels : name);
}

static void take_stored(struct asking *a, const struct link_event *e)
{
	struct taking *t = a->extra;
	struct entry entry;

	if (entry_parse_stored(e->subject, e->bytes, e->len, &entry))
		return;
	if (is_selected(t, entry.node))
		vec_push(&t->out->list, entry);
	else
		entry_fini(&entry);
}

void fleet_streams_add(struct asking *a, enum link_stream stream, const char *name,
		       const char *select, u32 max, struct entries *out)
{
	struct taking t = { .selects = *select != '\0', .out = out };
	auto_str struct str why = { 0 };

	if (selector_parse(select, &t.selector, &why))
		return;
	if (a->nr)
		t.census = controller_view(a->controllers[0]).census;
	a->extra = &t;
	a->stored = take_stored;
	if (!asking_stored(a, stream, t.selects ? SEARCHED : max))
		log_info("%s %s%s", name, a->has_all ? "" : "cannot be read: ", a->why);
	if (t.selects && a->nr_stored > SEARCHED)
		log_info("%s: only the newest %d of %llu entries were searched", name, SEARCHED,
			 (unsigned long long)a->nr_stored);
	a->stored = NULL;
	a->extra = NULL;
}

void fleet_streams_time(u64 at_ms, char *text)
{
	time_t at = (time_t)(at_ms / 1000);
	struct tm tm;

	if (!gmtime_r(&at, &tm) || !strftime(text, FLEET_TIME_TEXT, "%F %T", &tm))
		copy_text(text, FLEET_TIME_TEXT, "?");
}
