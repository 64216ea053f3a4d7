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
#include "base/utf8.h"
#include "capture/recording.h"
#include "jvm/process/javaproc.h"
#include "proc/capability.h"
#include "profile/names.h"
#include "recorder/service.h"

#define SEARCH_NS    (5 * NS_PER_SEC) /* between searches of /proc, without a node */
#define SWEEP_NS     (60 * NS_PER_SEC)
#define RECORD_HZ    99
#define CONTAINER_ID 12 /* characters shown of one without a name */
#define JVMS_MAX     4096

/* A JVM of the last readings. */
struct watched {
	struct jvm_meter *meter;
	char *name, *container, *jdk, *collector, *gap;
	struct hotspot *own; /* without a node */
	bool is_there;
};

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
	struct services *services;
	struct stream methods, record;
	pid_t recorded;
	u64 record_ns; /* for how long */
	u64 nr_cuts;   /* of `methods` that are not taken yet */
	struct hot *hot;
	char *no_methods;
	VEC(struct watched) jvms;
	struct cpu_ticks ticks;
	u64 at_ns, own_ns;         /* of the last reading */
	u64 searched_ns, swept_ns; /* CLOCK_MONOTONIC */
	u64 now_ns;                /* of this reading */
	struct board *board;       /* that it fills */
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
	w->services = services_new(w->node);
	if (!node_start(w->node) && !stream_start(w, &w->methods, 0, WATCH_HZ, 0))
		return;
	stream_fini(&w->methods);
	services_free(take(w->services));
	node_free(take(w->node));
	w->no_methods = xstrdup("the node cannot be sampled; `sysflame doctor` explains it");
}

struct watch *watch_new(const struct watch_options *options)
{
	struct watch *w = xcalloc(1, sizeof(*w));

	w->options = options;
	w->hot = hot_new();
	w->no_methods = options->without_methods ? xstrdup("not asked for") : missing_rights();
	if (!w->no_methods)
		start_node(w);
	return w;
}

static void free_jvm(struct watched *j)
{
	jvm_meter_free(j->meter);
	hotspot_free(j->own);
	free(j->name);
	free(j->container);
	free(j->jdk);
	free(j->collector);
	free(j->gap);
}

void watch_free(struct watch *w)
{
	if (!w)
		return;
	stream_fini(&w->methods);
	stream_fini(&w->record);
	services_free(w->services);
	node_free(w->node);
	hot_free(w->hot);
	vec_each(j, &w->jvms)
		free_jvm(j);
	vec_fini(&w->jvms);
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
	if (now_ns - w->swept_ns > SWEEP_NS) {
		w->swept_ns = now_ns;
		services_sweep(w->services);
	}
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

static bool is_wanted(const struct watch *w, pid_t pid)
{
	for (size_t i = 0; i < w->options->nr_pids; i++)
		if (w->options->pids[i] == pid)
			return true;
	return !w->options->nr_pids;
}

/* The JVM's entry, a new one if it is new; NULL if it is not wanted. */
static struct watched *find(struct watch *w, struct process_id id)
{
	vec_each(j, &w->jvms)
		if (process_id_same(jvm_meter_id(j->meter), id))
			return j;
	if (!is_wanted(w, id.pid) || w->jvms.nr == JVMS_MAX)
		return NULL;
	struct watched new = { .meter = jvm_meter_new(id) };
	vec_push(&w->jvms, new);
	return &w->jvms.at[w->jvms.nr - 1];
}

static void set(char **to, const char *text, size_t max)
{
	struct str clean = { 0 };

	utf8_clean(&clean, text, max);
	free(*to);
	*to = str_take(&clean);
}

/* Version and collector, when its memory can be read. */
static void describe(struct watched *j, const struct hotspot *h)
{
	struct hotspot_info info;

	hotspot_info(h, &info);
	if (info.jdk == 8) /* its release is that of HotSpot, "25.504-b08" */
		set(&j->jdk, "8", SIZE_MAX);
	else if (*info.release)
		set(&j->jdk, info.release, strcspn(info.release, "+-"));
	set(&j->collector, info.collector, 32);
}

static void read_jvm(struct watch *w, struct watched *j, struct hotspot *h)
{
	struct jvm_row row = { 0 };

	if (h && (!j->collector || !*j->collector))
		describe(j, h);
	row.collector = j->collector ?: "";
	jvm_meter_read(j->meter, h, w->now_ns, &row);
	row.name = j->name ?: "?";
	row.container = j->container ?: "";
	row.jdk = j->jdk ?: "";
	row.gap = h ? NULL : j->gap ?: "its memory cannot be read (yet)";
	j->is_there = true;
	vec_push(&w->board->rows, row);
}

static void read_of_node(struct process *p, void *ctx)
{
	struct watch *w = ctx;
	struct watched *j = process_is_whole_jvm(p) ? find(w, p->id) : NULL;
	const struct container *c = j ? node_container(w->node, p) : NULL;

	if (!j)
		return;
	set(&j->name, services_main(w->services, p), SIZE_MAX);
	if (c && *c->name)
		set(&j->container, c->name, SIZE_MAX);
	else
		set(&j->container, c ? c->id : "", CONTAINER_ID);
	read_jvm(w, j, node_jvm(w->node, p));
}

static void search(struct watch *w)
{
	struct javaprocs all = { 0 };
	char id[CONTAINER_ID_LEN + 1];

	if (w->searched_ns && w->now_ns - w->searched_ns < SEARCH_NS)
		return;
	w->searched_ns = w->now_ns;
	javaprocs_read(&all);
	vec_each(found, &all) {
		struct watched *j = find(w, found->id);
		if (!j || j->name)
			continue;
		set(&j->name, found->main, SIZE_MAX);
		set(&j->jdk, found->jdk, SIZE_MAX);
		set(&j->container, cgroup_container(found->id.pid, id) ? id : "", CONTAINER_ID);
	}
	javaprocs_fini(&all);
}

static void read_alone(struct watch *w)
{
	search(w);
	vec_each(j, &w->jvms) {
		struct process_id id = jvm_meter_id(j->meter);
		int err = j->own ? 0 : hotspot_open(id, &j->own);
		if (err)
			set(&j->gap, strerror(-err), SIZE_MAX);
		if (time_process_ns(id.pid) && !(j->own && hotspot_refresh(j->own) == -ESRCH))
			read_jvm(w, j, j->own);
	}
}

static void drop_ended(struct watch *w)
{
	size_t nr = 0;

	vec_each(j, &w->jvms) {
		if (j->is_there)
			w->jvms.at[nr++] = *j;
		else
			free_jvm(j);
	}
	w->jvms.nr = nr;
}

static void read_load(struct watch *w, struct board *out)
{
	u64 own_ns = w->node ? node_cpu_ns(w->node) : time_process_ns(0);

	out->passed_ns = w->at_ns ? w->now_ns - w->at_ns : 0;
	out->own = out->passed_ns && own_ns >= w->own_ns
			   ? (double)(own_ns - w->own_ns) / (double)out->passed_ns
			   : RATE_UNKNOWN;
	out->other = out->load.busy < 0 ? RATE_UNKNOWN : out->load.busy - board_cpu(out);
	if (out->load.busy >= 0 && out->other < 0)
		out->other = 0;
	w->own_ns = own_ns;
}

int watch_read(struct watch *w, struct board *out)
{
	int err = node_load_read(&w->ticks, &out->load);

	w->now_ns = time_mono_ns();
	w->board = out;
	out->rows.nr = 0;
	vec_each(j, &w->jvms)
		j->is_there = false;
	if (w->node)
		node_each_jvm(w->node, read_of_node, w);
	else
		read_alone(w);
	drop_ended(w);
	read_load(w, out);
	w->at_ns = w->now_ns;
	if (w->node && recording_state(w->methods.recording) == RECORDING_RUNS &&
	    !recording_cut(w->methods.recording, w->methods.sink))
		w->nr_cuts++;
	return err;
}

bool watch_is_behind(const struct watch *w)
{
	return w->nr_cuts != 0;
}

void watch_methods(const struct watch *w, pid_t pid, struct hot_list *out)
{
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
