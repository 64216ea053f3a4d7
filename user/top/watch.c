/* SPDX-License-Identifier: Apache-2.0 */
/* Watches the JVMs of this node. */
#include "top/watch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/time.h"
#include "capture/recording.h"
#include "proc/rights.h"
#include "profile/names.h"
#include "top/daemon_board.h"
#include "top/jvm_rows.h"

#define RECORD_HZ 99

/* A recording, with what it rests on. */
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
	u64 nr_cuts;   /* of `methods` that are not taken yet */
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
