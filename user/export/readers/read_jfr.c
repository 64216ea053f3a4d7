/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads recordings of JDK Flight Recorder and async-profiler: samples of execution, allocation and
 * locks.
 * Part of export/readers/reader.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/str.h"
#include "export/interchange/jfr.h"
#include "export/interchange/label_frame.h"
#include "export/readers/jfr_chunk.h"
#include "export/readers/reader.h"

/* The parts of a recording that only sysflame writes. */
struct jfr_own {
	u32 wall, wall_samples; /* types, plus one; 0: not known */
	struct str first;       /* "NAME/UNIT" of the type that was first; last chunk */
};

#define TYPES_MAX   1000
#define NOTES_MAX   1000
#define TEXT_MAX    1000
#define RATE_MAX_HZ 1e6

/* Reads the process of a thread. Its name is appended to *comm, as it is in the file. */
static void jfr_own_process(struct jfr_stacks *s, const struct jfr_value *thread,
			    struct labels *labels, struct str *comm)
{
	struct jfr_value pid;

	if (jfr_find(&s->chunk, thread, JFR_PID_FIELD, &pid))
		labels->pid = (u32)jfr_number(&pid);
	jfr_field_text(s, thread, JFR_COMM_FIELD, comm);
}

/* Appends a text of an event without control characters. */
static void add_text(struct jfr_stacks *s, const struct jfr_value *event, const char *field,
		     struct str *out)
{
	auto_str struct str text = { 0 };

	jfr_field_text(s, event, field, &text);
	str_add(out, "");
	utf8_clean(out, text.at, TEXT_MAX);
}

/* Finds the type of a JFR_OWN_SAMPLE. -EINVAL and a sentence if it is damaged. */
static int jfr_own_type(struct jfr_stacks *s, const struct jfr_value *event, u32 *type)
{
	auto_str struct str name = { 0 }, unit = { 0 };

	add_text(s, event, "event", &name);
	add_text(s, event, "unit", &unit);
	if (!name.len || !unit.len)
		return jfr_damaged(s->why, "a sample without an event");
	*type = profile_find_type(s->p, name.at, unit.at);
	return s->p->types.nr > TYPES_MAX ? jfr_damaged(s->why, "it has more than 1,000 events")
					  : 0;
}

static void add_own_note(struct jfr_stacks *s, const struct jfr_value *event)
{
	auto_str struct str key = { 0 }, text = { 0 };
	struct jfr_value value;

	add_text(s, event, "key", &key);
	add_text(s, event, "text", &text);
	if (!key.len || s->p->notes.nr >= NOTES_MAX || !jfr_find(&s->chunk, event, "value", &value))
		return;
	const struct note *old = profile_find_note(s->p, key.at);
	u64 sum = jfr_number(&value) + (old ? old->value : 0);
	profile_note(s->p, key.at, text.at, sum < VARINT_MAX ? sum : VARINT_MAX);
}

static void take_text(struct jfr_stacks *s, const struct jfr_value *event, const char *field,
		      char **to)
{
	struct str text = { 0 };

	add_text(s, event, field, &text);
	free(*to);
	*to = str_take(&text);
}

/* Takes in an event of JFR_OWN_NOTE or JFR_OWN_PROFILE. Does nothing with others. */
static void jfr_own_facts(struct jfr_stacks *s, const struct jfr_value *event, struct jfr_own *own)
{
	struct jfr_value rate;

	if (!strcmp(event->class->name, JFR_OWN_NOTE))
		add_own_note(s, event);
	if (strcmp(event->class->name, JFR_OWN_PROFILE) != 0)
		return;
	take_text(s, event, "title", &s->p->title);
	take_text(s, event, "host", &s->p->host);
	take_text(s, event, "target", &s->p->target);
	str_clear(&own->first);
	add_text(s, event, "event", &own->first);
	double rate_hz = jfr_find(&s->chunk, event, "rate", &rate) ? jfr_double(&rate) : 0;
	if (rate_hz > 0 && rate_hz <= RATE_MAX_HZ)
		s->p->rate_hz = rate_hz;
}

/* Without samples no event has named the type. */
static void add_first_type(const char *first, struct profile *p)
{
	const char *slash = strrchr(first, '/'); /* the name may contain slashes */

	if (!slash || slash == first || !slash[1])
		return;
	auto_free char *name = xstrndup(first, (size_t)(slash - first));
	profile_find_type(p, name, slash + 1);
}

/* Moves the type to the front that was first in the profile. Adds it if there are no types. */
static void jfr_own_settle(const struct jfr_own *own, struct profile *p)
{
	if (!p->types.nr && own->first.len)
		add_first_type(own->first.at, p);
	for (u32 i = 0; own->first.len && i < p->types.nr; i++)
		if (value_type_is(&p->types.at[i], own->first.at)) {
			profile_move_type_first(p, i);
			return;
		}
}

static void jfr_own_fini(struct jfr_own *own)
{
	str_fini(&own->first);
}

/* The fields of an event that are read. */
enum event_field {
	FIELD_STACK,
	FIELD_THREAD,
	FIELD_STATE,
	FIELD_WEIGHT, /* without this field, each event weighs 1 */
	FIELD_OBJECT, /* its class becomes the leaf */
	FIELD_LABELS, /* of chunks that sysflame wrote */
	NR_EVENT_FIELDS,
};

/* An event that gives weights. */
struct source {
	const char *event;
	const char *fields[NR_EVENT_FIELDS];
	const char *type, *unit;
	bool is_ticks;
};

#define EVENT(thread, weight, object)                                           \
	{                                                                       \
		"stackTrace", thread, "state", weight, object, JFR_LABELS_FIELD \
	}

enum source_index {
	SOURCE_EXECUTION,
	SOURCE_SAMPLED_ALLOCATION,
	SOURCE_TLAB_ALLOCATION,
	SOURCE_DIRECT_ALLOCATION,
	SOURCE_CPU_TIME,
	SOURCE_WALL,
	SOURCE_NATIVE,
	SOURCE_MONITOR,
	SOURCE_PARK,
	SOURCE_NATIVE_LOCK,
	SOURCE_MALLOC,
	SOURCE_LIVE,
	NR_SOURCES,
};

/*
 * The order of the types if the file is the first one. If several kinds of events report
 * allocations, only the first kind that occurs in a chunk is used: each reports all allocations.
 */
static const struct source sources[NR_SOURCES] = {
	[SOURCE_EXECUTION] = { "jdk.ExecutionSample", EVENT("sampledThread", NULL, NULL), "cpu",
			       "samples", false },
	[SOURCE_SAMPLED_ALLOCATION] = { "jdk.ObjectAllocationSample",
					EVENT("eventThread", "weight", "objectClass"), "alloc",
					"bytes", false },
	[SOURCE_TLAB_ALLOCATION] = { "jdk.ObjectAllocationInNewTLAB",
				     EVENT("eventThread", "tlabSize", "objectClass"), "alloc",
				     "bytes", false },
	[SOURCE_DIRECT_ALLOCATION] = { "jdk.ObjectAllocationOutsideTLAB",
				       EVENT("eventThread", "allocationSize", "objectClass"),
				       "alloc", "bytes", false },
	[SOURCE_CPU_TIME] = { "jdk.CPUTimeSample", EVENT("eventThread", NULL, NULL), "cpu-time",
			      "samples", false },
	[SOURCE_WALL] = { "profiler.WallClockSample", EVENT("sampledThread", "samples", NULL),
			  "wall", "samples", false },
	[SOURCE_NATIVE] = { "jdk.NativeMethodSample", EVENT("sampledThread", NULL, NULL), "native",
			    "samples", false },
	[SOURCE_MONITOR] = { "jdk.JavaMonitorEnter",
			     EVENT("eventThread", "duration", "monitorClass"), "lock", "ns", true },
	[SOURCE_PARK] = { "jdk.ThreadPark", EVENT("eventThread", "duration", "parkedClass"), "lock",
			  "ns", true },
	[SOURCE_NATIVE_LOCK] = { "profiler.NativeLock", EVENT("eventThread", "duration", NULL),
				 "nativelock", "ns", true },
	[SOURCE_MALLOC] = { "profiler.Malloc", EVENT("eventThread", "size", NULL), "nativemem",
			    "bytes", false },
	[SOURCE_LIVE] = { "profiler.LiveObject",
			  EVENT("eventThread", "allocationSize", "objectClass"), "live", "bytes",
			  false },
};

/* The state of the sampled thread. */
enum thread_state {
	THREAD_ON_CPU,  /* sampled by CPU time, or the state is unknown */
	THREAD_RUNNING, /* sampled by wall clock */
	THREAD_WAITING,
	NR_THREAD_STATES,
};

static const char *const state_labels[NR_THREAD_STATES] = {
	[THREAD_ON_CPU] = "",
	[THREAD_RUNNING] = "running",
	[THREAD_WAITING] = "sleeping",
};

/* A wall-clock sample of a running thread. */
struct running {
	node_id node;
	labels_id thread;
};

struct reader_state {
	struct profile *p;
	struct str *why;
	struct jfr_stacks stacks;
	struct jfr_value fields[NR_EVENT_FIELDS]; /* of the current event; class NULL: missing */
	/* Of this chunk, by key: a number + 1. Of parked classes: 1 if it is no lock, 2 if it is.
	 */
	struct dict threads, states, parked;
	u64 nr_other_allocations, nr_other_parks;
	/* the source of allocations that is used in this chunk; 0: none yet */
	int allocation;
	bool has_cpu_samples; /* async-profiler sampled by CPU time */
	VEC(struct running) running;
	u32 types[NR_SOURCES], counts[NR_SOURCES]; /* types of weights, plus one; 0: not known */
	u64 nr_added;                              /* weights */
	u64 label_bytes, nr_labels_out;            /* of texts in FIELD_LABELS */
	u64 nr_chunks;                             /* whole ones */
	u64 unread;         /* bytes of an unfinished chunk at the end, and behind it */
	bool is_unfinished; /* the file ends in a part of a chunk */
	bool is_cut;        /* ... that its writer completed */
	u32 minor;          /* the newest version of its chunks */
	bool has_own;       /* sysflame wrote a chunk */
	struct jfr_own own;
};

/* The JDK's names are modified UTF-8, and those of a foreign file anything. */
static const char *cleaned(const struct str *text, struct str *out)
{
	utf8_clean(out, text->at ?: "", 256);
	return out->at;
}

/* The labels of an event of sysflame besides those of `base`. */
static labels_id find_labels(struct reader_state *r, const struct labels *base)
{
	const struct jfr_value *field = &r->fields[FIELD_LABELS];
	auto_str struct str text = { 0 };

	if (!r->stacks.is_own || !field->class || !jfr_text(&r->stacks.chunk, field, &text))
		return profile_intern_labels(r->p, base);
	r->label_bytes += text.len;
	if (r->label_bytes > EXTERNAL_NAMES_MAX) {
		profile_note(r->p, "labels_left_out", "labels of samples left out beyond 256 MB",
			     ++r->nr_labels_out);
		return profile_intern_labels(r->p, base);
	}
	return label_text_intern(r->p, text.at ?: "", base);
}

static u64 labels_key(const struct reader_state *r)
{
	const struct jfr_value *field = &r->fields[FIELD_LABELS];
	u64 key = r->stacks.is_own && field->class ? jfr_number(field) : 0;

	return key ? hash_u64(key) : 0;
}

static labels_id find_thread(struct reader_state *r, enum thread_state state)
{
	auto_str struct str name = { 0 }, comm = { 0 }, clean_name = { 0 }, clean_comm = { 0 };
	const struct jfr_value *key = &r->fields[FIELD_THREAD];
	struct jfr_value thread, tid;
	struct labels labels = { .comm = "", .thread = "", .state = state_labels[state] };

	if (!key->class || !key->is_constant)
		return find_labels(r, &labels);
	u64 *known =
		dict_add(&r->threads, (jfr_number(key) * NR_THREAD_STATES + state) ^ labels_key(r));
	if (*known)
		return (labels_id)(*known - 1);
	if (jfr_constant(&r->stacks.chunk, key, &thread)) {
		if (!jfr_field_text(&r->stacks, &thread, "javaName", &name) || !name.len)
			jfr_field_text(&r->stacks, &thread, "osName", &name);
		labels.thread = cleaned(&name, &clean_name);
		if (jfr_find(&r->stacks.chunk, &thread, "osThreadId", &tid))
			labels.tid = (u32)jfr_number(&tid);
		if (r->stacks.is_own)
			jfr_own_process(&r->stacks, &thread, &labels, &comm);
		labels.comm = cleaned(&comm, &clean_comm);
	}
	*known = find_labels(r, &labels) + 1ull;
	return (labels_id)(*known - 1);
}

/* The index of a class of events in `sources`, or -1. */
static int source_index(struct jfr_class *class)
{
	if (!class->mark) {
		class->mark = NR_SOURCES + 1;
		for (u8 i = 0; i < NR_SOURCES; i++)
			if (!strcmp(class->name, sources[i].event))
				class->mark = i + 1;
	}
	return class->mark <= NR_SOURCES ? class->mark - 1 : -1;
}

/* The source of an event, -1 if it is not read. */
static int source_of(struct reader_state *r, struct jfr_class *class)
{
	int i = source_index(class);

	if (i < SOURCE_SAMPLED_ALLOCATION || i > SOURCE_DIRECT_ALLOCATION)
		return i;
	int way = i == SOURCE_SAMPLED_ALLOCATION ? i : SOURCE_TLAB_ALLOCATION;
	if (!r->allocation)
		r->allocation = way;
	if (r->allocation == way)
		return i;
	r->nr_other_allocations++;
	return -1;
}

static u64 weight_of(struct reader_state *r, const struct source *s)
{
	const struct jfr_value *field = &r->fields[FIELD_WEIGHT];
	u64 ticks_per_s = r->stacks.chunk.ticks_per_s;

	if (!s->fields[FIELD_WEIGHT])
		return 1;
	u64 value = field->class ? jfr_number(field) : 0;
	if (s->is_ticks && ticks_per_s)
		value = (u64)((unsigned __int128)value * 1000000000 / ticks_per_s);
	return value;
}

static int add(struct reader_state *r, node_id node, labels_id thread, u32 *type, const char *name,
	       const char *unit, u64 weight)
{
	if (!*type)
		*type = profile_find_type(r->p, name, unit) + 1;
	r->nr_added++;
	return stack_add(&r->stacks.adder, node, thread, *type - 1, (s64)weight, r->why);
}

/*
 * Adds a weight. A weight that is not in samples is followed by the number of samples, as record
 * does (profile/count.h).
 */
static int add_weight(struct reader_state *r, int i, node_id node, enum thread_state state)
{
	const struct source *s = &sources[i];
	labels_id thread = find_thread(r, state);
	int err = add(r, node, thread, &r->types[i], s->type, s->unit, weight_of(r, s));

	if (err || !strcmp(s->unit, "samples"))
		return err;
	char count[32];
	if (!r->counts[i])
		snprintf(count, sizeof(count), "%s-samples", s->type);
	return add(r, node, thread, &r->counts[i], count, "samples", 1);
}

/* A park for a lock names the lock's class. Other parks wait for work, time or a condition. */
static bool is_for_lock(struct reader_state *r)
{
	const struct jfr_value *class = &r->fields[FIELD_OBJECT];

	if (!class->class || !class->is_constant)
		return false;
	u64 *known = dict_add(&r->parked, jfr_number(class));
	if (!*known) {
		auto_str struct str name = { 0 };
		str_add(&name, "");
		jfr_class_name(&r->stacks, class, &name);
		*known = 1 + jfr_class_is_lock(name.at);
	}
	return *known == 2;
}

static enum thread_state state_named(const struct reader_state *r, const char *name)
{
	if (!*name)
		return THREAD_ON_CPU;
	if (!strcmp(name, "STATE_RUNNABLE"))
		return r->stacks.has_libraries ? THREAD_RUNNING : THREAD_ON_CPU;
	return strcmp(name, "STATE_DEFAULT") ? THREAD_WAITING : THREAD_ON_CPU;
}

/*
 * async-profiler's samples by CPU time have STATE_DEFAULT, or STATE_RUNNABLE in versions without
 * that state. Its wall-clock samples have STATE_RUNNABLE or STATE_SLEEPING. All samples of the JDK
 * have STATE_RUNNABLE.
 */
static enum thread_state state_of(struct reader_state *r)
{
	auto_str struct str name = { 0 };
	const struct jfr_value *field = &r->fields[FIELD_STATE];

	if (!field->class)
		return THREAD_ON_CPU;
	u64 once = 0;
	u64 *known = field->is_constant ? dict_add(&r->states, jfr_number(field)) : &once;
	if (!*known)
		*known = 1ull + (jfr_text(&r->stacks.chunk, field, &name) ? state_named(r, name.at)
									  : THREAD_ON_CPU);
	return (enum thread_state)(*known - 1);
}

/* Stores running threads for the end, when it is known whether there are samples by CPU time. */
static int add_execution(struct reader_state *r, node_id node)
{
	enum thread_state state = state_of(r);

	if (state == THREAD_ON_CPU) {
		r->has_cpu_samples |= r->stacks.has_libraries;
		return add_weight(r, SOURCE_EXECUTION, node, state);
	}
	labels_id thread = find_thread(r, state);
	if (state == THREAD_RUNNING) {
		vec_push(&r->running, (struct running){ node, thread });
		return 0;
	}
	return add(r, node, thread, &r->types[SOURCE_WALL], sources[SOURCE_WALL].type, "samples",
		   1);
}

/* Running threads of wall-clock samples become cpu, unless CPU time was sampled too. */
static int add_running(struct reader_state *r)
{
	int i = r->has_cpu_samples ? SOURCE_WALL : SOURCE_EXECUTION;
	int err = 0;

	vec_each(one, &r->running) {
		err = add(r, one->node, one->thread, &r->types[i], sources[i].type, "samples", 1);
		if (err)
			break;
	}
	return err;
}

/* Wall-clock samples that sysflame wrote have the time that they stand for. */
static int add_own_wall(struct reader_state *r, const struct jfr_value *event, node_id node)
{
	labels_id thread = find_thread(r, state_of(r));
	struct jfr_value field;
	u64 wall_ns =
		jfr_find(&r->stacks.chunk, event, "timeSpan", &field) ? jfr_number(&field) : 0;

	if (!wall_ns)
		return add_weight(r, SOURCE_WALL, node, state_of(r));
	return add(r, node, thread, &r->own.wall, "wall", "ns", wall_ns)
		       ?: add(r, node, thread, &r->own.wall_samples, "wall-samples", "samples",
			      weight_of(r, &sources[SOURCE_WALL]));
}

/* An event that only sysflame writes; others are skipped. */
static int read_own(struct reader_state *r, const struct jfr_value *event)
{
	static const char *const fields[NR_EVENT_FIELDS] = EVENT("eventThread", "weight", NULL);
	node_id node;
	u32 type = 0; /* gcc does not see that a type is set without an error */

	if (strcmp(event->class->name, JFR_OWN_SAMPLE) != 0) {
		jfr_own_facts(&r->stacks, event, &r->own);
		return 0;
	}
	jfr_find_all(&r->stacks.chunk, event, fields, NR_EVENT_FIELDS, r->fields);
	int err = jfr_find_stack(&r->stacks, &r->fields[FIELD_STACK], &node)
			  ?: jfr_own_type(&r->stacks, event, &type);
	if (err)
		return err;
	type++;
	u64 weight = r->fields[FIELD_WEIGHT].class ? jfr_number(&r->fields[FIELD_WEIGHT]) : 0;
	return add(r, node, find_thread(r, THREAD_ON_CPU), &type, "", "", weight);
}

static int read_event(struct reader_state *r, const struct jfr_value *event)
{
	int i = source_of(r, event->class);
	node_id node;

	if (i < 0)
		return r->stacks.is_own ? read_own(r, event) : 0;
	jfr_find_all(&r->stacks.chunk, event, sources[i].fields, NR_EVENT_FIELDS, r->fields);
	if (i == SOURCE_PARK && !is_for_lock(r)) {
		r->nr_other_parks++;
		return 0;
	}
	int err = jfr_find_stack(&r->stacks, &r->fields[FIELD_STACK], &node);
	if (!err && sources[i].fields[FIELD_OBJECT])
		err = jfr_add_class(&r->stacks, &r->fields[FIELD_OBJECT], &node);
	if (err)
		return err;
	if (i == SOURCE_EXECUTION)
		return add_execution(r, node);
	if (i == SOURCE_WALL && r->stacks.is_own)
		return add_own_wall(r, event, node);
	return add_weight(r, i, node, i == SOURCE_WALL ? state_of(r) : THREAD_ON_CPU);
}

static int read_events(struct reader_state *r)
{
	struct jfr_value event;
	u64 offset = JFR_HEADER;
	int err = 0;

	while (!err && jfr_next_event(&r->stacks.chunk, &offset, &event))
		err = read_event(r, &event);
	return err;
}

static void forget_chunk(struct reader_state *r)
{
	dict_fini(&r->threads);
	dict_fini(&r->states);
	dict_fini(&r->parked);
	r->threads = r->states = r->parked = (struct dict){ 0 };
	r->allocation = 0;
	jfr_stacks_close(&r->stacks);
}

/* Reads until `out` holds `len` bytes. */
static void fill(struct input *in, struct str *out, u64 len)
{
	char some[16384];
	size_t got;

	while (out->len < len &&
	       (got = input_read(in, some,
				 len - out->len < sizeof(some) ? len - out->len : sizeof(some))) >
		       0)
		str_add_bytes(out, some, got);
}

/* Reads the opened chunk and forgets it. */
static int read_opened(struct reader_state *r)
{
	int err = read_events(r);

	r->has_own |= r->stacks.is_own;
	if (!r->p->start_wall_ns)
		r->p->start_wall_ns = r->stacks.chunk.start_ns;
	r->p->duration_ns += r->stacks.chunk.duration_ns;
	forget_chunk(r);
	return err;
}

static void drain(struct reader_state *r, struct input *in)
{
	char some[16384];

	for (size_t got; (got = input_read(in, some, sizeof(some))) > 0;)
		r->unread += got;
}

/*
 * Reads an unfinished chunk at the end of a file: a JVM still writes it, or was killed, or the file
 * is cut off. Since JDK 14 each flush also writes the constants, so the part up to the last flush
 * can be read.
 */
static int read_part(struct reader_state *r, struct input *in, struct str *bytes, u64 len)
{
	auto_str struct str fault = { 0 };
	int err = 0;

	fill(in, bytes, len ?: JFR_CHUNK_MAX);
	r->is_unfinished = true;
	r->unread = bytes->len;
	if (!jfr_stacks_open(&r->stacks, (u8 *)bytes->at, bytes->len, true, &fault) &&
	    r->stacks.chunk.len > JFR_HEADER) {
		r->unread -= r->stacks.chunk.len;
		err = read_opened(r);
	} else {
		forget_chunk(r);
	}
	drain(r, in);
	return err;
}

/* Returns 1 if there was a chunk, 0 at the end of the file. */
static int read_chunk(struct reader_state *r, struct input *in)
{
	auto_str struct str bytes = { 0 };
	struct jfr_header header;

	fill(in, &bytes, JFR_HEADER);
	if (!bytes.len)
		return 0;
	if (bytes.len < JFR_HEADER) {
		r->is_unfinished = r->is_cut = true;
		r->unread = bytes.len;
		return memcmp(bytes.at, "FLR", bytes.len < 4 ? bytes.len : 4)
			       ? jfr_damaged(r->why, "a chunk does not begin with FLR")
			       : 0;
	}
	int err = jfr_header_read((u8 *)bytes.at, &header, r->why);
	if (err)
		return err;
	r->minor = header.minor > r->minor ? header.minor : r->minor;
	if (!header.is_unfinished)
		fill(in, &bytes, header.len);
	r->is_cut = !header.is_unfinished && bytes.len < header.len;
	if (header.is_unfinished || r->is_cut)
		return read_part(r, in, &bytes, header.len);
	r->nr_chunks++;
	err = jfr_stacks_open(&r->stacks, (u8 *)bytes.at, bytes.len, false, r->why);
	if (!err)
		return read_opened(r) ?: 1;
	forget_chunk(r);
	return err;
}

static void add_note(struct profile *p, const char *key, const char *text, u64 value)
{
	const struct note *old = profile_find_note(p, key);

	if (value)
		profile_note(p, key, text, value + (old ? old->value : 0));
}

/* Puts NAME in front of NAME-samples, its number of samples. */
static void order_types(struct profile *p)
{
	for (size_t s = ARRAY_SIZE(sources); s-- > 0;)
		for (u32 i = 0; i < p->types.nr; i++)
			if (!strcmp(p->types.at[i].name, sources[s].type)) {
				profile_move_type_first(p, i);
				break;
			}
}

static int refuse_unfinished(struct str *why)
{
	str_add(why, "the JFR recording was not finished; `jcmd PID JFR.dump` writes one");
	return -EINVAL;
}

/* Without an error the sentence is a warning. */
static void report_part(struct reader_state *r)
{
	if (!r->is_unfinished)
		return;
	str_addf(r->why, "%sits last chunk is %s: ", r->why->len ? "; " : "",
		 r->is_cut ? "cut off" : "unfinished");
	if (r->unread)
		str_addf(r->why, "%llu byte%s at the end of the file %s left out",
			 (unsigned long long)r->unread, plural(r->unread),
			 r->unread == 1 ? "is" : "are");
	else
		str_add(r->why, "it is read up to the last flush of the JVM");
	add_note(r->p, "unfinished_chunks", "unfinished JFR chunks at the end of a recording", 1);
	add_note(r->p, "unfinished_bytes", "bytes of unfinished JFR chunks, left out", r->unread);
}

static void report_version(struct reader_state *r)
{
	if (r->minor <= JFR_MINOR)
		return;
	str_addf(r->why,
		 "it has JFR format %d.%u, and this sysflame knows versions up to %d.%d: some of "
		 "it may be missing",
		 JFR_MAJOR, r->minor, JFR_MAJOR, JFR_MINOR);
	add_note(r->p, "newer_format", "JFR recordings of a newer format, maybe not read whole", 1);
}

bool jfr_is(const u8 *head, size_t len)
{
	return len > 3 && !memcmp(head, "FLR", 4);
}

int jfr_read(struct input *in, struct profile *p, struct str *why)
{
	struct reader_state r = { .p = p, .why = why };
	bool is_first = !p->types.nr;
	int err;

	jfr_stacks_init(&r.stacks, p, why);
	while ((err = read_chunk(&r, in)) > 0)
		;
	err = err ?: add_running(&r);
	jfr_stacks_fini(&r.stacks);
	vec_fini(&r.running);
	if (!err && is_first) {
		order_types(p);
		jfr_own_settle(&r.own, p);
	}
	jfr_own_fini(&r.own);
	if (err)
		return err;
	if (r.is_unfinished && !r.nr_chunks && !r.nr_added)
		return r.is_cut ? jfr_damaged(why, "it is cut off") : refuse_unfinished(why);
	if (!r.nr_added && !r.has_own) { /* record writes recordings without samples */
		str_add(why, "the JFR recording has no samples of execution, allocation or locks");
		return -EINVAL;
	}
	report_version(&r);
	report_part(&r);
	add_note(p, "truncated", "stacks cut at the depth of the JFR recording", r.stacks.nr_cut);
	add_note(p, "no_stack", "events without a stack", r.stacks.nr_no_stack);
	add_note(p, "other_parks", "parks that wait for no lock, skipped", r.nr_other_parks);
	add_note(p, "other_allocations", "allocation events of another kind, skipped",
		 r.nr_other_allocations);
	return 0;
}
