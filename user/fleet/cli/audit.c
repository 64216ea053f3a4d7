/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sysflame fleet audit`: the audit lists of the nodes and the audit stream, as one.
 * Part of cmd/cmd.h.
 */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/log.h"
#include "base/str.h"
#include "base/time.h"
#include "cmd/cmd.h"
#include "fleet/cli/request.h"
#include "fleet/controller/gather.h"
#include "fleet/wire/entry.h"
#include "fleet/wire/selector.h"

struct options {
	struct connection_options connection;
	const char *select;
	int nr;
	bool all, help;
};

#define SEARCHED 5000 /* most messages that are read if a selector chooses among them */

/* Entries from the nodes' own lists, and from the stream. */
struct listing {
	bool all; /* also entries that do not concern the fleet */
	struct selector selector;
	bool selects;
	struct entries entries;
};

static void add_line(struct listing *l, const char *node, const char *line)
{
	struct entry e;

	if (entry_parse(line, strlen(line), &e))
		return;
	if (!l->all && strncmp(e.what, "fleet: ", 7) != 0) {
		entry_fini(&e);
		return;
	}
	copy_text(e.node, sizeof(e.node), node);
	vec_push(&l->entries.list, e);
}

/* A controller_host.text. */
static void take_text(void *ctx, const char *node, const void *bytes, size_t len)
{
	struct requests *a = ctx;
	auto_free char *copy = xstrndup(bytes, len);
	char *rest = copy, *line;

	while ((line = strsep(&rest, "\n")))
		add_line(a->extra, node, line);
}

/* A node that is gone is known by its name only. */
static bool is_selected(const struct requests *a, const char *node)
{
	const struct listing *l = a->extra;
	const struct gather_node *n = gather_find(controller_view(a->controllers[0]).census, node);
	auto_free char *name = xasprintf("node=%s", node);

	if (!l->selects)
		return true;
	if (n && n->verdict == VERDICT_NO_MATCH)
		return false;
	return selector_admits(&l->selector, n && *n->labels ? n->labels : name);
}

static void take_stored(struct requests *a, const struct link_event *e)
{
	struct listing *l = a->extra;
	struct entry entry;

	if (entry_parse_stored(e->subject, e->bytes, e->len, &entry))
		return;
	if (is_selected(a, entry.node))
		vec_push(&l->entries.list, entry);
	else
		entry_fini(&entry);
}

/*
 * Adds entries of the stream. It also has entries of nodes that are gone or do not hand out their
 * list.
 */
static void add_stored(struct requests *a, u32 max)
{
	const struct listing *l = a->extra;

	a->stored = take_stored;
	requests_stored(a, LINK_STREAM_AUDIT, "the audit stream", l->selects ? SEARCHED : max);
	if (l->selects && a->nr_stored > SEARCHED)
		log_info("the audit stream: only the newest %d of %llu entries were searched",
			 SEARCHED, (unsigned long long)a->nr_stored);
}

static void print(struct entries *all, size_t max)
{
	entries_sort(all, time_wall_ns() / NS_PER_MS);
	printf("%-19s  %-20s %-12s %s\n", "TIME (UTC)", "NODE", "PERSON", "ACTION");
	for (size_t i = 0; i < all->list.nr && i < max; i++) {
		const struct entry *e = &all->list.at[i];
		char text[ENTRY_TIME_TEXT];
		entry_time(e->at_ms, text);
		printf("%-19s  %-20s %-12s %s\n", text, e->node, e->who, e->what);
	}
	if (all->list.nr > max)
		log_info("%zu older entries are not shown: -n", all->list.nr - max);
}

static int audit(const struct options *o)
{
	struct listing l = { .all = o->all, .selects = *o->select != '\0' };
	struct requests a = { .is_silent = true, .extra = &l };
	auto_str struct str why = { 0 };
	int status = requests_check_selector(o->select);

	if (!status)
		selector_parse(o->select, &l.selector, &why);
	status = status ?: requests_begin(&a, &o->connection, false);
	a.host.text = take_text;
	if (!status) {
		struct controller_order order = requests_order(&a, WANT_AUDIT, o->select);
		order.is_confirmed = true; /* it takes an operator anyway */
		status = requests_add(&a, &order);
	}
	status = status ?: requests_run(&a, CONTROLLER_ENDED);
	if (!status)
		requests_log_reasons(controller_view(a.controllers[0]).nodes);
	if (a.nr)
		add_stored(&a, (u32)o->nr);
	if (!status || l.entries.list.nr)
		print(&l.entries, (size_t)o->nr);
	requests_end(&a);
	entries_fini(&l.entries);
	return status;
}

int fleet_audit_main(int argc, char **argv)
{
	struct options o = { .connection = { .wait_s = 2 }, .select = "", .nr = 100 };
	const struct opt opts[] = {
		FLEET_OPTS(&o.connection),
		SELECT_OPT(&o.select),
		{ 'n', "number", OPT_INT, &o.nr, "N", "show N entries (100)" },
		{ 'a', "all", OPT_BOOL, &o.all, NULL,
		  "also entries that do not concern the fleet" },
		{ 'h', "help", OPT_BOOL, &o.help, NULL, "show this help" },
	};
	int status = requests_parse(
		"audit", opts, ARRAY_SIZE(opts), argc, argv, &o.help,
		"usage: sysflame fleet audit --nats URL --fleet-dir DIR [OPTION..]\n\n"
		"Shows who asked nodes for what, and triggers that fired, latest first, from the\n"
		"nodes' own lists and from the audit stream of JetStream. Takes an operator.\n");

	if (status >= 0)
		return status;
	if (o.nr < 1) {
		log_error("fleet audit: -n takes at least 1");
		return EXIT_USAGE;
	}
	return audit(&o);
}
