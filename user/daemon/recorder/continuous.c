/* SPDX-License-Identifier: Apache-2.0 */
/* Continuous profiling. */
#include "daemon/recorder/continuous.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/time.h"
#include "capture/recording.h"
#include "export/slices/slice_writer.h"
#include "profile/names.h"

#define FULL_HZ        19
#define WAIT_MIN_NS    (50 * NS_PER_MS) /* minimum of offcpu and lock at the full rate */
#define ALLOC_INTERVAL (16ull << 20)    /* bytes between two samples */

#define SLICE_NS (10 * NS_PER_SEC)
#define BOOK_NS  (3600 * NS_PER_SEC) /* a file of the store has one hour */
#define OTHER    "other"
#define PPM      1000000
#define RETRY_NS (60 * NS_PER_SEC) /* after a recording could not be started */

/* A recording at one rate. */
struct stream {
	u32 hz;
	struct targets *targets;
	struct recording *recording;
	struct sink *sink;
};

struct continuous {
	struct node *node;
	struct outbox *out;
	struct readings *readings;
	struct governor_limits limits; /* of GOVERNOR_CPUS CPUs */
	struct governor governor;
	struct slice_writer *writer;
	struct events events;
	struct event_options sampling;
	enum agent_mode agent;
	struct stream now;   /* recording NULL: off */
	struct stream ended; /* its last cuts come before those of `now` */
	u64 border_ns;       /* CLOCK_REALTIME of the next end of a slice */
	u64 since_wall_ns;   /* when the rate last changed */
	u64 retry_ns;
	int err;                 /* why the last start failed */
	u64 measured_ns;         /* CLOCK_MONOTONIC of the last decision */
	u64 own_ns, sampled;     /* at the last decision */
	u64 book_hour;           /* of the last slice */
	u64 nr_samples, nr_lost; /* of all slices */
	bool is_shared;          /* other recordings ran, too, since the last decision */
	bool is_stopping;
};

/* The samples that the kernel has taken in this recording. */
static u64 nr_sampled(const struct stream *s)
{
	struct recording_progress now;

	if (!s->recording)
		return 0;
	recording_progress(s->recording, &now);
	return now.sampled;
}

static u64 unit_at(u32 hz, u64 full)
{
	return hz ? full * FULL_HZ / hz : full;
}

void continuous_set_rate(struct event_options *o, u32 hz)
{
	o->freq_hz = (int)hz;
	o->offcpu_min_ns = o->lock_min_ns = unit_at(hz, WAIT_MIN_NS);
	o->alloc_interval = unit_at(hz, ALLOC_INTERVAL);
}

static void free_stream(struct stream *s)
{
	recording_free(s->recording);
	targets_free(s->targets);
	*s = (struct stream){ 0 };
}

static int start_stream(struct continuous *c, u32 hz)
{
	const struct sink_options sink = { .has_services = true };

	continuous_set_rate(&c->sampling, hz);
	c->sampling.kernel_only = governor_is_kernel_only(&c->governor);
	c->now = (struct stream){ .hz = hz, .targets = targets_new() };
	c->sampling.targets = c->now.targets;
	const struct recording_options options = {
		.events = &c->events,
		.sampling = c->sampling,
		.targets = c->now.targets,
		.agent = c->agent,
		.may_lag = true,
	};
	c->now.recording = recording_new(c->node, &options);
	c->now.sink = recording_add_sink(c->now.recording, &sink);
	int err = recording_start(c->now.recording);
	if (err)
		free_stream(&c->now);
	return err;
}

/* CPUs come and go. */
static void scale_limits(struct continuous *c)
{
	long nr = sysconf(_SC_NPROCESSORS_ONLN);

	c->governor.limits = governor_scale(&c->limits, nr > 0 ? (u32)nr : 1);
}

/* Starts recording at the governor's rate. */
static void start(struct continuous *c, u64 now_ns)
{
	u32 hz = governor_rate(&c->governor);

	c->since_wall_ns = time_wall_ns();
	c->border_ns = (c->since_wall_ns / SLICE_NS + 1) * SLICE_NS;
	c->sampled = 0;
	c->measured_ns = now_ns;
	c->own_ns = node_cpu_ns(c->node);
	c->is_shared = false;
	c->err = hz ? start_stream(c, hz) : 0;
	if (c->err)
		c->retry_ns = now_ns + RETRY_NS;
}

/* Returns a different bit for each event, 0 for an unknown name. */
static u32 event_bit(const char *name, size_t len)
{
	static const char *const known[] = { "cpu", "offcpu", "alloc", "lock" };

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strlen(known[i]) == len && !strncmp(known[i], name, len))
			return 1u << i;
	return 0;
}

bool continuous_events_are_valid(const char *events)
{
	for (u32 seen = 0;; events++) {
		size_t len = strcspn(events, ",");
		u32 bit = event_bit(events, len);
		if (!bit || seen & bit)
			return false;
		seen |= bit;
		events += len;
		if (!*events)
			return true;
	}
}

static bool needs_agents(const struct continuous_options *o)
{
	return o->has_agents && (strstr(o->events, "alloc") || strstr(o->events, "lock"));
}

struct continuous *continuous_new(struct node *n, const struct continuous_options *options,
				  struct outbox *out)
{
	struct continuous *c = xcalloc(1, sizeof(*c));
	auto_str struct str why = { 0 };

	c->node = n;
	c->out = out;
	c->readings = options->readings;
	c->writer = slice_writer_new();
	c->limits = options->limits;
	governor_init(&c->governor, &c->limits);
	scale_limits(c);
	c->agent = needs_agents(options) ? AGENT_AUTO : AGENT_NEVER;
	c->sampling = (struct event_options){ .without_agent = c->agent == AGENT_NEVER };
	continuous_set_rate(&c->sampling, governor_rate(&c->governor));
	if (events_parse(options->events, &c->sampling, &c->events, &why))
		log_warn("there is no continuous profiling: %s", why.at);
	else
		start(c, time_mono_ns());
	return c;
}

void continuous_free(struct continuous *c)
{
	if (!c)
		return;
	free_stream(&c->now);
	free_stream(&c->ended);
	slice_writer_free(c->writer);
	events_fini(&c->events);
	free(c);
}

void continuous_begin_book(struct continuous *c)
{
	slice_writer_begin(c->writer);
}

/* The number of the type with CPU time; NR if there is none. */
static u32 cpu_type(const struct profile *p)
{
	u32 type = 0;

	while (type < p->types.nr && strcmp(p->types.at[type].name, "cpu") != 0)
		type++;
	return type;
}

/* Turns samples into the CPU time that they stand for. */
static void weigh_by_time(struct profile *p, u32 hz)
{
	u32 cpu = cpu_type(p);

	if (cpu == p->types.nr)
		return;
	free(p->types.at[cpu].unit);
	p->types.at[cpu].unit = xstrdup("ns");
	vec_each(w, &p->weights)
		if (w->type == cpu)
			w->value *= NS_PER_SEC / hz;
}

/* The entry of a service. The last one, "other", has the rest. */
static struct control_service *use_of(struct control_slice *s, const char *name)
{
	char own[sizeof(s->services[0].name)];

	channel_text(own, sizeof(own), name);
	for (u32 i = 0; i < s->nr; i++)
		if (!strcmp(s->services[i].name, own))
			return &s->services[i];
	if (s->nr == CONTROL_SERVICES)
		return &s->services[s->nr - 1];
	bool is_last = s->nr + 1 == CONTROL_SERVICES;
	struct control_service *new = &s->services[s->nr++];
	memcpy(new->name, is_last ? OTHER : own, is_last ? sizeof(OTHER) : sizeof(own));
	return new;
}

/* The event whose values the type has; NR if it has none of the slice's events. */
static u32 event_of(const struct control_slice *s, const struct value_type *t)
{
	u32 event = 0;

	while (event < s->nr_events && strcmp(t->name, s->events[event]) != 0)
		event++;
	return event;
}

static void add_uses(const struct continuous *c, const struct profile *p, struct control_slice *out)
{
	for (u32 i = 0; i < c->events.list.nr && out->nr_events < CONTROL_SLICE_EVENTS; i++)
		channel_text(out->events[out->nr_events++], sizeof(out->events[0]),
			     c->events.list.at[i].name);
	vec_each(w, &p->weights) {
		u32 event = event_of(out, &p->types.at[w->type]);
		if (event < out->nr_events)
			use_of(out, p->labels.at[w->labels].service ?: OTHER)->values[event] +=
				w->value;
	}
}

static void send_slice(struct continuous *c, struct cut *cut, u32 hz)
{
	static struct control_message m; /* scratch */
	struct profile *p = cut->profile;
	auto_str struct str record = { 0 };
	bool begins;

	m = (struct control_message){ .kind = CONTROL_SLICE };
	m.slice.begin_wall_ns = p->start_wall_ns;
	m.slice.end_wall_ns = p->start_wall_ns + p->duration_ns;
	m.slice.lost = loss_counts_samples(&cut->losses);
	m.slice.missed = loss_counts_missed(&cut->losses);
	for (u32 i = 0; i < c->events.list.nr; i++)
		m.slice.samples += cut->counts.by_event[i];
	c->nr_samples += m.slice.samples;
	c->nr_lost += m.slice.lost;
	profile_name_frames(p, NAMES_SHOWN);
	if (c->readings)
		readings_add_profile(c->readings, p, time_mono_ns());
	redaction_profile(c->out->redaction, p);
	weigh_by_time(p, hz);
	add_uses(c, p, &m.slice);
	if (p->start_wall_ns / BOOK_NS != c->book_hour)
		slice_writer_begin(c->writer);
	c->book_hour = p->start_wall_ns / BOOK_NS;
	int err = slice_writer_add(c->writer, p, m.slice.begin_wall_ns, m.slice.end_wall_ns,
				   &record, &begins);
	int fd = err ? err : channel_file(record.at, record.len);
	if (fd < 0) {
		log_warn("a slice of continuous profiling is lost: %s", strerror(-fd));
		slice_writer_begin(c->writer); /* the next slice must not refer to the lost one */
		return;
	}
	m.slice.bytes = record.len;
	m.slice.begins_book = begins;
	outbox_add(c->out, &m, fd);
}

static void take_cuts(struct continuous *c, struct stream *s)
{
	struct cut *cut;

	while (s->recording && (cut = recording_take_cut(s->recording, s->sink))) {
		send_slice(c, cut, s->hz);
		cut_free(cut);
	}
}

static void end_stream(struct continuous *c)
{
	if (!c->now.recording)
		return;
	recording_stop(c->now.recording);
	c->ended = c->now;
	c->now = (struct stream){ 0 };
}

/*
 * Chooses the rate of the next slice by the cost of the last one, unless that includes the cost of
 * recordings that somebody wanted.
 */
static void decide(struct continuous *c, u64 now_ns)
{
	u64 passed_ns = now_ns - c->measured_ns, sampled = nr_sampled(&c->now);
	u64 own_ns = node_cpu_ns(c->node);
	/* own_ns is a sum over processes, which falls when one of them ends. */
	u64 used_ns = own_ns > c->own_ns ? own_ns - c->own_ns : 0;
	u64 cpu_ppm = passed_ns ? used_ns * PPM / passed_ns : 0;
	u64 samples_s = passed_ns ? (sampled - c->sampled) * NS_PER_SEC / passed_ns : 0;
	bool is_shared = c->is_shared;

	scale_limits(c);
	c->measured_ns = now_ns;
	c->own_ns = own_ns;
	c->sampled = sampled;
	c->is_shared = false;
	if (is_shared || !governor_decide(&c->governor, cpu_ppm, samples_s))
		return;
	log_info("continuous profiling: %u Hz%s%s", governor_rate(&c->governor),
		 *c->governor.why ? "; " : "", c->governor.why);
	end_stream(c);
	start(c, now_ns);
}

static void end_slice(struct continuous *c, u64 now_ns)
{
	u64 wall_ns = time_wall_ns();

	/* A clock that was set back must not make slices of hours. */
	bool jumped = wall_ns + SLICE_NS < c->border_ns;
	if (wall_ns < c->border_ns && !jumped)
		return;
	c->border_ns = (wall_ns / SLICE_NS + 1) * SLICE_NS;
	if (c->now.recording && recording_state(c->now.recording) == RECORDING_RUNS)
		recording_cut(c->now.recording, c->now.sink);
	if (!c->ended.recording)
		decide(c, now_ns);
}

/* Handles a recording whose events could not be started. */
static void take_failure(struct continuous *c, u64 now_ns)
{
	if (!c->now.recording || recording_state(c->now.recording) != RECORDING_DONE)
		return;
	c->err = recording_error(c->now.recording);
	c->retry_ns = now_ns + RETRY_NS;
	c->sampled = 0;
	free_stream(&c->now);
}

void continuous_tick(struct continuous *c, u64 now_ns, bool is_alone)
{
	c->is_shared |= !is_alone;
	take_cuts(c, &c->ended);
	if (c->ended.recording && recording_state(c->ended.recording) == RECORDING_DONE) {
		take_cuts(c, &c->ended);
		free_stream(&c->ended);
	}
	if (c->is_stopping && !c->ended.recording)
		end_stream(c);
	if (c->is_stopping || !c->events.list.nr)
		return;
	if (!c->ended.recording)
		take_cuts(c, &c->now);
	take_failure(c, now_ns);
	end_slice(c, now_ns);
	if (!c->now.recording && governor_rate(&c->governor) && c->retry_ns &&
	    now_ns >= c->retry_ns)
		start(c, now_ns);
}

void continuous_counts(const struct continuous *c, u64 *samples, u64 *lost)
{
	*samples = c->nr_samples;
	*lost = c->nr_lost;
}

void continuous_report(const struct continuous *c, struct control_node *out)
{
	out->continuous_hz = c->now.hz;
	out->continuous_since_wall_ns = c->since_wall_ns;
	auto_free char *why =
		c->err ? xasprintf("it cannot start (%s) and tries again; the log names the cause",
				   strerror(-c->err))
		       : xstrdup(c->governor.why);
	channel_text(out->continuous_why, sizeof(out->continuous_why), why);
}

void continuous_each_cache(const struct continuous *c, cache_use_fn visit, void *ctx)
{
	const struct cache_use book = { "slice_book", slice_writer_nr(c->writer),
					slice_writer_bytes(c->writer), SLICE_BOOK_BYTES };

	visit(&book, ctx);
}

void continuous_stop(struct continuous *c)
{
	c->is_stopping = true;
	if (c->now.recording)
		recording_stop(c->now.recording);
	if (!c->ended.recording)
		end_stream(c);
}

bool continuous_has_ended(const struct continuous *c)
{
	return !c->ended.recording && !c->now.recording;
}
