/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the nodes of a fleet, over NATS or by HTTP. */
#include "fleet/cli/request.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "base/time.h"
#include "cmd/cmd.h"
#include "export/read.h"
#include "fleet/cli/resume.h"
#include "fleet/controller/coverage.h"
#include "fleet/controller/gather.h"
#include "fleet/wire/key.h"
#include "fleet/wire/selector.h"

#define CONNECT_NS  (10 * NS_PER_SEC)
#define POLL_MS     20
#define KNOWN_MAX   (8u << 20)
#define REASONS_MAX 20 /* lines */

/* A signal handler gets no pointer from us, so these are static. */
static volatile int nr_signals, nr_hangups;

static void on_signal(int number)
{
	if (number != SIGHUP || !nr_hangups++)
		nr_signals++;
}

volatile int *fleet_signals_count(void)
{
	const struct sigaction action = { .sa_handler = on_signal };
	struct sigaction before;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (!sigaction(SIGHUP, NULL, &before) && before.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &action, NULL);
	return &nr_signals;
}

int requests_read_key(const char *dir, u8 *private_key)
{
	auto_free char *path = xasprintf("%s/key", dir), *text = NULL;
	size_t len;
	int err = file_read(path, 1024, &text, &len);

	if (err) {
		log_error("fleet: %s: %s; sysflame fleet init makes a key", path, strerror(-err));
		return EXIT_FAILED;
	}
	text[strcspn(text, "\n")] = '\0';
	bool is_key = hex_parse(text, private_key, FLEET_KEY_LEN);
	explicit_bzero(text, len);
	if (!is_key)
		log_error("fleet: %s holds no key of 64 hexadecimal digits", path);
	return is_key ? 0 : EXIT_FAILED;
}

/* An http_message_fn. */
static void take_direct(void *ctx, const struct fleet_message *m, const void *result)
{
	struct requests *a = ctx;

	for (u32 i = 0; i < a->nr; i++)
		controller_take(a->controllers[i], m, result);
}

static void request_http(void *ctx, const struct fleet_request *r)
{
	http_fleet_request(((struct requests *)ctx)->http, r);
}

static void stop_http(void *ctx, const u8 *id)
{
	http_fleet_stop(((struct requests *)ctx)->http, id);
}

/* From JetStream. */
static void take_kept(struct requests *a, const struct link_event *e)
{
	if (e->kind == LINK_STORED && a->stored) {
		a->stored(a, e);
	} else if (e->kind == LINK_STORED_END) {
		a->has_all = true;
		a->nr_stored = strtoull(e->reply, NULL, 10);
		a->why = *e->text ? xstrdup(e->text) : NULL;
	}
}

/* Takes messages of the nodes. -EPIPE if the link is gone. */
static int take_events(struct requests *a)
{
	struct link_event e;

	if (a->http) {
		http_fleet_step(a->http, take_direct, a);
		return 0;
	}
	for (;;) {
		int err = link_receive(a->link, &e);
		if (err == -EAGAIN)
			return 0;
		if (err) {
			log_error("fleet: the process that talks to NATS has ended");
			return err;
		}
		for (u32 i = 0; e.kind == LINK_MESSAGE && i < a->nr; i++)
			controller_message(a->controllers[i], e.subject, e.bytes, e.len);
		if (e.kind == LINK_UP)
			log_debug("fleet: connected to %s", e.text);
		else if (e.kind == LINK_DOWN || e.kind == LINK_FAULT)
			log_warn("fleet: %s: %s", a->o->url, e.text);
		else if (e.kind != LINK_MESSAGE)
			take_kept(a, &e);
		if (e.kind == LINK_UP || e.kind == LINK_DOWN)
			a->is_up = e.kind == LINK_UP;
	}
}

/* Waits for messages of nodes and results of workers. */
static void wait_a_while(const struct requests *a)
{
	struct pollfd polled[1 + WORKERS_FDS];
	int fds[1 + WORKERS_FDS] = { a->http ? http_fleet_fd(a->http) : link_fd(a->link) };
	size_t nr = 1 + workers_fds(a->host.workers, fds + 1);

	for (size_t i = 0; i < nr; i++)
		polled[i] = (struct pollfd){ fds[i], POLLIN, 0 };
	poll(polled, nr, POLL_MS);
}

static int nr_stops_wanted(const struct requests *a)
{
	return a->stopped ? *a->stopped : 0;
}

static int connect_link(struct requests *a)
{
	const struct link_options link = {
		.url = a->o->url, .name = "sysflame-fleet", .inbox = a->owner, .dir = a->o->dir
	};
	auto_free char *all = xasprintf("%s.>", a->inbox);
	u64 until = time_mono_ns() + CONNECT_NS;
	int err = link_start(&link, &a->link) ?: link_subscribe(a->link, all);

	while (!err && !a->is_up && time_mono_ns() < until && !nr_stops_wanted(a)) {
		wait_a_while(a);
		err = take_events(a);
	}
	if (a->is_up)
		return 0;
	log_error(nr_stops_wanted(a) ? "fleet: it was stopped before %s was reached"
				     : "fleet: %s cannot be reached",
		  a->o->url);
	return EXIT_FAILED;
}

/* Plain http shows the token to everybody on the way. */
static void warn_of_plain(const struct http_entries *nodes)
{
	u32 nr = 0;

	vec_each(e, &nodes->all) {
		const char *host = e->url + strlen("http://");
		nr += !strncmp(e->url, "http://", strlen("http://")) &&
		      strncmp(host, "127.", 4) != 0 && strncmp(host, "[::1]", 5) != 0 &&
		      strncmp(host, "localhost", 9) != 0;
	}
	if (nr)
		log_warn("%u nodes have http:// addresses: their tokens are readable on the way; "
			 "use https://",
			 nr);
}

static int connect_http(struct requests *a)
{
	auto_str struct str why = { 0 };
	struct http_entries nodes = { 0 };
	struct str names = { 0 };
	u32 wait_s = a->o->wait_s < 1 ? 1 : (u32)a->o->wait_s;

	if (http_file_read(a->o->http, &nodes, &why)) {
		log_error("fleet: %s: %s", a->o->http, why.at);
		return EXIT_USAGE;
	}
	warn_of_plain(&nodes);
	vec_each(e, &nodes.all)
		str_addf(&names, "%s\n", e->name);
	a->known = str_take(&names);
	int err = http_fleet_start(&nodes, wait_s, &a->http);
	http_entries_wipe(&nodes);
	if (err) {
		log_error("fleet: the process that asks nodes cannot be started: %s",
			  strerror(-err));
		return EXIT_FAILED;
	}
	while (!http_fleet_is_ready(a->http) && !nr_stops_wanted(a)) {
		take_events(a);
		wait_a_while(a);
	}
	return 0;
}

static u64 mono_ns(void *ctx)
{
	return time_mono_ns();
}

static u64 wall_ms(void *ctx)
{
	return time_wall_ns() / NS_PER_MS;
}

static void publish(void *ctx, const char *subject, const char *reply, const void *bytes,
		    size_t len)
{
	struct requests *a = ctx;

	/* No error: requests without an answer are repeated. */
	if (link_publish(a->link, subject, reply, bytes, len))
		log_debug("fleet: a message to %s was not sent", subject);
}

static void report(void *ctx, const char *text)
{
	const struct requests *a = ctx;

	if (!a->is_silent)
		log_info("%s", text);
}

static char *known_path(const struct requests *a)
{
	return xasprintf("%s/census", a->o->dir);
}

/*
 * Reads the names of the nodes that answered the last census of this folder. Without the names a
 * census waits longer, because it does not know when all have answered.
 */
static void read_known(struct requests *a)
{
	auto_free char *path = known_path(a);
	size_t len;

	file_read(path, KNOWN_MAX, &a->known, &len);
}

int requests_begin(struct requests *a, const struct connection_options *o, bool merges)
{
	char owner[2 * INBOX_OWNER + 1], inbox[64];

	a->o = o;
	if (o->http ? o->url || o->dir : !o->url || !o->dir) {
		log_error("fleet: needs --nats URL and --fleet-dir DIR%s",
			  o->http ? ", or --http FILE alone" : "");
		return EXIT_USAGE;
	}
	if (!(o->wait_s > 0) || o->wait_s > 600) {
		log_error("fleet: --wait takes up to 600 s");
		return EXIT_USAGE;
	}
	a->host = (struct controller_host){ .ctx = a,
					    .mono_ns = mono_ns,
					    .wall_ms = wall_ms,
					    .publish = publish,
					    .report = report,
					    .private_key = a->private_key,
					    .inbox = a->inbox,
					    .filters = o->http != NULL };
	if (merges && merge_start_workers(&a->host.workers)) {
		log_error("fleet: the process that merges cannot be started");
		return EXIT_FAILED;
	}
	if (o->http) {
		a->host.request = request_http;
		a->host.stop = stop_http;
		return connect_http(a);
	}
	int status = requests_read_key(o->dir, a->private_key);
	if (status || key_inbox(a->private_key, owner, inbox))
		return EXIT_FAILED;
	snprintf(a->owner, sizeof(a->owner), "_INBOX.%s", owner);
	if (!a->resumed.len)
		copy_text(a->inbox, sizeof(a->inbox), inbox);
	read_known(a);
	canary_open(&a->canary, o->dir);
	a->host.canary = &a->canary;
	return connect_link(a);
}

static void write_known(struct requests *a)
{
	const struct controller_state s = controller_view(a->controllers[0]);
	auto_free char *path = known_path(a);
	struct outfile *f;

	if (s.error || s.phase <= CONTROLLER_CENSUS)
		return;
	free(a->known);
	a->known = census_names(s.nodes);
	if (!outfile_open(path, false, &f)) {
		fputs(a->known, f->f);
		outfile_commit(f, NULL);
	}
}

static void expect_known(const struct requests *a, struct controller *c)
{
	auto_free char *copy = xstrdup(a->known ?: "");
	char *rest = copy, *name;

	while ((name = strsep(&rest, "\n")))
		controller_take_seen(c, name);
}

void requests_drop(struct requests *a)
{
	if (a->nr && !a->http)
		write_known(a);
	for (u32 i = 0; i < a->nr; i++)
		controller_free(a->controllers[i]);
	a->nr = 0;
}

void requests_end(struct requests *a)
{
	requests_drop(a);
	link_free(a->link);
	http_fleet_free(a->http);
	workers_free(a->host.workers);
	free(a->why);
	free(a->known);
	canary_fini(&a->canary);
	str_fini(&a->resumed);
	explicit_bzero(a->private_key, sizeof(a->private_key));
}

static void forget_kept(struct requests *a)
{
	a->has_all = false;
	free(a->why);
	a->why = NULL;
}

static bool await_kept(struct requests *a)
{
	u64 until = time_mono_ns() + CONNECT_NS;

	while (!a->has_all && time_mono_ns() < until && !take_events(a))
		wait_a_while(a);
	if (!a->has_all)
		a->why = xstrdup("cannot be read: JetStream does not answer");
	return !a->why;
}

bool requests_stored(struct requests *a, enum link_stream stream, const char *name, u32 max)
{
	forget_kept(a);
	link_read_stream(a->link, stream, max, true);
	if (!await_kept(a))
		log_info("%s %s", name, a->why);
	return !a->why;
}

struct controller_order requests_order(const struct requests *a, enum fleet_want want,
				       const char *selector)
{
	struct controller_order o = { .want = want,
				      .hz = 99,
				      .duration_s = 30,
				      .watch_s = CONTROLLER_WATCH_S,
				      .answers_ms = (u32)(a->o->wait_s * 1000) };

	copy_text(o.selector, sizeof(o.selector), selector);
	copy_text(o.events, sizeof(o.events), "cpu");
	return o;
}

int requests_add(struct requests *a, const struct controller_order *o)
{
	if (controller_start(o, &a->host, &a->controllers[a->nr])) {
		log_error("fleet: the request cannot be signed or sent");
		return EXIT_FAILED;
	}
	expect_known(a, a->controllers[a->nr++]);
	return 0;
}

/* Takes the sentence over. */
static void warn(char *text)
{
	if (text)
		log_warn("%s", text);
	free(text);
}

static bool have_reached(const struct requests *a, enum controller_phase phase)
{
	for (u32 i = 0; i < a->nr; i++)
		if (controller_view(a->controllers[i]).phase < phase)
			return false;
	return true;
}

static void add_silent(struct requests *a, const struct link_event *e)
{
	const char *node = link_seen_node(e);

	for (u32 i = 0; node && i < a->nr; i++)
		controller_take_seen(a->controllers[i], node);
}

/* The answer arrives during the census, or later. */
static void ask_silent(struct requests *a)
{
	if (!a->names_silent || a->has_asked_silent || a->http)
		return;
	a->has_asked_silent = true;
	a->stored = add_silent;
	forget_kept(a);
	link_read_stream(a->link, LINK_STREAM_SEEN, 0, false);
}

void requests_log_silent(struct requests *a)
{
	if (a->has_asked_silent && !await_kept(a))
		log_debug("fleet: the list of nodes %s", a->why);
	warn(census_silent_text(controller_view(a->controllers[0]).census));
	a->has_asked_silent = false;
}

/* An error of one controller ends the whole command. */
static int status_of(struct requests *a)
{
	for (u32 i = 0; i < a->nr; i++) {
		const struct controller_state s = controller_view(a->controllers[i]);
		if (!s.error)
			continue;
		requests_log_reasons(s.nodes);
		warn(census_unanswered_text(s.nodes));
		requests_log_silent(a);
		log_error("fleet: %s", s.error);
		return s.is_usage ? EXIT_USAGE : EXIT_FAILED;
	}
	return 0;
}

static void stop(struct requests *a)
{
	log_info(a->nr_stops++ ? "no longer waiting for nodes that are missing"
			       : "stopping; what was recorded so far is fetched. A second signal "
				 "waits for no missing node");
	for (u32 i = 0; i < a->nr; i++)
		controller_stop(a->controllers[i]);
}

int requests_run(struct requests *a, enum controller_phase phase)
{
	while (!have_reached(a, phase)) {
		if (nr_stops_wanted(a) > a->nr_stops)
			stop(a);
		for (u32 i = 0; i < a->nr; i++)
			controller_step(a->controllers[i]);
		resume_keep(a);
		ask_silent(a);
		wait_a_while(a);
		if (take_events(a))
			return EXIT_FAILED;
	}
	return status_of(a);
}

void requests_log_reasons(const struct gather *g)
{
	u32 nr = 0;

	vec_each(at, &g->nodes) {
		const struct gather_node *n = *at;
		if (n->verdict == VERDICT_NO_MATCH || !*n->why)
			continue;
		if (nr++ < REASONS_MAX)
			log_warn("%s: %s: %s", n->name,
				 n->verdict ? verdict_name(n->verdict) : "ended early", n->why);
	}
	if (nr > REASONS_MAX)
		log_warn("%u more node%s gave reasons", nr - REASONS_MAX, plural(nr - REASONS_MAX));
}

void requests_log_coverage(const struct controller *c)
{
	const struct controller_state s = controller_view(c);
	size_t heard = s.nodes->nodes.nr, refused = gather_count(s.nodes, GATHER_REFUSED);

	log_info("%zu node%s answered, %zu match, %zu accepted, %zu delivered", s.nr_census,
		 plural(s.nr_census), s.nr_matched, heard - refused,
		 gather_count(s.nodes, GATHER_DELIVERED));
	warn(census_unanswered_text(s.nodes));
	if (!s.is_estimate)
		return;
	struct estimate e = coverage_estimate(&s);
	auto_free char *doubt = coverage_doubt(&s, &e);
	if (doubt)
		log_info("estimate for all %zu nodes that match: %.0f; %s", s.nr_matched, e.total,
			 doubt);
	else
		log_info("estimate for all %zu nodes that match: %.0f, with 95 %% confidence from "
			 "%.0f to %.0f",
			 s.nr_matched, e.total, e.low, e.high);
	double width = e.total > 0 ? (e.high - e.low) / 2 / e.total : 0;
	if (!doubt && s.within > 0 && width > s.within)
		log_warn("the interval is +- %.1f %%: these nodes differ more from their census "
			 "than "
			 "others do; --nodes %.0f makes it narrower",
			 width * 100,
			 fmin((double)s.nr_matched,
			      (double)s.nr_chosen * width / s.within * width / s.within));
}

int requests_coverage_status(const struct requests *a)
{
	int status = 0;

	for (u32 i = 0; i < a->nr && status != EXIT_FAILED; i++) {
		const struct controller_state s = controller_view(a->controllers[i]);
		if (s.stopped)
			status = EXIT_FAILED;
		else if (gather_count(s.nodes, GATHER_DELIVERED) < s.nr_chosen)
			status = EXIT_MISSING;
	}
	return status;
}

int requests_profile(const struct controller *c, struct profile *p)
{
	const struct str *bytes = controller_profile(c);
	auto_str struct str why = { 0 };
	FILE *f = fmemopen(bytes->at, bytes->len, "r");
	int err = f ? profile_read(f, p, &why) : -1;

	if (f)
		fclose(f);
	if (err)
		log_error("fleet: the merged profile cannot be read: %s", why.at ?: "no memory");
	return err ? EXIT_FAILED : 0;
}

int requests_parse(const char *name, const struct opt *opts, size_t nr, int argc, char **argv,
		   const bool *help, const char *usage)
{
	int next = opt_parse(opts, nr, argc, argv);

	if (next < 0)
		return EXIT_USAGE;
	if (*help) {
		puts(usage);
		opt_help(opts, nr);
		return 0;
	}
	if (next < argc) {
		log_error("fleet %s: %s: unexpected", name, argv[next]);
		return EXIT_USAGE;
	}
	return -1;
}

int requests_check_selector(const char *text)
{
	auto_str struct str why = { 0 };
	struct selector s;

	if (strlen(text) > 255) {
		log_error("fleet: --select takes 255 bytes");
		return EXIT_USAGE;
	}
	if (!selector_parse(text, &s, &why))
		return 0;
	log_error("fleet: %s", why.at);
	return EXIT_USAGE;
}

/* "90", "20m", "2h", "1d", up to 30 d. */
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

/* A number above 0, followed by `end`. */
static bool parse_number(const char *text, const char *end, double *out)
{
	char *rest;
	double value = strtod(text, &rest);

	if (rest == text || strcmp(rest, end) != 0 || !isfinite(value) || !(value > 0))
		return false;
	*out = value;
	return true;
}

int requests_usage_error(const char *name, const char *text)
{
	log_error("fleet %s: %s", name, text);
	return EXIT_USAGE;
}

int fleet_choice_parse(struct fleet_choice *c, const char *command)
{
	if (!!c->nodes + !!c->samples + !!c->within_text > 1)
		return requests_usage_error(command,
					    "--nodes, --samples and --within exclude each other");
	if (c->within_text && (!parse_number(c->within_text, "%", &c->within) || c->within > 100))
		return requests_usage_error(command, "--within: takes a share, as in 2%");
	c->within /= 100;
	if (c->nodes && parse_number(c->nodes, "%", &c->share) && c->share <= 100) {
		c->share /= 100;
		return 0;
	}
	if (c->nodes && !parse_number(c->nodes, "", &c->nr_nodes))
		return requests_usage_error(
			command, "--nodes: takes a number, as in 20, or a share, as in 5%");
	if (c->samples && !parse_number(c->samples, "", &c->nr_samples))
		return requests_usage_error(command, "--samples: takes a number, as in 40000");
	return 0;
}

void fleet_choice_apply(const struct fleet_choice *c, struct controller_order *o)
{
	o->nr_nodes = c->nr_nodes;
	o->share = c->share;
	o->nr_samples = c->nr_samples;
	o->within = c->within;
	o->is_confirmed = c->yes;
}

int request_options_check(struct request_options *e, const char *command)
{
	if (e->ago && !parse_span(e->ago, &e->ago_s))
		return requests_usage_error(
			command, "--ago: takes a time, as in 90s, 20m, 2h or 1d, up to 30d");
	if (e->duration_s < 1 || e->duration_s > 3600)
		return requests_usage_error(command, "-d: takes 1 to 3600 s");
	if (e->ago && e->hz != REQUEST_HZ)
		return requests_usage_error(
			command, "-F: with --ago, samples have the rate at which nodes took them");
	if (e->hz == REQUEST_HZ)
		e->hz = 99;
	if (e->hz < 1 || e->hz > 10000)
		return requests_usage_error(command, "-F: takes 1 to 10000 Hz");
	if (!utf8_is_clean(e->events, 127) || !utf8_is_clean(e->reason, 127))
		return requests_usage_error(command,
					    "-e and --reason take 127 bytes of UTF-8, without "
					    "control characters");
	return fleet_choice_parse(&e->choice, command);
}

void request_options_apply(const struct request_options *e, struct controller_order *o)
{
	o->want = e->ago ? WANT_SLICES : WANT_RECORDING;
	copy_text(o->events, sizeof(o->events), e->events);
	copy_text(o->reason, sizeof(o->reason), e->reason);
	o->hz = (u32)e->hz;
	o->duration_s = (u32)e->duration_s;
	o->ago_s = e->ago_s;
	o->has_waves = !e->no_waves;
	fleet_choice_apply(&e->choice, o);
}
