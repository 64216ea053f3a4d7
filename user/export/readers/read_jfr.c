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
#include "export/interchange/external.h"
#include "export/readers/jfr_chunk.h"
#include "export/readers/reader.h"

#define NAMES_MAX_BYTES (256u << 20) /* a few bytes of a hostile file can name much */

/* An event that gives weights. */
struct source {
	const char *event, *thread;
	const char *value;  /* the field with the weight; NULL if each event weighs 1 */
	const char *object; /* the field whose class becomes the leaf; NULL without one */
	const char *type, *unit;
	bool is_ticks;
};

/*
 * The order of the types if the file is the first one. If several kinds of events report
 * allocations, only the first kind that occurs is used: each reports all allocations.
 */
static const struct source sources[] = {
	{ "jdk.ExecutionSample", "sampledThread", NULL, NULL, "cpu", "samples", false },
	{ "jdk.ObjectAllocationSample", "eventThread", "weight", "objectClass", "alloc", "bytes",
	  false },
	{ "jdk.ObjectAllocationInNewTLAB", "eventThread", "tlabSize", "objectClass", "alloc",
	  "bytes", false },
	{ "jdk.ObjectAllocationOutsideTLAB", "eventThread", "allocationSize", "objectClass",
	  "alloc", "bytes", false },
	{ "jdk.CPUTimeSample", "eventThread", NULL, NULL, "cpu-time", "samples", false },
	{ "profiler.WallClockSample", "sampledThread", "samples", NULL, "wall", "samples", false },
	{ "jdk.JavaMonitorEnter", "eventThread", "duration", "monitorClass", "lock", "ns", true },
	{ "jdk.ThreadPark", "eventThread", "duration", "parkedClass", "lock", "ns", true },
	{ "profiler.NativeLock", "eventThread", "duration", NULL, "nativelock", "ns", true },
	{ "profiler.Malloc", "eventThread", "size", NULL, "nativemem", "bytes", false },
	{ "profiler.LiveObject", "eventThread", "allocationSize", "objectClass", "live", "bytes",
	  false },
};

#define SOURCE_EXECUTION          0
#define SOURCE_SAMPLED_ALLOCATION 1
#define SOURCE_TLAB_ALLOCATION    2
#define SOURCE_WALL               5
#define SOURCE_PARK               7

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
	struct stack_adder adder;
	struct jfr_chunk chunk;
	/*
	 * Of this chunk, by key: number + 1. Of stacks: the node << 1, and whether the stack was
	 * cut.
	 */
	struct dict stacks, threads, methods, classes;
	u64 name_bytes;
	bool has_libraries; /* of this chunk: native frames have their library as class */
	u64 nr_cut, nr_no_stack, nr_other_allocations, nr_other_parks;
	int allocation;       /* the source of allocations in use, 0 for none yet */
	bool has_cpu_samples; /* async-profiler sampled by CPU time */
	VEC(struct running) running;
};

static int damaged(struct reader_state *r, const char *what)
{
	str_addf(r->why, "damaged JFR recording: %s", what);
	return -EINVAL;
}

/* Converts "[[Ljava/lang/String;" and "[B" to "java.lang.String[][]" and "byte[]". */
static void add_class_name(struct str *out, const char *name)
{
	static const char *const primitives[] = { "Bbyte", "Cchar", "Ddouble", "Ffloat",
						  "Iint",  "Jlong", "Sshort",  "Zboolean" };
	size_t nr_dims = strspn(name, "[");
	const char *element = name + nr_dims;
	size_t len = strlen(element);

	if (nr_dims && *element == 'L' && element[len - 1] == ';') {
		str_add_bytes(out, element + 1, len - 2);
	} else {
		for (size_t i = 0; nr_dims && len == 1 && i < ARRAY_SIZE(primitives); i++)
			if (*element == *primitives[i])
				element = primitives[i] + 1;
		str_add(out, element);
	}
	for (; nr_dims; nr_dims--)
		str_add(out, "[]");
}

static bool field_text(struct reader_state *r, const struct jfr_value *v, const char *field,
		       struct str *out)
{
	struct jfr_value text;

	str_add(out, "");
	return jfr_find(&r->chunk, v, field, &text) && jfr_text(&r->chunk, &text, out);
}

/* Appends the name of the class that a field refers to. */
static void add_class(struct reader_state *r, const struct jfr_value *field, struct str *out)
{
	auto_str struct str name = { 0 };
	struct jfr_value class;

	if (jfr_constant(&r->chunk, field, &class) && field_text(r, &class, "name", &name) &&
	    name.len)
		add_class_name(out, name.at);
}

static int intern_name(struct reader_state *r, enum frame_kind kind, const struct str *name,
		       const char *module, u32 line, frame_id *frame)
{
	r->name_bytes += name->len + strlen(module);
	if (r->name_bytes > NAMES_MAX_BYTES)
		return damaged(r, "its names are more than 256 MB");
	*frame = frames_intern_line(r->p->frames, kind, name->at, module,
				    (struct source_line){ "", line });
	return 0;
}

/* The words of the JDK, then those of async-profiler. A method without a class is not Java. */
static enum frame_kind kind_of(const char *type, bool has_class)
{
	static const struct {
		const char *type;
		enum frame_kind kind;
	} all[] = {
		{ "Interpreted", FRAME_INTERPRETED }, { "JIT compiled", FRAME_C2 },
		{ "Inlined", FRAME_INLINED },         { "C1 compiled", FRAME_C1 },
		{ "Kernel", FRAME_KERNEL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (!strcmp(all[i].type, type))
			return all[i].kind;
	return has_class ? FRAME_C2 : FRAME_NATIVE;
}

/* "Native" means the JDK's native methods, but in async-profiler's files functions of libraries. */
static bool is_of_library(const struct reader_state *r, const char *type)
{
	return r->has_libraries &&
	       (!strcmp(type, "Native") || !strcmp(type, "C++") || !strcmp(type, "Kernel"));
}

static int read_method(struct reader_state *r, const struct jfr_value *method, const char *type,
		       u32 line, frame_id *frame)
{
	auto_str struct str class = { 0 }, name = { 0 };
	struct jfr_value value, field;

	str_add(&class, "");
	if (!jfr_constant(&r->chunk, method, &value))
		return damaged(r, "a frame without a method");
	if (jfr_find(&r->chunk, &value, "type", &field))
		add_class(r, &field, &class);
	field_text(r, &value, "name", &name);
	if (is_of_library(r, type)) {
		enum frame_kind kind = strcmp(type, "Kernel") == 0     ? FRAME_KERNEL
				       : strstr(class.at, "libjvm.so") ? FRAME_JVM
								       : FRAME_NATIVE;
		return intern_name(r, kind, &name, class.at, 0, frame);
	}
	bool has_class = class.len > 0;
	if (has_class && name.len)
		str_add_char(&class, '.');
	str_add(&class, name.at);
	return intern_name(r, kind_of(type, has_class), &class, "", line, frame);
}

/* The line of a frame; 0 if lines are not wanted. The JDK writes -1 for an unknown line. */
static u32 line_of(struct reader_state *r, const struct jfr_value *frame)
{
	struct jfr_value line;

	if (!frames_keeps_lines(r->p->frames) || !jfr_find(&r->chunk, frame, "lineNumber", &line))
		return 0;
	u64 number = jfr_number(&line);
	return number <= INT32_MAX ? (u32)number : 0;
}

static int read_frame(struct reader_state *r, const struct jfr_value *v, frame_id *frame)
{
	auto_str struct str type = { 0 };
	struct jfr_value method, type_field;

	if (!jfr_find(&r->chunk, v, "method", &method) || !method.is_constant)
		return damaged(r, "a frame without a method");
	u64 type_key = jfr_find(&r->chunk, v, "type", &type_field) ? jfr_number(&type_field) : 0;
	u32 line = line_of(r, v);
	u64 rest = hash_u64(type_key ^ hash_u64(line));
	u64 *known = dict_add(&r->methods, hash_u64(jfr_number(&method) ^ rest));
	if (!*known) {
		field_text(r, v, "type", &type);
		int err = read_method(r, &method, type.at, line, frame);
		if (err)
			return err;
		*known = *frame + 1ull;
	}
	*frame = (frame_id)(*known - 1);
	return 0;
}

/* Reads a stack; its frames are stored leaf first. */
static int read_stack(struct reader_state *r, const struct jfr_value *stack, node_id *node)
{
	struct jfr_value frames, frame;

	if (!jfr_find(&r->chunk, stack, "frames", &frames))
		return damaged(r, "a stack without frames");
	u64 nr = jfr_elements(&frames, &frame);
	for (u64 i = 0; i < nr; i++) {
		frame_id id;
		int err = frame.is_constant ? damaged(r, "frames apart from their stack")
					    : read_frame(r, &frame, &id);
		if (err)
			return err;
		vec_push(&r->adder.frames, id);
		if (!jfr_skip(&r->chunk, &frame))
			return damaged(r, "a stack is cut off");
	}
	for (size_t i = 0, k = r->adder.frames.nr; i + 1 < k; i++) {
		frame_id swap = r->adder.frames.at[i];
		r->adder.frames.at[i] = r->adder.frames.at[--k];
		r->adder.frames.at[k] = swap;
	}
	return stack_find(&r->adder, node, r->why);
}

static int find_stack(struct reader_state *r, const struct jfr_value *event, node_id *node)
{
	struct jfr_value field, stack, cut;

	if (!jfr_find(&r->chunk, event, "stackTrace", &field) ||
	    !jfr_constant(&r->chunk, &field, &stack)) {
		r->nr_no_stack++;
		*node = profile_no_stack(r->adder.p);
		return 0;
	}
	u64 *known = dict_add(&r->stacks, jfr_number(&field));
	if (!*known) {
		int err = read_stack(r, &stack, node);
		if (err)
			return err;
		bool is_cut = jfr_find(&r->chunk, &stack, "truncated", &cut) && jfr_number(&cut);
		*known = (*node + 1ull) << 1 | is_cut;
	}
	*node = (node_id)((*known >> 1) - 1);
	r->nr_cut += *known & 1;
	return 0;
}

/* Adds the class of the allocated object or the lock as leaf. */
static int add_object(struct reader_state *r, const struct jfr_value *event, const char *field,
		      node_id *node)
{
	auto_str struct str name = { 0 };
	struct jfr_value class;
	frame_id frame;

	if (!jfr_find(&r->chunk, event, field, &class) || !class.is_constant)
		return 0;
	u64 *known = dict_add(&r->classes, jfr_number(&class));
	if (!*known) {
		add_class(r, &class, &name);
		int err = name.len ? intern_name(r, FRAME_CLASS, &name, "", 0, &frame) : 0;
		if (err)
			return err;
		*known = name.len ? frame + 2ull : 1;
	}
	if (*known > 1)
		*node = profile_child(r->p, *node, (frame_id)(*known - 2));
	return 0;
}

static labels_id find_thread(struct reader_state *r, const struct jfr_value *event,
			     const char *field, enum thread_state state)
{
	auto_str struct str name = { 0 };
	struct jfr_value key, thread, tid;
	struct labels labels = { .comm = "", .thread = "", .state = state_labels[state] };

	if (!jfr_find(&r->chunk, event, field, &key) || !jfr_constant(&r->chunk, &key, &thread))
		return profile_intern_labels(r->p, &labels);
	u64 *known = dict_add(&r->threads, jfr_number(&key) * NR_THREAD_STATES + state);
	if (!*known) {
		if (!field_text(r, &thread, "javaName", &name) || !name.len)
			field_text(r, &thread, "osName", &name);
		labels.thread = name.at;
		if (jfr_find(&r->chunk, &thread, "osThreadId", &tid))
			labels.tid = (u32)jfr_number(&tid);
		*known = profile_intern_labels(r->p, &labels) + 1ull;
	}
	return (labels_id)(*known - 1);
}

static const struct source *source_of(struct reader_state *r, const struct jfr_class *class)
{
	for (int i = 0; i < (int)ARRAY_SIZE(sources); i++) {
		if (strcmp(class->name, sources[i].event))
			continue;
		if (strcmp(sources[i].type, "alloc"))
			return &sources[i];
		int way = i == SOURCE_SAMPLED_ALLOCATION ? i : SOURCE_TLAB_ALLOCATION;
		if (!r->allocation)
			r->allocation = way;
		if (r->allocation == way)
			return &sources[i];
		r->nr_other_allocations++;
		return NULL;
	}
	return NULL;
}

static u64 weight_of(struct reader_state *r, const struct jfr_value *event, const struct source *s)
{
	struct jfr_value field;

	if (!s->value)
		return 1;
	u64 value = jfr_find(&r->chunk, event, s->value, &field) ? jfr_number(&field) : 0;
	if (s->is_ticks && r->chunk.ticks_per_s)
		value = (u64)((unsigned __int128)value * 1000000000 / r->chunk.ticks_per_s);
	return value;
}

/*
 * Adds a weight. A weight that is not in samples is followed by the number of samples, as record
 * does (profile/count.h).
 */
static int add_weight(struct reader_state *r, const struct jfr_value *event, const struct source *s,
		      node_id node, enum thread_state state)
{
	labels_id thread = find_thread(r, event, s->thread, state);
	int err = stack_add(&r->adder, node, thread, profile_find_type(r->p, s->type, s->unit),
			    (s64)weight_of(r, event, s), r->why);

	if (err || !strcmp(s->unit, "samples"))
		return err;
	char count[32];
	snprintf(count, sizeof(count), "%s-samples", s->type);
	return stack_add(&r->adder, node, thread, profile_find_type(r->p, count, "samples"), 1,
			 r->why);
}

/* A park for a lock names the lock's class. Other parks wait for work, time or a condition. */
static bool is_for_lock(struct reader_state *r, const struct jfr_value *event, const char *field)
{
	static const char *const locks[] = { "java/util/concurrent/locks/Reentrant",
					     "java/util/concurrent/locks/StampedLock",
					     "java/util/concurrent/Semaphore" };
	auto_str struct str name = { 0 };
	struct jfr_value class;

	if (!jfr_find(&r->chunk, event, field, &class) || !class.is_constant)
		return false;
	add_class(r, &class, &name);
	for (char *c = name.at; c && (c = strchr(c, '.'));)
		*c = '/';
	for (size_t i = 0; i < ARRAY_SIZE(locks); i++)
		if (name.len && !strncmp(name.at, locks[i], strlen(locks[i])))
			return true;
	return false;
}

/*
 * async-profiler's samples by CPU time have STATE_DEFAULT, or STATE_RUNNABLE in versions without
 * that state. Its wall-clock samples have STATE_RUNNABLE or STATE_SLEEPING. All samples of the JDK
 * have STATE_RUNNABLE.
 */
static enum thread_state state_of(struct reader_state *r, const struct jfr_value *event)
{
	auto_str struct str name = { 0 };

	if (!field_text(r, event, "state", &name) || !name.len)
		return THREAD_ON_CPU;
	if (!strcmp(name.at, "STATE_RUNNABLE"))
		return r->has_libraries ? THREAD_RUNNING : THREAD_ON_CPU;
	return strcmp(name.at, "STATE_DEFAULT") ? THREAD_WAITING : THREAD_ON_CPU;
}

/* Stores running threads for the end, when it is known whether there are samples by CPU time. */
static int add_execution(struct reader_state *r, const struct jfr_value *event, node_id node)
{
	enum thread_state state = state_of(r, event);
	const struct source *s = &sources[SOURCE_EXECUTION];

	if (state == THREAD_ON_CPU) {
		r->has_cpu_samples |= r->has_libraries;
		return add_weight(r, event, s, node, state);
	}
	labels_id thread = find_thread(r, event, s->thread, state);
	if (state == THREAD_RUNNING) {
		vec_push(&r->running, (struct running){ node, thread });
		return 0;
	}
	u32 type = profile_find_type(r->p, sources[SOURCE_WALL].type, s->unit);
	return stack_add(&r->adder, node, thread, type, 1, r->why);
}

/* Running threads of wall-clock samples become cpu, unless CPU time was sampled too. */
static int add_running(struct reader_state *r)
{
	const struct source *s = &sources[r->has_cpu_samples ? SOURCE_WALL : SOURCE_EXECUTION];
	u32 type = r->running.nr ? profile_find_type(r->p, s->type, s->unit) : 0;
	int err = 0;

	for (size_t i = 0; !err && i < r->running.nr; i++)
		err = stack_add(&r->adder, r->running.at[i].node, r->running.at[i].thread, type, 1,
				r->why);
	return err;
}

static int read_event(struct reader_state *r, const struct jfr_value *event)
{
	const struct source *s = source_of(r, event->class);
	node_id node;

	if (!s)
		return 0;
	if (s == &sources[SOURCE_PARK] && !is_for_lock(r, event, s->object)) {
		r->nr_other_parks++;
		return 0;
	}
	int err = find_stack(r, event, &node);
	if (!err && s->object)
		err = add_object(r, event, s->object, &node);
	if (err)
		return err;
	if (s == &sources[SOURCE_EXECUTION])
		return add_execution(r, event, node);
	return add_weight(r, event, s, node,
			  s == &sources[SOURCE_WALL] ? state_of(r, event) : THREAD_ON_CPU);
}

static int read_events(struct reader_state *r)
{
	struct jfr_value event;
	u64 offset = JFR_HEADER;
	int err = 0;

	while (!err && jfr_next_event(&r->chunk, &offset, &event))
		err = read_event(r, &event);
	return err;
}

static void forget_chunk(struct reader_state *r)
{
	dict_fini(&r->stacks);
	dict_fini(&r->threads);
	dict_fini(&r->methods);
	dict_fini(&r->classes);
	r->stacks = r->threads = r->methods = r->classes = (struct dict){ 0 };
	jfr_chunk_close(&r->chunk);
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

/* Returns 1 if there was a chunk, 0 at the end of the file. */
static int read_chunk(struct reader_state *r, struct input *in)
{
	auto_str struct str bytes = { 0 };
	u64 len;

	fill(in, &bytes, JFR_HEADER);
	if (!bytes.len)
		return 0;
	if (bytes.len < JFR_HEADER)
		return damaged(r, "it is cut off");
	int err = jfr_chunk_len((u8 *)bytes.at, &len, r->why);
	if (err)
		return err;
	fill(in, &bytes, len);
	if (bytes.len < len)
		return damaged(r, "it is cut off");
	err = jfr_chunk_open((u8 *)bytes.at, bytes.len, &r->chunk, r->why);
	r->has_libraries = !err && jfr_has_constant(&r->chunk, "jdk.types.FrameType", "Kernel");
	err = err ?: read_events(r);
	if (!r->p->start_wall_ns)
		r->p->start_wall_ns = r->chunk.start_ns;
	r->p->duration_ns += r->chunk.duration_ns;
	forget_chunk(r);
	return err ?: 1;
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

bool jfr_is(const u8 *head, size_t len)
{
	return len > 3 && !memcmp(head, "FLR", 4);
}

int jfr_read(struct input *in, struct profile *p, struct str *why)
{
	struct reader_state r = { .p = p, .why = why };
	size_t nr_weights = p->weights.nr;
	bool is_first = !p->types.nr;
	int err;

	stack_adder_init(&r.adder, p);
	while ((err = read_chunk(&r, in)) > 0)
		;
	err = err ?: add_running(&r);
	stack_adder_fini(&r.adder);
	vec_fini(&r.running);
	if (err)
		return err;
	if (p->weights.nr == nr_weights) {
		str_add(why, "the JFR recording has no samples of execution, allocation or locks");
		return -EINVAL;
	}
	if (is_first)
		order_types(p);
	add_note(p, "truncated", "stacks cut at the depth of the JFR recording", r.nr_cut);
	add_note(p, "no_stack", "events without a stack", r.nr_no_stack);
	add_note(p, "other_parks", "parks that wait for no lock, skipped", r.nr_other_parks);
	add_note(p, "other_allocations", "allocation events of another kind, skipped",
		 r.nr_other_allocations);
	return 0;
}
