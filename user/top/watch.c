/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches the JVMs of this node. It reads the JVMs itself, or gets the readings of a running daemon
 * by that daemon's API (/api/v1/top).
 */
#include "top/watch.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/time.h"
#include "capture/recording.h"
#include "net/http_client.h"
#include "profile/names.h"
#include "sandbox/rights.h"
#include "top/board.h"
#include "top/hot.h"
#include "top/jvm_rows.h"

#define PATH          "/api/v1/top"
#define SOCKET_PREFIX "unix:"
#define MAX_BYTES     (16u << 20)
#define TIMEOUT_S     3
#define FIRST_NS      (8 * NS_PER_SEC) /* for a reading with rates */
#define RESTART_NS    (4 * NS_PER_SEC)
#define AGAIN_US      100000
#define STEP_MS       50
#define JVMS_MAX      4096

/* Readings of a daemon. */
struct daemon_board {
	struct http_client *client;
	json_t *last; /* NULL: none; the rows point into it */
	bool is_done;
	int err;
	struct str why;
};

static void take_answer(void *ctx, const struct http_answer *a)
{
	struct daemon_board *d = ctx;
	json_error_t error;

	d->is_done = true;
	json_decref(take(d->last));
	d->err = 0;
	str_clear(&d->why);
	if (a->found.status == 200)
		d->last = json_loadb(a->bytes, a->found.len, 0, &error);
	if (json_is_object(d->last))
		return;
	json_decref(take(d->last));
	d->err = a->found.status == 503 ? -EAGAIN : -EIO;
	if (a->found.status == 503)
		str_add(&d->why, "the daemon has no recorder at the moment");
	else if (!a->found.status)
		str_addf(&d->why, "the daemon does not answer: %s", a->found.why);
	else if (a->found.status == 200)
		str_add(&d->why, "the daemon's answer is no JSON");
	else
		str_addf(&d->why, "the daemon answers with status %u", a->found.status);
}

static int ask(struct daemon_board *d)
{
	const struct http_request r = { .path = PATH,
					.max_bytes = MAX_BYTES,
					.timeout_s = TIMEOUT_S };
	int err = http_client_add(d->client, &r, take_answer, d);

	d->is_done = false;
	while (!err && !d->is_done) {
		struct pollfd p = { http_client_fd(d->client), POLLIN, 0 };
		http_client_step(d->client);
		if (!d->is_done)
			poll(&p, 1, STEP_MS);
	}
	return err ?: d->err;
}

static double number(const json_t *o, const char *key)
{
	const json_t *value = json_object_get(o, key);

	return json_is_number(value) ? json_number_value(value) : RATE_UNKNOWN;
}

/* CPUs from percent of one. */
static double cpus(const json_t *o, const char *key)
{
	double percent = number(o, key);

	return percent < 0 ? RATE_UNKNOWN : percent / 100;
}

static u64 gauge(const json_t *o, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(o, key));

	return json_is_integer(json_object_get(o, key)) && value >= 0 ? (u64)value : GAUGE_UNKNOWN;
}

static u64 count(const json_t *o, const char *key)
{
	u64 value = gauge(o, key);

	return value == GAUGE_UNKNOWN ? 0 : value;
}

static const char *text(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key)) ?: "";
}

static bool is_first(const json_t *reading)
{
	return !json_is_array(json_object_get(reading, "jvms")) ||
	       number(reading, "interval_s") <= 0;
}

/*
 * Asks until the daemon has rates: a recorder that was just started has none yet, and while the
 * recorder is being replaced the daemon has no readings.
 */
static int ask_for_rates(struct daemon_board *d, u64 max_ns)
{
	u64 end_ns = time_mono_ns() + max_ns;

	for (;;) {
		int err = ask(d);
		if (err && err != -EAGAIN)
			return err;
		if (!err && !is_first(d->last))
			return 0;
		if (time_mono_ns() >= end_ns)
			break;
		usleep(AGAIN_US);
	}
	if (!d->why.len)
		str_add(&d->why, "the daemon sends no readings");
	return -EAGAIN;
}

static void daemon_board_free(struct daemon_board *d)
{
	if (!d)
		return;
	http_client_free(d->client);
	json_decref(d->last);
	str_fini(&d->why);
	free(d);
}

static struct http_server server_of(const char *url, const char *token)
{
	const size_t prefix = strlen(SOCKET_PREFIX), len = strcspn(url, "\n");
	struct http_server s = { 0 };

	if (strncmp(url, SOCKET_PREFIX, prefix) != 0) {
		s.url = xstrdup(url);
	} else {
		s.url = xasprintf("http://localhost%s", url[len] ? url + len + 1 : "");
		s.socket = xstrndup(url + prefix, len - prefix);
	}
	http_server_add_bearer(&s, token);
	http_server_add_header(&s, xstrdup("X-Sysflame: 1"));
	return s;
}

static int start(struct daemon_board *d, const char *url, const char *token)
{
	struct http_server server = server_of(url, token);
	const struct http_client_options o = { .name = "sysflame-fetch",
					       .servers = &server,
					       .nr_servers = 1,
					       .max_bytes = MAX_BYTES,
					       .max_open = 1 };
	int err = http_client_start(&o, &d->client);

	http_server_wipe(&server);
	return err;
}

/*
 * `url` as in DIR/address: "http://127.0.0.1:7070", "unix:PATH" or "unix:PATH\n/prefix". Waits some
 * seconds for the first reading with rates. Negative errno, with a sentence in `why`.
 */
static int daemon_board_new(const char *url, const char *token, struct daemon_board **out,
			    struct str *why)
{
	struct daemon_board *d = xcalloc(1, sizeof(*d));
	int err = start(d, url, token);

	if (err) {
		str_addf(why, "the process that asks the daemon cannot be started: %s",
			 strerror(-err));
		daemon_board_free(d);
		return err;
	}
	err = ask_for_rates(d, FIRST_NS);
	if (err) {
		str_add(why, d->why.at ?: strerror(-err));
		daemon_board_free(d);
		return err;
	}
	*out = d;
	return 0;
}

static void read_threads(const json_t *threads, struct jvm_row *row)
{
	static const char *const keys[NR_JAVA_THREAD_STATES] = {
		[JAVA_THREAD_RUNS] = "running",
		[JAVA_THREAD_NATIVE] = "native",
		[JAVA_THREAD_BLOCKED] = "blocked",
		[JAVA_THREAD_WAITS] = "waiting",
	};

	row->nr_threads = (u32)count(threads, "all");
	for (int i = 0; i < NR_JAVA_THREAD_STATES; i++)
		row->threads[i] = (u32)count(threads, keys[i]);
}

static struct jvm_row row_of(const json_t *j)
{
	struct jvm_row row = {
		.id = { .pid = (pid_t)count(j, "pid"), .start_ns = count(j, "start_ns") },
		.name = text(j, "name"),
		.container = text(j, "container"),
		.jdk = text(j, "jdk"),
		.collector = text(j, "collector"),
		.gap = *text(j, "gap") ? text(j, "gap") : NULL,
		.cpu = cpus(j, "cpu_percent"),
		.gc = cpus(j, "gc_percent"),
		.jit = cpus(j, "jit_percent"),
		.alloc = number(j, "alloc_bytes_per_s"),
		.alloc_is_least = json_is_true(json_object_get(j, "alloc_is_least")),
		.allocated_bytes = count(j, "alloc_bytes"),
		.partial_threads = count(j, "alloc_partial_threads"),
		.heap_used = gauge(j, "heap_used_bytes"),
		.heap_committed = gauge(j, "heap_committed_bytes"),
		.collections = gauge(j, "collections"),
	};

	read_threads(json_object_get(j, "threads"), &row);
	const json_t *virtual = json_object_get(j, "virtual_threads");
	row.virtual = (struct virtual_totals){
		(u32)count(virtual, "all"),
		(u32)count(virtual, "run"),
		(u32)count(virtual, "wait"),
		(u32)count(virtual, "pinned"),
	};
	return row;
}

static bool is_wanted(pid_t pid, const pid_t *pids, size_t nr_pids)
{
	for (size_t i = 0; i < nr_pids; i++)
		if (pids[i] == pid)
			return true;
	return !nr_pids;
}

static void read_node(const json_t *reading, struct board *out)
{
	const json_t *node = json_object_get(reading, "node"),
		     *load = json_object_get(node, "load");

	out->load = (struct node_load){
		.nr_cpus = (int)count(node, "cpus"),
		.busy = cpus(node, "busy_percent"),
		.stolen = cpus(node, "stolen_percent"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(out->load.load); i++)
		out->load.load[i] = json_number_value(json_array_get(load, i));
	out->other = cpus(node, "other_percent");
	out->own = cpus(node, "sysflame_percent");
	out->passed_ns = (u64)(number(reading, "interval_s") * 1e9);
}

/*
 * Asks for the last reading, and waits a few seconds at most. Texts of the rows are valid until the
 * next call. Negative errno, with a sentence in `why`; the rows are gone then.
 */
static int daemon_board_read(struct daemon_board *d, const pid_t *pids, size_t nr_pids,
			     struct board *out, struct str *why)
{
	int err = ask_for_rates(d, RESTART_NS);
	size_t i;
	json_t *j;

	out->rows.nr = 0;
	str_clear(why);
	if (err) {
		str_add(why, d->why.at ?: strerror(-err));
		return err;
	}
	read_node(d->last, out);
	json_array_foreach(json_object_get(d->last, "jvms"), i, j)
	{
		struct jvm_row row = row_of(j);
		if (row.id.pid > 0 && out->rows.nr < JVMS_MAX &&
		    is_wanted(row.id.pid, pids, nr_pids))
			vec_push(&out->rows, row);
	}
	return 0;
}

static const json_t *find_jvm(const struct daemon_board *d, pid_t pid)
{
	size_t i;
	json_t *j;

	json_array_foreach(json_object_get(d->last, "jvms"), i,
			   j) if (count(j, "pid") == (u64)pid) return j;
	return NULL;
}

/* The hottest methods of a process in the last reading. */
static void daemon_board_methods(const struct daemon_board *d, pid_t pid, struct hot_list *out)
{
	const json_t *jvm = find_jvm(d, pid);
	size_t i;
	json_t *m;

	out->all.nr = 0;
	out->nr_samples = count(jvm, "samples");
	json_array_foreach(json_object_get(jvm, "methods"), i, m)
	{
		struct hot_method_share share = {
			.name = text(m, "name"),
			.is_java = json_is_true(json_object_get(m, "java")),
			.self = count(m, "self"),
			.total = count(m, "total"),
		};
		vec_push(&out->all, share);
	}
}

/* Whether the daemon samples continuously, which methods come from. */
static bool daemon_board_has_methods(const struct daemon_board *d)
{
	return json_is_true(json_object_get(d->last, "has_methods"));
}

#define RECORD_HZ 99

/* A recording, with the objects that it uses. */
struct stream {
	struct events events;
	struct event_options sampling;
	struct targets *targets;
	struct recording *recording;
	struct sink *sink;
};

struct watch {
	const struct watch_options *options;
	struct node *node; /* NULL without methods */
	struct stream methods, record;
	pid_t recorded;
	u64 record_ns; /* for how long */
	u64 nr_cuts;   /* cuts for `methods` that were not taken yet */
	struct hot *hot;
	char *no_methods;
	struct jvm_rows *rows;
	struct daemon_board *daemon; /* NULL: own readings */
	struct str why;              /* the last reading failed */
	struct cpu_ticks ticks;
	u64 at_ns, own_ns; /* of the last reading */
};

static void stream_fini(struct stream *s)
{
	recording_free(s->recording);
	targets_free(s->targets);
	events_fini(&s->events);
	*s = (struct stream){ 0 };
}

/* Records CPU time of one process, or of the node if `pid` is 0. */
static int stream_start(struct watch *w, struct stream *s, pid_t pid, int hz, u64 duration_ns)
{
	const struct sink_options sink = { 0 };
	auto_str struct str why = { 0 };
	char text[16];

	s->targets = targets_new();
	s->sampling = (struct event_options){ .freq_hz = hz,
					      .without_agent = true,
					      .targets = s->targets };
	snprintf(text, sizeof(text), "%d", (int)pid);
	int err = pid ? targets_add(s->targets, TARGET_PID, false, text, &why) : 0;
	err = err ?: events_parse("cpu", &s->sampling, &s->events, &why);
	if (err) {
		log_error("%s", why.at);
		return err;
	}
	const struct recording_options options = {
		.events = &s->events,
		.sampling = s->sampling,
		.targets = s->targets,
		.agent = AGENT_NEVER,
		.may_lag = !pid,
		.duration_ns = duration_ns,
	};
	s->recording = recording_new(w->node, &options);
	s->sink = recording_add_sink(s->recording, &sink);
	return recording_start(s->recording);
}

static char *missing_rights(void)
{
	const u64 wanted = CAPABILITY(CAP_BPF) | CAPABILITY(CAP_PERFMON);
	u64 has = capabilities_read();
	struct str out = { 0 };

	if (has & CAPABILITY(CAP_SYS_ADMIN) || (has & wanted) == wanted)
		return NULL;
	str_add(&out, "sampling needs more rights; ");
	capabilities_add_remedy(&out, wanted);
	return str_take(&out);
}

static void start_node(struct watch *w)
{
	const struct node_options options = {
		.agent = AGENT_NEVER,
		.times_programs = true,
		.keeps_output_rights = w->options->keeps_output_rights,
	};

	w->node = node_new(&options);
	if (!node_start(w->node) && !stream_start(w, &w->methods, 0, WATCH_HZ, 0))
		return;
	stream_fini(&w->methods);
	node_free(take(w->node));
	w->no_methods = xstrdup("the node cannot be sampled; `sysflame doctor` explains it");
}

static struct watch *watch_daemon(struct watch *w)
{
	if (!daemon_board_new(w->options->daemon_url, w->options->daemon_token, &w->daemon,
			      &w->why))
		return w;
	log_error("%s", w->why.at);
	watch_free(w);
	return NULL;
}

struct watch *watch_new(const struct watch_options *options)
{
	struct watch *w = xcalloc(1, sizeof(*w));

	w->options = options;
	w->hot = hot_new();
	if (options->daemon_url)
		return watch_daemon(w);
	w->rows = jvm_rows_new(options->pids, options->nr_pids);
	w->no_methods = options->without_methods ? xstrdup("not asked for") : missing_rights();
	if (!w->no_methods)
		start_node(w);
	return w;
}

void watch_free(struct watch *w)
{
	if (!w)
		return;
	stream_fini(&w->methods);
	stream_fini(&w->record);
	node_free(w->node);
	hot_free(w->hot);
	jvm_rows_free(w->rows);
	daemon_board_free(w->daemon);
	str_fini(&w->why);
	free(w->no_methods);
	free(w);
}

const char *watch_no_methods(const struct watch *w)
{
	return w->no_methods;
}

static void take_samples(struct watch *w, u64 now_ns)
{
	struct cut *cut;

	while ((cut = recording_take_cut(w->methods.recording, w->methods.sink))) {
		profile_name_frames(cut->profile, NAMES_SHOWN);
		hot_add(w->hot, cut->profile, now_ns);
		cut_free(cut);
		w->nr_cuts--;
	}
}

void watch_tick(struct watch *w)
{
	if (!w->node)
		return;
	node_tick(w->node);
	u64 now_ns = time_mono_ns();
	take_samples(w, now_ns);
	if (w->recorded && recording_state(w->record.recording) == RECORDING_RUNS &&
	    recording_elapsed_ns(w->record.recording) >= w->record_ns)
		recording_stop(w->record.recording);
}

int watch_tick_ms(const struct watch *w)
{
	return w->node ? node_tick_ms(w->node) : -1;
}

int watch_fd(struct watch *w)
{
	return w->node ? node_fd(w->node) : -1;
}

void watch_woken(struct watch *w)
{
	node_woken(w->node);
}

const char *watch_why(const struct watch *w)
{
	return w->why.at;
}

static int read_daemon(struct watch *w, struct board *out)
{
	int err = daemon_board_read(w->daemon, w->options->pids, w->options->nr_pids, out, &w->why);

	free(w->no_methods);
	w->no_methods = err                           ? xstrdup(w->why.at)
			: w->options->without_methods ? xstrdup("not asked for")
			: daemon_board_has_methods(w->daemon)
				? NULL
				: xstrdup("the daemon's continuous profiling is off");
	return err;
}

int watch_read(struct watch *w, struct board *out)
{
	if (w->daemon)
		return read_daemon(w, out);
	int err = node_load_read(&w->ticks, &out->load);
	u64 now_ns = time_mono_ns();
	if (w->node)
		jvm_rows_read(w->rows, w->node, now_ns, out);
	else
		jvm_rows_search(w->rows, now_ns, out);
	board_add_shares(out, w->at_ns, now_ns, &w->own_ns,
			 w->node ? node_cpu_ns(w->node) : time_process_ns(0));
	w->at_ns = now_ns;
	if (w->node && recording_state(w->methods.recording) == RECORDING_RUNS &&
	    !recording_cut(w->methods.recording, w->methods.sink))
		w->nr_cuts++;
	str_clear(&w->why);
	if (err)
		str_add(&w->why, strerror(-err));
	return err;
}

bool watch_is_behind(const struct watch *w)
{
	return w->nr_cuts != 0;
}

void watch_methods(const struct watch *w, pid_t pid, struct hot_list *out)
{
	if (w->daemon)
		daemon_board_methods(w->daemon, pid, out);
	else
		hot_find(w->hot, pid, time_mono_ns(), out);
}

int watch_record(struct watch *w, pid_t pid, u64 duration_ns)
{
	if (!w->node)
		return -ENOTSUP;
	if (w->recorded)
		return -EBUSY;
	int err = stream_start(w, &w->record, pid, RECORD_HZ, duration_ns);
	if (err) {
		stream_fini(&w->record);
		return err;
	}
	w->recorded = pid;
	w->record_ns = duration_ns;
	return 0;
}

pid_t watch_recorded(const struct watch *w, u64 *elapsed_ns)
{
	*elapsed_ns = w->recorded ? recording_elapsed_ns(w->record.recording) : 0;
	return w->recorded;
}

struct cut *watch_take(struct watch *w)
{
	if (!w->recorded || recording_state(w->record.recording) != RECORDING_DONE)
		return NULL;
	struct cut *cut = recording_take_cut(w->record.recording, w->record.sink);
	stream_fini(&w->record);
	w->recorded = 0;
	return cut;
}
