/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sysflame fleet audit`: the audit lists of the nodes, as one.
 * Part of cmd/fleet.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/auto.h"
#include "base/log.h"
#include "base/str.h"
#include "base/utf8.h"
#include "cmd/cmd.h"
#include "cmd/fleet.h"
#include "cmd/fleet_request.h"

struct options {
	struct fleet_request_options request;
	const char *select;
	int nr;
	bool all, help;
};

struct entry {
	u64 at_ms;
	char node[64];
	char *who, *what; /* owned */
};

struct entries {
	bool all;
	VEC(struct entry) list;
};

/* Anybody may have made the text. */
static char *clean(const char *text)
{
	struct str s = { 0 };

	utf8_clean(&s, text, 1000);
	return str_take(&s);
}

static void add_line(struct entries *all, const char *node, char *line)
{
	char *end, *who, *what;
	struct entry e = { .at_ms = strtoull(line, &end, 10) };

	if (*end != '\t')
		return;
	who = end + 1;
	what = strchr(who, '\t');
	if (!what)
		return;
	*what++ = '\0';
	if (!all->all && strncmp(what, "fleet: ", 7) != 0)
		return;
	copy_text(e.node, sizeof(e.node), node);
	e.who = clean(who);
	e.what = clean(what);
	vec_push(&all->list, e);
}

/* A controller_host.text. */
static void take_text(void *ctx, const char *node, const void *bytes, size_t len)
{
	struct asking *a = ctx;
	auto_free char *copy = xmalloc(len + 1);
	char *rest = copy, *line;

	memcpy(copy, bytes, len);
	copy[len] = '\0';
	while ((line = strsep(&rest, "\n")))
		add_line(a->extra, node, line);
}

static int latest_first(const void *a, const void *b)
{
	u64 x = ((const struct entry *)a)->at_ms, y = ((const struct entry *)b)->at_ms;

	return (x < y) - (x > y);
}

static void print(struct entries *all, size_t max)
{
	if (all->list.nr)
		qsort(all->list.at, all->list.nr, sizeof(all->list.at[0]), latest_first);
	printf("%-19s  %-20s %-12s %s\n", "TIME (UTC)", "NODE", "PERSON", "ACTION");
	for (size_t i = 0; i < all->list.nr && i < max; i++) {
		const struct entry *e = &all->list.at[i];
		time_t at = (time_t)(e->at_ms / 1000);
		char text[32] = "?";
		struct tm tm;
		if (gmtime_r(&at, &tm))
			strftime(text, sizeof(text), "%F %T", &tm);
		printf("%-19s  %-20s %-12s %s\n", text, e->node, e->who, e->what);
	}
	if (all->list.nr > max)
		log_info("%zu older entries are not shown: -n", all->list.nr - max);
}

static void entries_fini(struct entries *all)
{
	vec_each(e, &all->list) {
		free(e->who);
		free(e->what);
	}
	vec_fini(&all->list);
}

static int audit(const struct options *o)
{
	struct entries all = { .all = o->all };
	struct asking a = { .is_silent = true, .extra = &all };
	int status = asking_begin(&a, &o->request, NULL);

	a.host.text = take_text;
	if (!status) {
		const struct controller_order order = asking_order(&a, WANT_AUDIT, o->select);
		status = asking_add(&a, &order);
	}
	status = status ?: asking_run(&a, CONTROLLER_ENDED);
	if (!status) {
		asking_log_reasons(controller_view(a.controllers[0]).nodes);
		print(&all, (size_t)o->nr);
	}
	asking_end(&a);
	entries_fini(&all);
	return status;
}

int fleet_audit_main(int argc, char **argv)
{
	struct options o = { .request = { .wait_s = 2 }, .select = "", .nr = 100 };
	const struct opt opts[] = {
		FLEET_OPTS(&o.request),
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
		     "Shows who asked nodes for what, latest first, from the nodes' own lists.\n"
		     "Takes an operator.\n");
		opt_help(opts, ARRAY_SIZE(opts));
		return 0;
	}
	if (next < argc || o.nr < 1) {
		log_error("fleet audit: takes options only, and -n at least 1");
		return EXIT_USAGE;
	}
	int status = asking_check_selector(o.select);
	return status ?: audit(&o);
}
