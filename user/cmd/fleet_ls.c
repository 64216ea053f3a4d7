/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sysflame fleet ls` and `sysflame fleet stop`.
 * Part of cmd/fleet.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "base/time.h"
#include "cmd/cmd.h"
#include "cmd/fleet.h"
#include "cmd/fleet_request.h"
#include "fleet/selector.h"

struct options {
	struct fleet_request_options request;
	const char *select;
	bool help;
};

static void print_services(const struct gather_node *n)
{
	for (u32 i = 0; i < n->nr_services; i++)
		printf("%s%s", i ? ", " : "", n->services[i]);
	if (n->nr_all_services > n->nr_services)
		printf(" and %u more", n->nr_all_services - n->nr_services);
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct gather_node *const *)a)->name,
		      (*(struct gather_node *const *)b)->name);
}

static void print(struct gather *g)
{
	size_t nr = 0;

	if (g->nodes.nr)
		qsort(g->nodes.at, g->nodes.nr, sizeof(g->nodes.at[0]), by_name);
	printf("%-20s %-30s %5s %5s  %s\n", "NODE", "LABELS", "CPUS", "JVMS", "SERVICES");
	for (size_t i = 0; i < g->nodes.nr; i++) {
		const struct gather_node *n = g->nodes.at[i];
		const char *labels = strchr(n->labels, ',');
		if (n->verdict == VERDICT_NO_MATCH)
			continue;
		nr++;
		printf("%-20s %-30s ", n->name, labels ? labels + 1 : "-");
		if (n->verdict) {
			printf("%s: %s\n", verdict_name(n->verdict), n->why);
			continue;
		}
		printf("%5u %5u  ", n->nr_cpus, n->nr_jvms);
		print_services(n);
		puts("");
	}
	log_info("%zu nodes answered, %zu match", g->nodes.nr, nr);
	if (g->nr_twins)
		log_warn("%u answers came from a second node of the same name", g->nr_twins);
}

static int list(const struct options *o)
{
	struct asking a = { 0 };
	struct gather g = { 0 };
	struct fleet_request r = { .want = WANT_CENSUS, .share_ppb = FLEET_PPB };
	const struct gather_host host = asking_host(&a);
	int status = asking_begin(&a, &o->request);

	copy_text(r.selector, sizeof(r.selector), o->select);
	status = status ?: asking_send(&a, &r, &g, &host);
	if (!status) {
		asking_run(&a, (u64)(o->request.wait_s * (double)NS_PER_SEC), NULL);
		print(&g);
		status = g.nodes.nr ? 0 : EXIT_FAILED;
	}
	gather_fini(&g);
	asking_end(&a);
	return status;
}

static int parse(struct options *o, int argc, char **argv, const char *usage)
{
	auto_str struct str why = { 0 };
	struct selector s;
	const struct opt opts[] = {
		FLEET_OPTS(&o->request),
		{ 0, "select", OPT_STRING, &o->select, "SELECTOR",
		  "these nodes only, as in zone=a,version!=2" },
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
	if (next < argc) {
		log_error("fleet: %s: unexpected", argv[next]);
		return EXIT_USAGE;
	}
	if (!selector_parse(o->select, &s, &why))
		return 0;
	log_error("fleet: %s", why.at);
	return EXIT_USAGE;
}

int fleet_ls_main(int argc, char **argv)
{
	struct options o = { .request = { .wait_s = 2 }, .select = "" };
	int status = parse(&o, argc, argv,
			   "usage: sysflame fleet ls --nats URL --fleet-dir DIR [OPTION..]\n\n"
			   "Lists the nodes that answer now.\n");

	return status || o.help ? status : list(&o);
}

int fleet_stop_main(int argc, char **argv)
{
	struct options o = { .request = { .wait_s = 1 }, .select = "" };
	struct asking a = { 0 };
	struct gather nobody = { 0 };
	int status = parse(&o, argc, argv,
			   "usage: sysflame fleet stop --nats URL --fleet-dir DIR\n\n"
			   "Ends all recordings of the fleet, whoever began them. Their results\n"
			   "so far are kept.\n");

	if (status || o.help)
		return status;
	status = asking_begin(&a, &o.request);
	if (!status) {
		asking_control(&a, MESSAGE_STOP, NULL);
		a.gather = &nobody;
		asking_run(&a, NS_PER_SEC, NULL);
		log_info("every node was told to stop");
	}
	asking_end(&a);
	return status;
}
