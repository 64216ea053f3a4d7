/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sysflame events: the events that this node can record, and why it cannot record others.
 * Part of cmd/cmd.h.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/opt.h"
#include "base/str.h"
#include "capture/events/events.h"
#include "cmd/cmd.h"

static void print_line(const char *name, const char *unit, const char *help, const char *why_not,
		       void *ctx)
{
	auto_str struct str line = { 0 };
	size_t columns = wrap_columns(STDOUT_FILENO);

	str_addf(&line, "%-28s %-10s ", name, unit);
	wrap_add(&line, help, line.len, line.len, columns);
	if (why_not) {
		str_add(&line, "\n  not here: ");
		wrap_add(&line, why_not, strlen("  not here: "), 4, columns);
	}
	puts(line.at);
}

static void add_json(const char *name, const char *unit, const char *help, const char *why_not,
		     void *ctx)
{
	json_t *event = json_pack("{ss ss ss sb}", "name", name, "unit", unit, "help", help,
				  "available", !why_not);

	if (why_not)
		json_object_set_new(event, "reason", json_string(why_not));
	json_array_append_new(ctx, event);
}

static int print_json(bool all)
{
	json_t *list = json_array();

	events_each(all, add_json, list);
	json_dumpf(list, stdout, JSON_INDENT(1));
	json_decref(list);
	putchar('\n');
	return output_finish();
}

int events_main(int argc, char **argv)
{
	bool all = false, json = false, help = false;
	const struct opt opts[] = {
		{ 'a', "all", OPT_BOOL, &all, NULL, "list every name, with tracepoints" },
		{ 0, "json", OPT_BOOL, &json, NULL, "print JSON" },
		{ 'h', "help", OPT_BOOL, &help, NULL, "show this help" },
	};
	int next = opt_parse(opts, ARRAY_SIZE(opts), argc, argv);

	if (next < 0)
		return EXIT_USAGE;
	if (help) {
		puts("usage: sysflame events [OPTION..]\n\n"
		     "Lists what `sysflame record -e` takes on this node: name, unit, meaning.\n");
		opt_help(opts, ARRAY_SIZE(opts));
		return 0;
	}
	if (next < argc) {
		log_error("events: %s: unexpected", argv[next]);
		return EXIT_USAGE;
	}
	if (json)
		return print_json(all);
	events_each(all, print_line, NULL);
	return output_finish();
}
