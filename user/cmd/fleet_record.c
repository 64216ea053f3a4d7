/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sysflame fleet record`: census, request, recordings, results, merge, profile.
 * Part of cmd/fleet.h.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/log.h"
#include "base/str.h"
#include "base/time.h"
#include "cmd/cmd.h"
#include "cmd/fleet.h"
#include "cmd/fleet_request.h"
#include "cmd/profile_file.h"
#include "export/read.h"
#include "fleet/merge.h"
#include "fleet/selector.h"

#define NODES_UNASKED 200               /* more take --yes */
#define SETTLE_NS     (60 * NS_PER_SEC) /* for results after the recordings */
#define REASONS_MAX   20                /* lines */

struct options {
	struct fleet_request_options request;
	const char *select, *nodes, *events, *ago, *output, *format, *reason;
	int hz, duration_s;
	bool yes, force, help;
	u32 ago_s;
	double nr_nodes, share; /* one of them, or neither */
	const struct format *to;
};

/* What a run has. */
struct recording {
	const struct options *o;
	struct asking asking;
	struct workers *workers;
	struct spool spool;
	size_t nr_census, nr_matched; /* nodes that answered, and those that the selector chose */
};

static volatile int stopped;

static void on_signal(int number)
{
	stopped = 1;
}

static int deliver(void *ctx, const struct gather_node *n)
{
	struct asking *a = ctx;
	struct recording *r = (struct recording *)((char *)a - offsetof(struct recording, asking));

	return spool_add(&r->spool, n->labels, n->bytes, n->size);
}

/* --- the request ------------------------------------------------------------------------------ */

static struct fleet_request request_of(const struct options *o, enum fleet_want want)
{
	struct fleet_request r = {
		.want = want,
		.hz = (u32)o->hz,
		.duration_s = (u32)o->duration_s,
		.ago_s = o->ago_s,
		.share_ppb = FLEET_PPB,
	};

	copy_text(r.selector, sizeof(r.selector), o->select);
	copy_text(r.events, sizeof(r.events), o->events);
	copy_text(r.reason, sizeof(r.reason), o->reason);
	return r;
}

static int take_census(struct recording *r)
{
	struct fleet_request request = request_of(r->o, WANT_CENSUS);
	const struct gather_host host = asking_host(&r->asking);
	struct gather g = { 0 };
	int status = asking_send(&r->asking, &request, &g, &host);

	if (!status &&
	    !asking_run(&r->asking, (u64)(r->o->request.wait_s * (double)NS_PER_SEC), NULL))
		status = EXIT_FAILED;
	r->nr_census = g.nodes.nr;
	for (size_t i = 0; i < g.nodes.nr; i++)
		r->nr_matched += g.nodes.at[i]->verdict != VERDICT_NO_MATCH;
	if (!status && g.nr_twins)
		log_warn("fleet: two nodes have the same name; only one of them counts");
	if (!status && g.nodes.nr && g.nodes.at[0]->verdict == VERDICT_SIGNATURE) {
		log_error("fleet: %s: %s", g.nodes.at[0]->name, g.nodes.at[0]->why);
		status = EXIT_FAILED;
	} else if (!status && !r->nr_matched) {
		log_error("fleet: %zu nodes answered, none matches \"%s\"", r->nr_census,
			  r->o->select);
		status = EXIT_FAILED;
	}
	r->asking.gather = NULL;
	gather_fini(&g);
	return status;
}

/* The share of the nodes that match. */
static int choose_share(const struct recording *r, struct fleet_request *request)
{
	const struct options *o = r->o;
	double share = o->share;

	if (o->nr_nodes > 0)
		share = o->nr_nodes / (double)r->nr_matched;
	else if (!(share > 0))
		share = r->nr_matched > NODES_UNASKED && !o->yes
				? (double)NODES_UNASKED / (double)r->nr_matched
				: 1;
	share = share < 1 ? share : 1;
	if (share * (double)r->nr_matched > NODES_UNASKED + 0.5 && !o->yes) {
		log_error("fleet: that would be about %.0f nodes; add --yes for more than %d",
			  share * (double)r->nr_matched, NODES_UNASKED);
		return EXIT_USAGE;
	}
	request->share_ppb = (u32)(share * FLEET_PPB);
	return 0;
}

static bool all_have_ended(const struct gather *g)
{
	return g->nodes.nr && !gather_count(g, GATHER_WORKS) && !gather_count(g, GATHER_READY);
}

/* Waits for answers, for the recordings, and for their results. */
static void await_results(struct recording *r, struct gather *g)
{
	u64 answers_ns = (u64)(r->o->request.wait_s * (double)NS_PER_SEC);
	u64 length_ns = r->o->ago ? 0 : (u64)r->o->duration_s * NS_PER_SEC;

	r->asking.stopped = &stopped;
	bool goes_on = asking_run(&r->asking, answers_ns, NULL);
	if (goes_on)
		log_info("%zu nodes take part, %zu do not",
			 g->nodes.nr - gather_count(g, GATHER_REFUSED),
			 gather_count(g, GATHER_REFUSED));
	goes_on = goes_on && asking_run(&r->asking, length_ns + SETTLE_NS, all_have_ended);
	r->asking.stopped = NULL;
	if (!goes_on) {
		log_info("stopping; what was recorded so far is fetched");
		asking_control(&r->asking, MESSAGE_STOP, g->id);
		asking_run(&r->asking, SETTLE_NS, all_have_ended);
	}
	gather_give_up(g);
}

/* --- the profile ------------------------------------------------------------------------------ */

/* A recording that was ended early is delivered, with the reason. */
static bool has_reason(const struct gather_node *n)
{
	return n->verdict != VERDICT_NO_MATCH && *n->why;
}

static void log_reasons(const struct gather *g)
{
	u32 nr = 0;

	for (size_t i = 0; i < g->nodes.nr; i++) {
		const struct gather_node *n = g->nodes.at[i];
		if (!has_reason(n))
			continue;
		if (nr++ < REASONS_MAX)
			log_warn("%s: %s: %s", n->name,
				 n->verdict ? verdict_name(n->verdict) : "ended early", n->why);
	}
	if (nr > REASONS_MAX)
		log_warn("%u more nodes gave reasons", nr - REASONS_MAX);
}

/* Who was asked and did not deliver, by reason. */
static void note_coverage(const struct recording *r, const struct gather *g, struct profile *p)
{
	size_t delivered = gather_count(g, GATHER_DELIVERED);

	profile_note(p, "fleet-asked", "nodes of the fleet answered", r->nr_census);
	profile_note(p, "fleet-matched", "nodes matched the selector", r->nr_matched);
	profile_note(p, "fleet-accepted", "nodes accepted",
		     g->nodes.nr - gather_count(g, GATHER_REFUSED));
	profile_note(p, "fleet-delivered", "nodes delivered their profile", delivered);
	for (int v = VERDICT_BUDGET; v < NR_VERDICTS; v++) {
		auto_free char *key = xasprintf(NOTE_INCOMPLETE "fleet-%d", v);
		auto_free char *text =
			xasprintf("nodes left out of the fleet's profile: %s", verdict_name(v));
		u64 nr = 0;
		for (size_t i = 0; i < g->nodes.nr; i++)
			nr += g->nodes.at[i]->verdict == (enum verdict)v;
		if (nr)
			profile_note(p, key, text, nr);
	}
	log_info("%zu nodes answered, %zu match, %zu accepted, %zu delivered", r->nr_census,
		 r->nr_matched, g->nodes.nr - gather_count(g, GATHER_REFUSED), delivered);
}

static void set_title(const struct recording *r, struct profile *p, size_t nr_nodes)
{
	free(p->title);
	p->title = xasprintf("%s, %zu %s", *r->o->select ? r->o->select : "fleet", nr_nodes,
			     nr_nodes == 1 ? "node" : "nodes");
	free(p->host);
	p->host = xstrdup("");
}

static int write_profile(struct recording *r, struct gather *g)
{
	auto_profile struct profile *p = profile_new();
	auto_str struct str merged = { 0 }, why = { 0 };
	size_t nr = gather_count(g, GATHER_DELIVERED);

	log_reasons(g);
	if (!nr) {
		log_error("fleet: no node delivered a profile");
		return EXIT_FAILED;
	}
	FILE *f = merge_spool(r->workers, &r->spool, &merged, &why)
			  ? NULL
			  : fmemopen(merged.at, merged.len, "r");
	int err = f ? profile_read(f, p, &why) : -1;
	if (f)
		fclose(f);
	if (err) {
		log_error("fleet: the profiles cannot be merged: %s", why.at ?: "no memory");
		return EXIT_FAILED;
	}
	set_title(r, p, nr);
	note_coverage(r, g, p);
	return profile_file_write(p, r->o->output, r->o->to, r->o->force, NULL) ? EXIT_FAILED : 0;
}

static int ask_and_write(struct recording *r)
{
	struct fleet_request request = request_of(r->o, r->o->ago ? WANT_SLICES : WANT_RECORDING);
	struct gather_host host = asking_host(&r->asking);
	struct gather g = { 0 };
	int status = asking_begin(&r->asking, &r->o->request) ?: take_census(r);

	host.deliver = deliver;
	status = status ?: choose_share(r, &request);
	status = status ?: asking_send(&r->asking, &request, &g, &host);
	if (!status) {
		await_results(r, &g);
		status = write_profile(r, &g);
	}
	gather_fini(&g);
	asking_end(&r->asking);
	return status;
}

static int record(const struct options *o)
{
	struct recording r = { .o = o, .spool = { .fd = -1 } };
	const struct sigaction action = { .sa_handler = on_signal };
	int status = EXIT_FAILED;

	if (merge_start_workers(&r.workers) || spool_open(&r.spool)) {
		log_error("fleet: the process that merges cannot be started");
	} else {
		sigaction(SIGINT, &action, NULL);
		sigaction(SIGTERM, &action, NULL);
		status = ask_and_write(&r);
	}
	spool_close(&r.spool);
	workers_free(r.workers);
	return status;
}

/* --- options ---------------------------------------------------------------------------------- */

static int usage_error(const char *text)
{
	log_error("fleet record: %s", text);
	return EXIT_USAGE;
}

/* "90", "20m", "2h", "1d" */
static bool parse_span(const char *text, u32 *out)
{
	char *end;
	double value = strtod(text, &end), unit;

	switch (*end) {
	case 'd':
		unit = 24 * 3600;
		break;
	case 'h':
		unit = 3600;
		break;
	case 'm':
		unit = 60;
		break;
	default:
		unit = 1;
	}
	if (end == text || (*end && (!strchr("smhd", *end) || end[1])) || !(value >= 0) ||
	    value * unit > 30.0 * 24 * 3600)
		return false;
	*out = (u32)(value * unit);
	return true;
}

/* "12" or "5%" */
static bool parse_nodes(struct options *o)
{
	char *end;
	double value = o->nodes ? strtod(o->nodes, &end) : 0;

	if (!o->nodes)
		return true;
	if (end == o->nodes || !(value > 0) || !isfinite(value) || (*end && strcmp(end, "%") != 0))
		return false;
	if (*end)
		o->share = value / 100;
	else
		o->nr_nodes = value;
	return o->share <= 1;
}

static int check(struct options *o)
{
	auto_str struct str why = { 0 };
	struct selector s;

	if (selector_parse(o->select, &s, &why))
		return usage_error(why.at);
	if (!o->output)
		return usage_error("needs -o FILE");
	o->to = profile_file_format(o->format, o->output);
	if (!o->to)
		return EXIT_USAGE;
	if (!parse_nodes(o))
		return usage_error("--nodes: takes a number, as in 20, or a share, as in 5%");
	if (o->ago && !parse_span(o->ago, &o->ago_s))
		return usage_error("--ago: takes a time, as in 90s, 20m, 2h or 1d, up to 30d");
	if (o->duration_s < 1 || o->duration_s > 3600)
		return usage_error("-d: takes 1 to 3600 s");
	if (o->hz < 1 || o->hz > 10000)
		return usage_error("-F: takes 1 to 10000 Hz");
	if (strlen(o->events) > 127 || strlen(o->select) > 255 || strlen(o->reason) > 127)
		return usage_error("--select takes 255 bytes, -e and --reason take 127");
	return 0;
}

int fleet_record_main(int argc, char **argv)
{
	struct options o = { .request = { .wait_s = 2 },
			     .select = "",
			     .events = "cpu",
			     .reason = "",
			     .hz = 99,
			     .duration_s = 30 };
	const struct opt opts[] = {
		FLEET_OPTS(&o.request),
		{ 0, "select", OPT_STRING, &o.select, "SELECTOR",
		  "these nodes and processes, as in service=checkout,zone!=b" },
		{ 0, "nodes", OPT_STRING, &o.nodes, "N|P%",
		  "about N of these nodes, or a share of them (all, up to 200)" },
		{ 0, "yes", OPT_BOOL, &o.yes, NULL, "also more than 200 nodes" },
		{ 'e', "event", OPT_STRING, &o.events, "EVENT,..", "record these events (cpu)" },
		{ 'F', "freq", OPT_INT, &o.hz, "HZ", "samples per second and CPU (99)" },
		{ 'd', "duration", OPT_INT, &o.duration_s, "S", "record S seconds (30)" },
		{ 0, "ago", OPT_STRING, &o.ago, "TIME",
		  "record nothing: fetch the S seconds that ended TIME ago, as in 20m" },
		{ 0, "reason", OPT_STRING, &o.reason, "TEXT", "for the audit list of every node" },
		OUTPUT_OPT(&o.output),
		FORMAT_OPT(&o.format),
		FORCE_OPT(&o.force),
		{ 'h', "help", OPT_BOOL, &o.help, NULL, "show this help" },
	};
	int next = opt_parse(opts, ARRAY_SIZE(opts), argc, argv);

	if (next < 0)
		return EXIT_USAGE;
	if (o.help) {
		puts("usage: sysflame fleet record --nats URL --fleet-dir DIR -o FILE "
		     "[OPTION..]\n\n"
		     "Records on many nodes at once and merges the profiles into one.\n");
		opt_help(opts, ARRAY_SIZE(opts));
		return 0;
	}
	if (next < argc) {
		log_error("fleet record: %s: unexpected", argv[next]);
		return EXIT_USAGE;
	}
	int status = check(&o);
	return status ?: record(&o);
}
