/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sysflame fleet diff`: two groups of nodes at the same time, compared.
 * Part of cmd/cmd.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/profile_file.h"
#include "export/writers/amount.h"
#include "export/writers/text.h"
#include "fleet/cli/request.h"
#include "fleet/controller/contrast.h"
#include "profile/diff.h"

#define TOP_MAX     1000
#define NR_GROUPS   2
#define LIMIT_NODES 200 /* most nodes of both groups together without --yes */

struct options {
	struct connection_options connection;
	struct request_options request;
	const char *select, *groups[NR_GROUPS], *output, *format, *event;
	char selectors[NR_GROUPS][256]; /* `select` and the group */
	int top;
	bool force, help;
	const struct format *to; /* NULL: text */
};

/*
 * The share of nodes that records, the same in both groups: the smaller of the two shares that the
 * order asks for. 0 if that many nodes need --yes and it is missing.
 */
static double choose_share(const struct requests *a, const struct fleet_choice *choice)
{
	double share = 1, nr = 0;

	for (u32 i = 0; i < a->nr; i++) {
		double wish = controller_share(a->controllers[i]);
		share = wish < share ? wish : share;
		nr += (double)controller_view(a->controllers[i]).nr_matched;
	}
	if (share * nr < LIMIT_NODES + 1 || choice->yes)
		return share;
	if (!choice->nodes && !choice->samples)
		return LIMIT_NODES / nr;
	log_error("fleet diff: that would be %.0f nodes; more than %d take --yes and an operator",
		  share * nr, LIMIT_NODES);
	return 0;
}

/*
 * Runs the censuses of both groups, chooses one share for both, then records both. Returns an exit
 * status.
 */
static int ask_both(const struct options *o, struct requests *a)
{
	int status = 0;

	for (int i = 0; !status && i < NR_GROUPS; i++) {
		struct controller_order order = requests_order(a, WANT_RECORDING, o->selectors[i]);
		request_options_apply(&o->request, &order);
		order.waits = true;
		status = requests_add(a, &order);
	}
	status = status ?: requests_run(a, CONTROLLER_CHOICE);
	if (status)
		return status;
	double share = choose_share(a, &o->request.choice);
	if (!(share > 0))
		return EXIT_USAGE;
	for (u32 i = 0; i < a->nr; i++)
		controller_choose(a->controllers[i], share);
	return requests_run(a, CONTROLLER_ENDED);
}

static struct contrast_side side_of(const struct controller *c, const struct profile *p, u32 type,
				    bool is_first)
{
	const struct controller_state s = controller_view(c);

	return (struct contrast_side){ .profile = p,
				       .type = type,
				       .totals = s.totals,
				       .nr_totals = s.nr_totals,
				       .sums_are_known = is_first,
				       .table = s.table };
}

/*
 * Compares the values as recorded, not the estimates: an estimate does not show how many samples it
 * rests on.
 */
static int compare(const struct options *o, const struct requests *a, struct profile **both,
		   struct profile *out, struct contrast *contrast)
{
	auto_str struct str why = { 0 }, others = { 0 };
	struct diff_types types;

	if (diff_choose(both[0], both[1], o->event, &types, &others, &why)) {
		log_error("fleet diff: the groups cannot be compared: %s", why.at);
		return EXIT_FAILED;
	}
	bool is_first = !types.before && !types.after;
	contrast_use_raw(both[0], &types.before);
	contrast_use_raw(both[1], &types.after);
	const struct contrast_side before =
		side_of(a->controllers[0], both[0], types.before, is_first);
	const struct contrast_side after =
		side_of(a->controllers[1], both[1], types.after, is_first);
	contrast_make(&before, &after, (size_t)o->top, contrast);
	const char *unit = both[1]->types.at[types.after].unit;
	profile_diff(both[0], both[1], &types, out);
	contrast_note(contrast, unit, out);
	free(out->title);
	out->title = xasprintf("%s to %s", o->groups[0], o->groups[1]);
	return 0;
}

static void print_method(const struct contrast_method *m, size_t width)
{
	auto_str struct str line = { 0 };

	str_addf(&line, "%7.2f %% %7.2f %% %+8.2f %%", 100 * m->before, 100 * m->after,
		 100 * m->change.total);
	if (m->change.has_interval)
		str_addf(&line, " %+8.2f %% %+8.2f %%", 100 * m->change.low, 100 * m->change.high);
	else
		str_addf(&line, " %10s %10s", "-", "-");
	str_add(&line, m->is_chance ? "   chance: " : "   ");
	size_t used = text_width(line.at);
	short_name_add(&line, m->name, true, width > used + 16 ? width - used : 16);
	puts(line.at);
}

static void print_intervals(const struct contrast *c, const char *unit, size_t width)
{
	auto_str struct str change = { 0 };

	printf("\n%u nodes before, %u after", c->nr_before, c->nr_after);
	if (c->has_sums) {
		contrast_add_change(&change, &c->change, 1, "");
		printf("; %.2f %s in a node before, %.2f after: %s", c->mean_before, unit,
		       c->mean_after, change.at);
	}
	if (c->has_sums && !c->change.has_interval)
		printf("\ntoo few nodes for intervals, which take %d in each group",
		       ESTIMATE_NODES);
	puts("");
	if (!c->has_nodes) {
		puts("of more than 200 nodes the values of each node are not kept: methods have no "
		     "intervals");
		return;
	}
	printf("%9s %9s %10s %10s %10s   %s\n", "BEFORE", "AFTER", "SELF", "FROM", "TO",
	       "METHOD (95 % confidence over nodes)");
	vec_each(m, &c->methods)
		print_method(m, width);
	if (c->methods.nr && c->methods.at[0].change.has_interval)
		printf("%u of %u methods differ by more than chance (Benjamini-Hochberg, 5 %%)\n",
		       c->nr_changed, c->nr_compared);
}

static int show(const struct options *o, const struct profile *p, const struct contrast *c)
{
	size_t width = terminal_width(STDOUT_FILENO);

	if (o->to)
		return profile_file_write(p, o->output, o->to, o->force, NULL) ? EXIT_FAILED : 0;
	text_diff(p, TEXT_DIFF_CHANGED, (size_t)o->top, width, stdout);
	print_intervals(c, p->types.at[0].unit, width);
	return output_finish();
}

static int compare_and_show(const struct options *o, struct requests *a)
{
	auto_profile struct profile *before = profile_new(), *after = profile_new();
	auto_profile struct profile *both = profile_new();
	struct profile *groups[NR_GROUPS] = { before, after };
	struct contrast contrast = { 0 };
	int status = 0;

	for (u32 i = 0; !status && i < a->nr; i++) {
		const struct controller_state s = controller_view(a->controllers[i]);
		log_info("%s: %s", i ? "after" : "before", o->groups[i]);
		requests_log_reasons(s.nodes);
		requests_log_coverage(a->controllers[i]);
		status = requests_profile(a->controllers[i], groups[i]);
	}
	requests_log_silent(a);
	status = status ?: compare(o, a, groups, both, &contrast);
	status = status ?: show(o, both, &contrast);
	contrast_fini(&contrast);
	return status ?: requests_coverage_status(a);
}

static int diff(const struct options *o)
{
	struct requests a = { .names_silent = true, .stopped = fleet_signals_count() };
	int status = requests_begin(&a, &o->connection, true);

	status = status ?: ask_both(o, &a) ?: compare_and_show(o, &a);
	requests_end(&a);
	return status;
}

static int check(struct options *o)
{
	int status = 0;

	if (!o->groups[0] || !o->groups[1])
		return requests_usage_error("diff", "needs --a SELECTOR and --b SELECTOR");
	for (int i = 0; !status && i < NR_GROUPS; i++) {
		auto_free char *both =
			xasprintf("%s%s%s", o->select, *o->select ? "," : "", o->groups[i]);
		status = requests_check_selector(both);
		copy_text(o->selectors[i], sizeof(o->selectors[i]), both);
	}
	if (status)
		return status;
	if (!strcmp(o->groups[0], o->groups[1]))
		return requests_usage_error("diff", "--a and --b are the same");
	if (o->top < 1 || o->top > TOP_MAX)
		return requests_usage_error("diff", "--top: takes 1 to 1000 methods");
	if (profile_file_check_output(o->output, o->format, NULL, o->force))
		return EXIT_USAGE;
	o->to = o->output ? profile_file_format(o->format, o->output) : NULL;
	if (o->output && !o->to)
		return EXIT_USAGE;
	status = request_options_check(&o->request, "diff");
	return status ?: o->output && profile_file_try(o->output, o->force) ? EXIT_FAILED : 0;
}

int fleet_diff_main(int argc, char **argv)
{
	struct options o = {
		.connection = { .wait_s = 2 }, .request = REQUEST_DEFAULTS, .select = "", .top = 30
	};
	const struct opt opts[] = {
		FLEET_OPTS(&o.connection),
		HTTP_OPT(&o.connection),
		{ 0, "a", OPT_STRING, &o.groups[0], "SELECTOR",
		  "the nodes and processes before, as in version=1" },
		{ 0, "b", OPT_STRING, &o.groups[1], "SELECTOR", "those after, as in version=2" },
		SELECT_OPT(&o.select),
		REQUEST_OPTS(&o.request),
		{ 0, "compare", OPT_STRING, &o.event, "NAME",
		  "compare this event; NAME/UNIT if the name is not unique" },
		{ 0, "top", OPT_INT, &o.top, "N", "print N methods (30)" },
		OUTPUT_OPT(&o.output),
		FORMAT_OPT(&o.format),
		FORCE_OPT(&o.force),
		{ 'h', "help", OPT_BOOL, &o.help, NULL, "show this help" },
	};
	int status = requests_parse(
		"diff", opts, ARRAY_SIZE(opts), argc, argv, &o.help,
		"usage: sysflame fleet diff --nats URL --fleet-dir DIR --a SELECTOR "
		"--b SELECTOR\n"
		"       [OPTION..]\n\n"
		"Records two groups of nodes at the same time, each node with the same\n"
		"probability, and compares them: as text, or as a page with -o. Changes\n"
		"have intervals over nodes from 30 nodes in each group on. --nodes N means\n"
		"N nodes of the larger group, and the same share of the other one. The exit\n"
		"status is 3 if the result lacks a node that was chosen.\n");

	return status >= 0 ? status : check(&o) ?: diff(&o);
}
