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

struct options {
	struct connection_options connection;
	const char *select;
	int nr;
	bool all, help;
};

/* From the nodes' own lists. */
struct listing {
	bool all; /* also what does not concern the fleet */
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

static void print(struct entries *all, size_t max)
{
	entries_sort(all, time_wall_ns() / NS_PER_MS);
	printf("%-19s  %-20s %-12s %s\n", "TIME (UTC)", "NODE", "PERSON", "ACTION");
	for (size_t i = 0; i < all->list.nr && i < max; i++) {
		const struct entry *e = &all->list.at[i];
		char text[ENTRY_TIME_TEXT];
		entry_time(e->at_ms, text);
		printf("%-19s  %-20s %-12s %s\n", text, *e->node ? e->node : "-", e->who, e->what);
	}
	if (all->list.nr > max)
		log_info("%zu older entries are not shown: -n", all->list.nr - max);
}

/* The stream also has entries of nodes that are gone, or do not hand out their list. */
static int audit(const struct options *o)
{
	struct listing l = { .all = o->all };
	struct requests a = { .is_silent = true, .extra = &l };
	int status = requests_begin(&a, &o->connection, NULL);

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
		requests_add_entries(&a, LINK_STREAM_AUDIT, "the audit stream", o->select,
				     (u32)o->nr, &l.entries);
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
	int next = opt_parse(opts, ARRAY_SIZE(opts), argc, argv);

	if (next < 0)
		return EXIT_USAGE;
	if (o.help) {
		puts("usage: sysflame fleet audit --nats URL --fleet-dir DIR [OPTION..]\n\n"
		     "Shows who asked nodes for what, latest first, from the nodes' own lists and\n"
		     "from the audit stream of JetStream. Takes an operator.\n");
		opt_help(opts, ARRAY_SIZE(opts));
		return 0;
	}
	if (next < argc || o.nr < 1) {
		log_error("fleet audit: takes options only, and -n at least 1");
		return EXIT_USAGE;
	}
	int status = requests_check_selector(o.select);
	return status ?: audit(&o);
}
