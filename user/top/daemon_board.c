/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of a daemon. */
#include "top/daemon_board.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "fleet/http/fetch.h"

#define PATH          "/api/v1/top"
#define SOCKET_PREFIX "unix:"
#define MAX_BYTES     (16u << 20)
#define TIMEOUT_S     3
#define FIRST_NS      (8 * NS_PER_SEC) /* for a reading with rates */
#define RESTART_NS    (4 * NS_PER_SEC)
#define AGAIN_US      100000
#define STEP_MS       50
#define JVMS_MAX      4096

struct daemon_board {
	struct fetcher *fetcher;
	json_t *last; /* NULL: none; the rows point into it */
	bool is_done;
	int err;
	struct str why;
};

static void take_answer(void *ctx, const struct fetched *f)
{
	struct daemon_board *d = ctx;
	json_error_t error;

	d->is_done = true;
	json_decref(take(d->last));
	d->err = 0;
	str_clear(&d->why);
	if (f->status == 200)
		d->last = json_loadb(f->bytes, f->len, 0, &error);
	if (json_is_object(d->last))
		return;
	json_decref(take(d->last));
	d->err = f->status == 503 ? -EAGAIN : -EIO;
	if (f->status == 503)
		str_add(&d->why, "the daemon has no recorder at the moment");
	else if (!f->status)
		str_addf(&d->why, "the daemon does not answer: %s", f->why);
	else if (f->status == 200)
		str_add(&d->why, "the daemon's answer is no JSON");
	else
		str_addf(&d->why, "the daemon answers with status %u", f->status);
}

static int ask(struct daemon_board *d)
{
	const struct fetch_request r = { .path = PATH,
					 .max_bytes = MAX_BYTES,
					 .timeout_s = TIMEOUT_S };
	int err = fetcher_add(d->fetcher, &r, take_answer, d);

	d->is_done = false;
	while (!err && !d->is_done) {
		struct pollfd p = { fetcher_fd(d->fetcher), POLLIN, 0 };
		fetcher_step(d->fetcher);
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

/* A recorder that was just started has no rates yet, and for a moment there may be none. */
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

void daemon_board_free(struct daemon_board *d)
{
	if (!d)
		return;
	fetcher_free(d->fetcher);
	json_decref(d->last);
	str_fini(&d->why);
	free(d);
}

static struct http_entry entry_of(const char *url, const char *token)
{
	const size_t prefix = strlen(SOCKET_PREFIX), len = strcspn(url, "\n");

	if (strncmp(url, SOCKET_PREFIX, prefix) != 0)
		return (struct http_entry){ .url = xstrdup(url), .token = xstrdup(token) };
	return (struct http_entry){
		.url = xasprintf("http://localhost%s", url[len] ? url + len + 1 : ""),
		.token = xstrdup(token),
		.socket = xstrndup(url + prefix, len - prefix),
	};
}

static int start(struct daemon_board *d, const char *url, const char *token)
{
	struct http_entries nodes = { 0 };

	vec_push(&nodes.all, entry_of(url, token));
	int err = fetcher_start(&nodes, &d->fetcher);
	http_entries_wipe(&nodes);
	return err;
}

int daemon_board_new(const char *url, const char *token, struct daemon_board **out, struct str *why)
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

int daemon_board_read(struct daemon_board *d, const pid_t *pids, size_t nr_pids, struct board *out,
		      struct str *why)
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

void daemon_board_methods(const struct daemon_board *d, pid_t pid, struct hot_list *out)
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

bool daemon_board_has_methods(const struct daemon_board *d)
{
	return json_is_true(json_object_get(d->last, "has_methods"));
}
