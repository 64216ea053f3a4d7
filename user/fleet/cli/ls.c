/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sysflame fleet ls`, `status` and `stop`: one census, or one message.
 * Part of cmd/cmd.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "fleet/cli/request.h"
#include "fleet/controller/gather.h"
#include "fleet/wire/key.h"
#include "fleet/wire/selector.h"

struct options {
	struct connection_options connection;
	const char *select, *id;
	bool help;
};

/* "a, b and 3 more" */
static char *services_text(const struct gather_node *n)
{
	struct str s = { 0 };
	u32 nr = 0;

	str_add(&s, "");
	for (const char *at = n->services; *at; nr++) {
		size_t len = strcspn(at, "\n");
		str_addf(&s, "%s%.*s", nr ? ", " : "", (int)len, at);
		at += len + (at[len] != '\0');
	}
	if (n->nr_services > nr)
		str_addf(&s, " and %u more", n->nr_services - nr);
	return str_take(&s);
}

static void print_nodes(const struct gather *g)
{
	auto_free struct gather_node **all = gather_by_name(g);
	size_t nr = 0;

	printf("%-20s %-30s %-8s %5s %5s  %s\n", "NODE", "LABELS", "VERSION", "CPUS", "JVMS",
	       "SERVICES");
	for (size_t i = 0; i < g->nodes.nr; i++) {
		const struct gather_node *n = all[i];
		const char *labels = strchr(n->labels, ',');
		auto_free char *services = services_text(n);
		if (n->verdict == VERDICT_NO_MATCH)
			continue;
		nr++;
		printf("%-20s %-30s %-8s ", n->name, labels ? labels + 1 : "-", n->version);
		if (n->verdict)
			printf("%s: %s\n", verdict_name(n->verdict), n->why);
		else
			printf("%5u %5u  %s\n", n->nr_cpus, n->nr_jvms, services);
	}
	log_info("%zu node%s answered, %zu match", g->nodes.nr, plural(g->nodes.nr), nr);
	if (g->nr_twins)
		log_warn("%u answers came from a second node of the same name", g->nr_twins);
}

/* Nodes that were seen in the last 90 s and did not answer now. */
static void print_gone_node(struct requests *a, const struct link_event *e)
{
	const char *node = link_seen_node(e);

	if (node && node_name_is_valid(node) && !gather_find(a->extra, node))
		printf("%-20s does not answer; seen within the last 90 s\n", node);
}

static void print_gone(struct requests *a, const struct gather *census)
{
	a->extra = (void *)census;
	a->stored = print_gone_node;
	requests_stored(a, LINK_STREAM_SEEN, "the list of nodes that were seen", 0);
}

/* A request that runs on some nodes: "ID AGE DURATION PERSON SELECTOR", as they report it. */
struct running {
	char id[2 * FLEET_ID_LEN + 1], person[64], selector[256];
	u32 age_s, duration_s, nr_nodes;
};

static void add_run(const char *line, struct running *all, u32 max, u32 *nr)
{
	struct running r = { .nr_nodes = 1 };
	u32 i = 0;

	if (sscanf(line, "%32s %u %u %63s %255[^\n]", r.id, &r.age_s, &r.duration_s, r.person,
		   r.selector) != 5)
		return;
	while (i < *nr && strcmp(all[i].id, r.id) != 0)
		i++;
	if (i < *nr) {
		all[i].nr_nodes++;
		all[i].age_s = r.age_s > all[i].age_s ? r.age_s : all[i].age_s;
	} else if (*nr < max) {
		all[(*nr)++] = r;
	}
}

static void print_running(const struct gather *g)
{
	struct running all[64];
	u32 nr = 0;

	vec_each(at, &g->nodes) {
		auto_free char *copy = xstrdup((*at)->runs);
		char *rest = copy, *line;
		while ((line = strsep(&rest, "\n")))
			add_run(line, all, ARRAY_SIZE(all), &nr);
	}
	if (!nr) {
		log_info("%zu node%s answered; no request is being served", g->nodes.nr,
			 plural(g->nodes.nr));
		return;
	}
	printf("%-34s %-12s %6s %10s  %s\n", "REQUEST", "PERSON", "NODES", "AGE", "SELECTOR");
	for (u32 i = 0; i < nr; i++) {
		auto_free char *age = xasprintf("%u/%u s", all[i].age_s, all[i].duration_s);
		printf("%-34s %-12s %6u %10s  %s\n", all[i].id, all[i].person, all[i].nr_nodes, age,
		       all[i].selector);
	}
}

static void warn(void *ctx, const char *text)
{
	log_warn("%s", text);
}

static int take_census(const struct options *o, void (*print)(const struct gather *g),
		       bool lists_gone)
{
	struct requests a = { .is_silent = true };
	int status = requests_begin(&a, &o->connection, false);

	if (!status) {
		const struct controller_order order = requests_order(&a, WANT_CENSUS, o->select);
		status = requests_add(&a, &order);
	}
	/* A list of no nodes is no error. */
	if (!status && requests_run(&a, CONTROLLER_ENDED) &&
	    !controller_view(a.controllers[0]).nr_census)
		status = EXIT_FAILED;
	if (!status)
		print(controller_view(a.controllers[0]).census);
	/* Also runs if no node answered: then all nodes are gone, or have another version. */
	if (a.nr)
		census_text_report(controller_view(a.controllers[0]).census, warn, NULL);
	if (a.nr && lists_gone)
		print_gone(&a, controller_view(a.controllers[0]).census);
	requests_end(&a);
	return status;
}

static int parse(struct options *o, int argc, char **argv, const char *usage, bool takes_id)
{
	const struct opt opts[] = {
		FLEET_OPTS(&o->connection),
		SELECT_OPT(&o->select),
		{ 'h', "help", OPT_BOOL, &o->help, NULL, "show this help" },
	};
	int next = opt_parse(opts, ARRAY_SIZE(opts), argc, argv);

	if (next < 0)
		return EXIT_USAGE;
	if (o->help) {
		puts(usage);
		opt_help(opts, ARRAY_SIZE(opts));
		return 0;
	}
	if (takes_id && next < argc)
		o->id = argv[next++];
	if (next < argc) {
		log_error("fleet: %s: unexpected", argv[next]);
		return EXIT_USAGE;
	}
	return requests_check_selector(o->select);
}

int fleet_ls_main(int argc, char **argv)
{
	struct options o = { .connection = { .wait_s = 2 }, .select = "" };
	int status = parse(&o, argc, argv,
			   "usage: sysflame fleet ls --nats URL --fleet-dir DIR [OPTION..]\n\n"
			   "Lists the nodes that answer now.\n",
			   false);

	return status || o.help ? status : take_census(&o, print_nodes, true);
}

int fleet_status_main(int argc, char **argv)
{
	struct options o = { .connection = { .wait_s = 2 }, .select = "" };
	int status = parse(&o, argc, argv,
			   "usage: sysflame fleet status --nats URL --fleet-dir DIR [OPTION..]\n\n"
			   "Lists the requests that nodes are serving now.\n",
			   false);

	return status || o.help ? status : take_census(&o, print_running, false);
}

/* A node that does not serve the request is no error. */
static int report_stops(struct requests *a)
{
	size_t nr = 0, nr_refused = 0;

	requests_run(a, CONTROLLER_ENDED);
	const struct controller_state s = controller_view(a->controllers[0]);
	vec_each(n, &s.census->nodes) {
		nr += !(*n)->verdict;
		nr_refused += (*n)->verdict && (*n)->verdict != VERDICT_NO_MATCH;
	}
	requests_log_reasons(s.census);
	log_info("%zu node%s answered; %zu stopped a request", s.nr_census, plural(s.nr_census),
		 nr);
	return s.nr_census && !nr_refused ? 0 : EXIT_FAILED;
}

int fleet_stop_main(int argc, char **argv)
{
	struct options o = { .connection = { .wait_s = 2 }, .select = "" };
	struct requests a = { 0 };
	u8 id[FLEET_ID_LEN] = { 0 };
	int status =
		parse(&o, argc, argv,
		      "usage: sysflame fleet stop --nats URL --fleet-dir DIR [REQUEST]\n\n"
		      "Ends a recording that `fleet status` lists; without REQUEST all recordings\n"
		      "of the fleet. Those of others take an operator. Results so far are kept.\n",
		      true);

	if (status || o.help)
		return status;
	if (o.id && (strlen(o.id) != 2 * sizeof(id) || !hex_parse(o.id, id, sizeof(id)))) {
		log_error("fleet stop: %s: a request has 32 hexadecimal digits", o.id);
		return EXIT_USAGE;
	}
	status = requests_begin(&a, &o.connection, false);
	if (!status) {
		struct controller_order order = requests_order(&a, WANT_STOP, "");
		memcpy(order.target, id, sizeof(id));
		status = requests_add(&a, &order);
	}
	if (!status)
		status = report_stops(&a);
	requests_end(&a);
	return status;
}
