/* SPDX-License-Identifier: Apache-2.0 */
/* The virtual threads of a JVM that are not mounted on a carrier. */
#include "jvm/hotspot/virtual_threads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "jvm/hotspot/hotspot_private.h"
#include "jvm/memory/java_objects.h"

#define JDK_WITH_VTHREADS 21
#define SEARCH_NS         (200 * NS_PER_MS) /* for classes that are missing */
#define SEARCH_LATER_NS   NS_PER_SEC        /* for those that are needed rarely */
#define SEARCH_LIMIT_NS   (20 * NS_PER_MS)  /* of work in one look */
#define CONTAINERS_MAX    512               /* looked at at once */
#define AT_ONCE           64 /* threads: the shorter the reads take, the fewer have changed */
#define THREAD_BYTES      512
#define CHUNK_BYTES       96
#define CHUNKS_MAX        8    /* of one thread */
#define WORDS_MAX         4096 /* of one chunk; larger ones are cut */
#define FRAMES_MAX        1024
#define KEYS_MAX          512          /* threads of a look; among more some are chosen */
#define KEPT_BYTES        (256u << 10) /* of buffers between looks */
#define STATES            128
#define NAMES_MAX         4096
#define STRING_BYTES      32
#define ARRAY_BYTES       160
#define NAMES_NS          (2 * NS_PER_SEC)

/* X(slot, name): classes of the JDK. */
#define CLASSES(X)                                                                         \
	X(OF_VIRTUAL, "java/lang/VirtualThread")                                           \
	X(OF_THREAD, "java/lang/Thread")                                                   \
	X(OF_STRING, "java/lang/String")                                                   \
	X(OF_CONTINUATION, "jdk/internal/vm/Continuation")                                 \
	X(OF_CHUNK, "jdk/internal/vm/StackChunk")                                          \
	X(OF_CONTAINERS, "jdk/internal/vm/ThreadContainers")                               \
	X(OF_VIEW, "java/util/concurrent/ConcurrentHashMap$CollectionView")                \
	X(OF_MAP, "java/util/concurrent/ConcurrentHashMap")                                \
	X(OF_NODE, "java/util/concurrent/ConcurrentHashMap$Node")                          \
	X(OF_REFERENCE, "java/lang/ref/Reference")                                         \
	/* The others may never be loaded. */                                              \
	X(OF_ROOT, "jdk/internal/vm/ThreadContainers$RootContainer$TrackingRootContainer") \
	X(OF_TREE, "java/util/concurrent/ConcurrentHashMap$TreeBin")                       \
	X(OF_MOVED, "java/util/concurrent/ConcurrentHashMap$ForwardingNode")               \
	X(OF_EXECUTOR, "java/util/concurrent/ThreadPerTaskExecutor")                       \
	X(OF_SHARED, "jdk/internal/vm/SharedThreadContainer")

enum class {
#define X(slot, name) slot,
	CLASSES(X)
#undef X
	NR_CLASSES,
	NR_NEEDED = OF_ROOT,
};

static const char *const class_names[NR_CLASSES] = {
#define X(slot, name) [slot] = name,
	CLASSES(X)
#undef X
};

/* X(slot, class, field) */
#define FIELDS(X)                                        \
	X(VIRTUAL_STATE, OF_VIRTUAL, "state")            \
	X(VIRTUAL_CONT, OF_VIRTUAL, "cont")              \
	X(VIRTUAL_CARRIER, OF_VIRTUAL, "carrierThread")  \
	X(THREAD_NAME, OF_THREAD, "name")                \
	X(THREAD_ID, OF_THREAD, "tid")                   \
	X(STRING_VALUE, OF_STRING, "value")              \
	X(STRING_CODER, OF_STRING, "coder")              \
	X(CONT_TAIL, OF_CONTINUATION, "tail")            \
	X(CHUNK_PARENT, OF_CHUNK, "parent")              \
	X(CHUNK_SIZE, OF_CHUNK, "size")                  \
	X(CHUNK_SP, OF_CHUNK, "sp")                      \
	X(REGISTRY, OF_CONTAINERS, "CONTAINER_REGISTRY") \
	X(TRACKS, OF_CONTAINERS, "TRACK_ALL_THREADS")    \
	X(VIEW_MAP, OF_VIEW, "map")                      \
	X(MAP_TABLE, OF_MAP, "table")                    \
	X(NODE_HASH, OF_NODE, "hash")                    \
	X(NODE_KEY, OF_NODE, "key")                      \
	X(NODE_NEXT, OF_NODE, "next")                    \
	X(REFERENT, OF_REFERENCE, "referent")            \
	X(ROOT_THREADS, OF_ROOT, "VTHREADS")             \
	X(TREE_FIRST, OF_TREE, "first")                  \
	X(MOVED_TABLE, OF_MOVED, "nextTable")            \
	X(EXECUTOR_THREADS, OF_EXECUTOR, "threads")      \
	X(SHARED_THREADS, OF_SHARED, "virtualThreads")

enum field {
#define X(slot, class, name) F_##slot,
	FIELDS(X)
#undef X
	NR_FIELDS,
};

struct field_name {
	enum class class;
	const char *name;
};

static const struct field_name field_names[NR_FIELDS] = {
#define X(slot, class, name) [F_##slot] = { class, name },
	FIELDS(X)
#undef X
};

/* The constants of VirtualThread, by name: their numbers differ between JDKs. */
struct state_name {
	const char *name;
	enum virtual_state state;
};

static const struct state_name state_names[] = {
	{ "STARTED", VIRTUAL_RUNNABLE },    { "RUNNABLE", VIRTUAL_RUNNABLE },
	{ "UNPARKED", VIRTUAL_RUNNABLE },   { "YIELDED", VIRTUAL_RUNNABLE },
	{ "UNBLOCKED", VIRTUAL_UNBLOCKED }, { "RUNNING", VIRTUAL_MOUNTED },
	{ "PINNED", VIRTUAL_PINNED },       { "TIMED_PINNED", VIRTUAL_PINNED },
	{ "PARKED", VIRTUAL_PARKED },       { "TIMED_PARKED", VIRTUAL_PARKED },
	{ "BLOCKED", VIRTUAL_BLOCKED },     { "WAIT", VIRTUAL_WAITS },
	{ "TIMED_WAIT", VIRTUAL_WAITS },
};

struct kept_thread {
	u64 id, name_at;
	enum virtual_state state;
	double share;
	u32 first_frame, nr_frames;
	bool is_complete;
};

struct virtual_threads {
	struct java_objects objects;
	struct boot_search search;
	struct boot_class classes[NR_CLASSES];
	bool has_fields[NR_CLASSES];
	u32 fields[NR_FIELDS];
	u32 chunk_end;                      /* StackChunk.bottom (22+) */
	u32 chunk_arguments;                /* StackChunk.argsize (21); both in words */
	u32 chunk_stack;                    /* from a StackChunk to its first word, in bytes */
	u64 root_handle, containers_handle; /* addresses of the references to these mirrors */
	u8 states[STATES];
	u32 suspended;            /* bit of a state */
	bool is_ready, has_asked; /* has_asked: whether all threads are tracked */
	u64 search_ns;
	char why[256];
	double threads_per_slot;
	double owed;       /* threads of looks in which all had changed */
	struct dict names; /* id -> char *, owned */
	u64 no_name;       /* the String that is the name of threads without one */
	u64 names_ns;
	struct chunk_code code;
	/* Of the look under way: */
	VEC(struct kept_thread) kept;
	VEC(struct user_frame) frames;
	VEC(u64) words;
};

struct virtual_threads *virtual_threads_new(void)
{
	struct virtual_threads *v = xcalloc(1, sizeof(*v));

	for (size_t i = 0; i < NR_CLASSES; i++)
		v->classes[i].name = class_names[i];
	v->threads_per_slot = 0.5;
	return v;
}

static void forget_names(struct virtual_threads *v)
{
	dict_each(slot, &v->names)
		free((void *)(uintptr_t)slot->value);
	dict_fini(&v->names);
	v->names = (struct dict){ 0 };
}

void virtual_threads_free(struct virtual_threads *v)
{
	if (!v)
		return;
	boot_search_fini(&v->search);
	chunk_code_fini(&v->code);
	forget_names(v);
	vec_fini(&v->kept);
	vec_fini(&v->frames);
	vec_fini(&v->words);
	free(v);
}

const char *virtual_threads_why_not(const struct virtual_threads *v)
{
	return *v->why ? v->why : NULL;
}

bool virtual_threads_are_listed(const struct virtual_threads *v)
{
	return v->is_ready;
}

size_t virtual_threads_bytes(const struct virtual_threads *v)
{
	return sizeof(*v) + dict_bytes(&v->names) + dict_bytes(&v->code.by_pc) + v->names.nr * 64 +
	       v->code.blobs.cap * sizeof(v->code.blobs.at[0]) +
	       v->kept.cap * sizeof(v->kept.at[0]) + v->frames.cap * sizeof(v->frames.at[0]) +
	       v->words.cap * sizeof(v->words.at[0]);
}

/* The offsets of a class's fields; a missing one stays 0. */
static int learn_fields(struct virtual_threads *v, const struct vm_memory *j, enum class c,
			struct java_fields *fields)
{
	int err = java_fields_read(j, v->classes[c].klass, fields);

	if (err)
		return err;
	for (size_t i = 0; i < NR_FIELDS; i++)
		if (field_names[i].class == c)
			java_field_find(fields, field_names[i].name, &v->fields[i]);
	if (c == OF_CHUNK) {
		java_field_find(fields, "bottom", &v->chunk_end);
		java_field_find(fields, "argsize", &v->chunk_arguments);
	}
	v->has_fields[c] = true;
	return 0;
}

/* The address of the mirror of a class; 0 if it cannot be read. */
static u64 read_mirror(const struct virtual_threads *v, const struct vm_memory *j, u64 handle)
{
	u64 reference = 0;

	return handle && !mem_read_u64(j->mem, handle, &reference)
		       ? java_root(&v->objects, reference)
		       : 0;
}

/* The numbers of the states: constants in the mirror of VirtualThread. */
static int learn_states(struct virtual_threads *v, const struct vm_memory *j,
			const struct java_fields *fields)
{
	u64 handle;
	int err = vm_read(j, v->classes[OF_VIRTUAL].klass, KLASS_MIRROR, &handle);
	u64 mirror = err ? 0 : read_mirror(v, j, handle);
	u32 at, value;

	if (!mirror)
		return err ?: -EFAULT;
	memset(v->states, VIRTUAL_OTHER, sizeof(v->states));
	for (size_t i = 0; i < ARRAY_SIZE(state_names); i++) {
		if (java_field_find(fields, state_names[i].name, &at))
			continue;
		err = mem_read(j->mem, mirror + at, &value, sizeof(value));
		if (err)
			return err;
		if (value < STATES)
			v->states[value] = (u8)state_names[i].state;
	}
	v->suspended = 0;
	if (!java_field_find(fields, "SUSPENDED", &at))
		mem_read(j->mem, mirror + at, &v->suspended, sizeof(v->suspended));
	return 0;
}

/* A StackChunk's stack begins behind its fields (InstanceStackChunkKlass::offset_of_stack). */
static int learn_chunk(struct virtual_threads *v, const struct vm_memory *j)
{
	u64 layout;
	int err = vm_read(j, v->classes[OF_CHUNK].klass, KLASS_LAYOUT, &layout);

	if (err)
		return err;
	v->chunk_stack = (u32)layout & ~7u; /* the lowest bit only means that it is not plain */
	return v->chunk_stack >= 16 && v->chunk_stack <= CHUNK_BYTES ? 0 : -EBADMSG;
}

static int learn_handles(struct virtual_threads *v, const struct vm_memory *j)
{
	if (v->classes[OF_ROOT].klass && !v->root_handle)
		vm_read(j, v->classes[OF_ROOT].klass, KLASS_MIRROR, &v->root_handle);
	return v->containers_handle ? 0
				    : vm_read(j, v->classes[OF_CONTAINERS].klass, KLASS_MIRROR,
					      &v->containers_handle);
}

/* The field that this JDK lacks, NULL if it has all of them. */
static const char *missing_field(const struct virtual_threads *v)
{
	for (size_t i = 0; i < NR_FIELDS; i++)
		if (field_names[i].class < NR_NEEDED && !v->fields[i] && i != F_TRACKS)
			return field_names[i].name;
	return v->chunk_end || v->chunk_arguments ? NULL : "bottom";
}

static int learn(struct virtual_threads *v, const struct vm_memory *j)
{
	struct java_fields fields = { 0 };
	int err = 0;

	for (size_t c = 0; !err && c < NR_CLASSES; c++) {
		if (!v->classes[c].klass || v->has_fields[c])
			continue;
		err = learn_fields(v, j, (enum class)c, &fields);
		if (!err && c == OF_VIRTUAL)
			err = learn_states(v, j, &fields);
		if (!err && c == OF_CHUNK)
			err = learn_chunk(v, j);
		if (err)
			v->has_fields[c] = false;
	}
	java_fields_fini(&fields);
	return err;
}

static bool has_needed(const struct virtual_threads *v)
{
	for (size_t c = 0; c < NR_NEEDED; c++)
		if (!v->has_fields[c])
			return false;
	return true;
}

static bool has_all(const struct virtual_threads *v)
{
	for (size_t c = 0; c < NR_CLASSES; c++)
		if (!v->has_fields[c])
			return false;
	return true;
}

/* Finds out how the JVM keeps its virtual threads. -EAGAIN: not everything is there yet. */
static int prepare(struct virtual_threads *v, const struct hotspot *h)
{
	const struct vm_memory *j = &h->jvm;
	u64 now = time_mono_ns();

	if (j->jdk < JDK_WITH_VTHREADS)
		return -EAGAIN;
	if (now < v->search_ns || (v->is_ready && has_all(v)))
		return v->is_ready ? 0 : *v->why ? -ENOENT : -EAGAIN;
	int err = v->objects.reference_bytes ? 0 : java_objects_find(j, &v->objects);
	err = err ?: boot_classes_find(j, &v->search, v->classes, NR_CLASSES, SEARCH_LIMIT_NS);
	v->search_ns = err == -EAGAIN ? 0 : now + (v->is_ready ? SEARCH_LATER_NS : SEARCH_NS);
	if (err == -ENOENT)
		snprintf(v->why, sizeof(v->why), "its classes cannot be listed: %s",
			 jvm_slot_missing(KLASS_NEXT_LINK));
	err = err ?: learn(v, j);
	if (!err && !has_needed(v))
		err = -EAGAIN;
	err = err ?: learn_handles(v, j);
	if (!err && missing_field(v)) {
		snprintf(v->why, sizeof(v->why), "this JDK has no field %s", missing_field(v));
		err = -ENOENT;
	}
	v->is_ready |= !err;
	return v->is_ready && err != -ESRCH ? 0 : err;
}

static struct set_fields set_fields(const struct virtual_threads *v)
{
	const u32 *f = v->fields;

	return (struct set_fields){ f[F_VIEW_MAP],  f[F_MAP_TABLE],  f[F_NODE_HASH],  f[F_NODE_KEY],
				    f[F_NODE_NEXT], f[F_TREE_FIRST], f[F_MOVED_TABLE] };
}

/* A set of threads, and how many sets it stands for. */
struct thread_set {
	struct java_table table;
	double share;
};

typedef VEC(struct thread_set) set_list;

/* The set of a container of which the first bytes were read. */
static u64 set_of(const struct virtual_threads *v, const u8 *bytes, size_t len)
{
	u64 class = java_part_class(&v->objects, bytes, len);
	const struct {
		enum class class;
		enum field field;
	} kinds[] = { { OF_EXECUTOR, F_EXECUTOR_THREADS }, { OF_SHARED, F_SHARED_THREADS } };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (v->fields[kinds[i].field] &&
		    class == java_class_value(&v->objects, v->classes[kinds[i].class].klass))
			return java_part_reference(&v->objects, bytes, len,
						   v->fields[kinds[i].field]);
	return 0;
}

/* Appends the sets of the containers in the registry, whose table is given. */
static int list_containers(struct virtual_threads *v, const struct vm_memory *j,
			   struct java_table table, set_list *out, u64 *nr_left_out)
{
	const struct set_fields f = set_fields(v);
	struct set_slot slots[CONTAINERS_MAX];
	set_key_list keys = { 0 };
	struct slot_choice c = slots_choose(table.length, CONTAINERS_MAX);

	for (u32 i = 0; i < c.nr; i++)
		slots[i] = (struct set_slot){ table.at, (u32)slots_chosen(&c, i), table.length, 0 };
	int err = java_slots_read(j, &v->objects, &f, slots, c.nr, &keys, nr_left_out);
	auto_free u64 *at = xcalloc(keys.nr + 1, sizeof(*at));
	auto_free u8 *bytes = xcalloc(keys.nr + 1, CHUNK_BYTES);
	auto_free struct java_table *tables = xcalloc(keys.nr + 1, sizeof(*tables));
	for (size_t i = 0; i < keys.nr; i++)
		at[i] = keys.at[i].object;
	err = err ?: java_follow(j, &v->objects, at, keys.nr, v->fields[F_REFERENT]);
	err = err ?: java_read_each(j->mem, at, keys.nr, bytes, CHUNK_BYTES);
	for (size_t i = 0; i < keys.nr; i++)
		at[i] = set_of(v, bytes + i * CHUNK_BYTES, CHUNK_BYTES);
	err = err ?: java_set_tables(j, &v->objects, &f, at, keys.nr, tables);
	for (size_t i = 0; !err && i < keys.nr; i++)
		if (tables[i].at)
			vec_push(out, (struct thread_set){ tables[i], c.stride });
	vec_fini(&keys);
	return err;
}

/* The addresses of the static fields that hold the registry and the set of the root container. */
static int find_statics(struct virtual_threads *v, const struct vm_memory *j, u64 at[2])
{
	const struct java_objects *o = &v->objects;
	const u64 handles[2] = { v->containers_handle,
				 v->fields[F_ROOT_THREADS] ? v->root_handle : 0 };
	u64 mirrors[2];
	u8 tracks = 1;
	int err = java_read_each(j->mem, handles, 2, mirrors, sizeof(u64));

	if (err || !mirrors[0])
		return err ?: -EFAULT;
	at[0] = java_root(o, mirrors[0]) + v->fields[F_REGISTRY];
	at[1] = mirrors[1] ? java_root(o, mirrors[1]) + v->fields[F_ROOT_THREADS] : 0;
	if (v->has_asked || !v->fields[F_TRACKS])
		return 0;
	err = mem_read(j->mem, java_root(o, mirrors[0]) + v->fields[F_TRACKS], &tracks, 1);
	v->has_asked = !err;
	if (!tracks)
		snprintf(v->why, sizeof(v->why),
			 "-Djdk.trackAllThreads=false: threads that no executor has started are "
			 "not listed");
	return err;
}

/* All sets of virtual threads. */
static int list_sets(struct virtual_threads *v, const struct vm_memory *j, set_list *out,
		     u64 *nr_left_out)
{
	const struct set_fields f = set_fields(v);
	struct java_table tables[2];
	u64 at[2];
	int err = find_statics(v, j, at);

	err = err ?: java_follow(j, &v->objects, at, 2, 0);
	err = err ?: java_set_tables(j, &v->objects, &f, at, 2, tables);
	if (!err && tables[1].at)
		vec_push(out, (struct thread_set){ tables[1], 1 });
	return err ?: tables[0].at ? list_containers(v, j, tables[0], out, nr_left_out) : 0;
}

/* A thread that is looked at. */
struct look {
	u64 object, cont, chunk, id, name;
	double share;
	enum virtual_state state;
	u32 raw_state, sp;
	u64 tail; /* the first chunk, `chunk` is the one being read */
	u32 nr_parts;
	struct {
		u32 first_word, nr_words;
	} parts[CHUNKS_MAX]; /* its chunks that hold frames */
	u32 first_frame;
	bool is_kept, is_cut, is_complete;
};

static u32 thread_bytes(const struct virtual_threads *v)
{
	u32 most = 0;

	for (size_t i = 0; i < NR_FIELDS; i++)
		if ((field_names[i].class == OF_VIRTUAL || field_names[i].class == OF_THREAD) &&
		    v->fields[i] + 8 > most)
			most = v->fields[i] + 8;
	return most < THREAD_BYTES ? most : THREAD_BYTES;
}

/* Whether the object is a virtual thread; fills in what it says. */
static bool parse_thread(const struct virtual_threads *v, const u8 *bytes, size_t len,
			 struct look *out)
{
	const struct java_objects *o = &v->objects;
	const u32 *f = v->fields;

	if (java_part_class(o, bytes, len) != java_class_value(o, v->classes[OF_VIRTUAL].klass))
		return false;
	out->raw_state = (u32)java_part(bytes, len, f[F_VIRTUAL_STATE], 4) & ~v->suspended;
	out->state = out->raw_state < STATES ? v->states[out->raw_state] : VIRTUAL_OTHER;
	out->cont = java_part_reference(o, bytes, len, f[F_VIRTUAL_CONT]);
	out->id = java_part(bytes, len, f[F_THREAD_ID], 8);
	out->name = java_part_reference(o, bytes, len, f[F_THREAD_NAME]);
	if (out->state >= VIRTUAL_RUNNABLE &&
	    java_part_reference(o, bytes, len, f[F_VIRTUAL_CARRIER]))
		out->state = VIRTUAL_MOUNTED;
	return true;
}

static bool is_unmounted(const struct look *l)
{
	return l->state >= VIRTUAL_RUNNABLE;
}

/* Reads the threads at the addresses in `looks`. */
static int read_threads(struct virtual_threads *v, const struct vm_memory *j, struct look *looks,
			size_t nr)
{
	u32 len = thread_bytes(v);
	u64 at[AT_ONCE];
	auto_free u8 *bytes = xcalloc(nr, len);

	for (size_t i = 0; i < nr; i++)
		at[i] = looks[i].object;
	int err = java_read_each(j->mem, at, nr, bytes, len);
	for (size_t i = 0; i < nr; i++)
		if (!parse_thread(v, bytes + i * len, len, &looks[i]))
			looks[i].state = VIRTUAL_OTHER;
	return err;
}

/*
 * The request for the words of a chunk whose head was read; of length 0 if it is none, or empty.
 * The thread's next chunk is that one's parent.
 */
static struct mem_request request_words(struct virtual_threads *v, const u8 *head, struct look *l,
					bool is_first)
{
	const struct java_objects *o = &v->objects;
	const u32 *f = v->fields;
	u64 size = java_part(head, CHUNK_BYTES, f[F_CHUNK_SIZE], 4);
	u64 sp = java_part(head, CHUNK_BYTES, f[F_CHUNK_SP], 4);
	u64 end = v->chunk_end ? java_part(head, CHUNK_BYTES, v->chunk_end, 4)
			       : size - java_part(head, CHUNK_BYTES, v->chunk_arguments, 4);
	u64 chunk = l->chunk;

	l->chunk = 0;
	if (java_part_class(o, head, CHUNK_BYTES) !=
		    java_class_value(o, v->classes[OF_CHUNK].klass) ||
	    end > size || sp > end || (sp < end && sp < CHUNK_METADATA_WORDS))
		return (struct mem_request){ 0 };
	l->chunk = java_part_reference(o, head, CHUNK_BYTES, f[F_CHUNK_PARENT]);
	if (is_first)
		l->sp = (u32)sp;
	if (sp == end)
		return (struct mem_request){ 0 };
	u64 words = end - sp + CHUNK_METADATA_WORDS;
	l->is_cut |= words > WORDS_MAX;
	words = words > WORDS_MAX ? WORDS_MAX : words;
	return (struct mem_request){ .addr = chunk + v->chunk_stack +
					     (sp - CHUNK_METADATA_WORDS) * 8,
				     .len = (u32)words * 8 };
}

/* Reads the next chunk of each thread that has one, with its words. */
static int read_chunks(struct virtual_threads *v, const struct vm_memory *j, struct look *looks,
		       size_t nr, bool is_first)
{
	u64 at[AT_ONCE];
	u8 heads[AT_ONCE][CHUNK_BYTES];
	struct mem_request requests[AT_ONCE];
	struct look *of[AT_ONCE];
	size_t nr_requests = 0, word = v->words.nr;

	for (size_t i = 0; i < nr; i++)
		at[i] = looks[i].is_kept ? looks[i].chunk : 0;
	int err = java_read_each(j->mem, at, nr, heads, CHUNK_BYTES);
	for (size_t i = 0; i < nr; i++) {
		struct look *l = &looks[i];
		if (!at[i])
			continue;
		struct mem_request request = request_words(v, heads[i], l, is_first);
		if (!request.len)
			continue;
		l->parts[l->nr_parts].first_word = (u32)v->words.nr;
		vec_reserve(&v->words, request.len / 8);
		v->words.nr += request.len / 8;
		of[nr_requests] = l;
		requests[nr_requests++] = request;
	}
	for (size_t i = 0; i < nr_requests; i++) {
		requests[i].buf = v->words.at + word;
		word += requests[i].len / 8;
	}
	int got = err ?: nr_requests ? mem_read_batch(j->mem, requests, nr_requests) : 0;
	for (size_t i = 0; got >= 0 && i < nr_requests; i++)
		if (requests[i].ok)
			of[i]->parts[of[i]->nr_parts++].nr_words = requests[i].len / 8;
		else
			of[i]->is_cut = true;
	return got < 0 ? got : 0;
}

static bool any_has_more(const struct look *looks, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (looks[i].is_kept && looks[i].chunk)
			return true;
	return false;
}

/* Walks the frames of all chunks of a thread. */
static void walk_parts(struct virtual_threads *v, struct hotspot *h, struct look *l)
{
	l->first_frame = (u32)v->frames.nr;
	l->is_complete = !l->is_cut && !l->chunk;
	for (u32 i = 0; i < l->nr_parts; i++) {
		u32 used = (u32)v->frames.nr - l->first_frame, nr = 0;
		vec_reserve(&v->frames, FRAMES_MAX);
		bool is_whole = chunk_walk(&v->code, h, v->words.at + l->parts[i].first_word,
					   l->parts[i].nr_words, v->frames.at + v->frames.nr,
					   FRAMES_MAX - used, &nr);
		v->frames.nr += nr;
		l->is_complete &= is_whole;
		if (!is_whole)
			return;
	}
}

/* From the threads to the tails of their continuations. */
static int find_tails(struct virtual_threads *v, const struct vm_memory *j, struct look *looks,
		      size_t nr)
{
	u64 at[AT_ONCE];

	for (size_t i = 0; i < nr; i++)
		at[i] = is_unmounted(&looks[i]) ? looks[i].cont : 0;
	int err = java_follow(j, &v->objects, at, nr, v->fields[F_CONT_TAIL]);
	for (size_t i = 0; i < nr; i++)
		looks[i].tail = looks[i].chunk = at[i];
	return err;
}

/* Drops the threads that are not as they were. */
static int check_again(struct virtual_threads *v, const struct vm_memory *j, struct look *looks,
		       size_t nr)
{
	struct look now[AT_ONCE];
	u64 at[AT_ONCE];
	u32 sp[AT_ONCE];

	memcpy(now, looks, nr * sizeof(now[0]));
	int err = read_threads(v, j, now, nr);
	err = err ?: find_tails(v, j, now, nr);
	for (size_t i = 0; i < nr; i++)
		at[i] = looks[i].is_kept && now[i].tail ? now[i].tail + v->fields[F_CHUNK_SP] : 0;
	err = err ?: java_read_each(j->mem, at, nr, sp, sizeof(u32));
	for (size_t i = 0; i < nr; i++)
		looks[i].is_kept &= now[i].raw_state == looks[i].raw_state &&
				    now[i].state == looks[i].state && now[i].id == looks[i].id &&
				    now[i].cont == looks[i].cont && now[i].tail == looks[i].tail &&
				    (!at[i] || sp[i] == looks[i].sp);
	return err;
}

/* A thread that has never run has no chunk, others must have a stack. */
static bool has_stack(const struct look *l)
{
	return l->nr_parts || (!l->tail && l->state == VIRTUAL_RUNNABLE);
}

/* Reads the frames of the threads that are not mounted. */
static int look_at_some(struct virtual_threads *v, struct hotspot *h, struct look *looks, size_t nr)
{
	const struct vm_memory *j = &h->jvm;
	int err = find_tails(v, j, looks, nr);

	for (size_t i = 0; i < nr; i++)
		looks[i].is_kept = is_unmounted(&looks[i]);
	v->words.nr = 0;
	for (u32 i = 0; !err && i < CHUNKS_MAX && (!i || any_has_more(looks, nr)); i++)
		err = read_chunks(v, j, looks, nr, !i);
	err = err ?: check_again(v, j, looks, nr);
	for (size_t i = 0; !err && i < nr; i++) {
		struct look *l = &looks[i];
		l->is_kept &= has_stack(l);
		if (!l->is_kept)
			continue;
		walk_parts(v, h, l);
		vec_push(&v->kept, (struct kept_thread){
					   l->id, l->name, l->state, l->share, l->first_frame,
					   (u32)v->frames.nr - l->first_frame, l->is_complete });
	}
	return err;
}

/* What the threads of some sets are doing; those that are not mounted are read. */
static int look_at_keys(struct virtual_threads *v, struct hotspot *h, const set_key_list *keys,
			const set_list *sets, double share, bool wants_stacks,
			struct virtual_counts *counts)
{
	struct look looks[AT_ONCE];
	int err = 0;

	for (size_t i = 0; !err && i < keys->nr; i += AT_ONCE) {
		size_t nr = keys->nr - i < AT_ONCE ? keys->nr - i : AT_ONCE;

		memset(looks, 0, sizeof(looks));
		for (size_t k = 0; k < nr; k++) {
			looks[k].object = keys->at[i + k].object;
			looks[k].share = share * sets->at[keys->at[i + k].owner].share;
		}
		err = read_threads(v, &h->jvm, looks, nr);
		for (size_t k = 0; k < nr; k++) {
			counts->nr[looks[k].state] += looks[k].share;
			counts->nr_read += looks[k].state != VIRTUAL_OTHER;
		}
		if (!err && wants_stacks)
			err = look_at_some(v, h, looks, nr);
		for (size_t k = 0; k < nr && wants_stacks; k++)
			counts->nr_changed += is_unmounted(&looks[k]) && !looks[k].is_kept;
	}
	return err;
}

/* Chooses slots of all tables and reads their elements. *share: what each slot stands for. */
static int read_slots(struct virtual_threads *v, const struct vm_memory *j, const set_list *sets,
		      u32 most, set_key_list *keys, double *share, u64 *nr_left_out)
{
	const struct set_fields f = set_fields(v);
	u64 total = 0;

	vec_each(set, sets)
		total += set->table.length;
	double per_slot = v->threads_per_slot > 0.01 ? v->threads_per_slot : 0.01;
	struct slot_choice c = slots_choose(total, (u32)(most / per_slot));
	auto_free struct set_slot *slots = xcalloc(c.nr + 1, sizeof(*slots));
	u64 before = 0;
	u32 set = 0;
	for (u32 i = 0; i < c.nr; i++) {
		u64 at = slots_chosen(&c, i);
		while (set + 1 < sets->nr && at - before >= sets->at[set].table.length)
			before += sets->at[set++].table.length;
		const struct java_table *t = &sets->at[set].table;
		slots[i] = (struct set_slot){ t->at, (u32)(at - before), t->length, set };
	}
	*share = c.stride;
	int err = java_slots_read(j, &v->objects, &f, slots, c.nr, keys, nr_left_out);
	if (!err && c.nr >= 16)
		v->threads_per_slot = 0.8 * v->threads_per_slot + 0.2 * (double)keys->nr / c.nr;
	return err;
}

/* A JVM whose threads have long stacks, or that forges them, does not hold our memory for good. */
static void free_large_buffers(struct virtual_threads *v)
{
	if (v->words.cap * sizeof(v->words.at[0]) > KEPT_BYTES)
		vec_fini(&v->words);
	if (v->frames.cap * sizeof(v->frames.at[0]) > KEPT_BYTES)
		vec_fini(&v->frames);
}

/* The text of an array of bytes of which the first ones were read. */
static char *text_of(const struct java_objects *o, const u8 *array, bool is_wide)
{
	u64 len = java_part(array, ARRAY_BYTES, o->array_length, 4);
	u64 most = ARRAY_BYTES - o->array_data;

	return java_text_decode(array + o->array_data, len < most ? len : most, is_wide,
				VIRTUAL_NAME_MAX - 1);
}

/*
 * Learns the names of the threads of this look. They change rarely, and are read again from time to
 * time. Most have none: their String is the same one.
 */
static int learn_names(struct virtual_threads *v, const struct vm_memory *j)
{
	const struct java_objects *o = &v->objects;
	u64 string_class = java_class_value(o, v->classes[OF_STRING].klass);
	u64 now = time_mono_ns();
	size_t nr = v->kept.nr;
	auto_free u64 *at = xcalloc(nr + 1, sizeof(*at));
	auto_free u8 *strings = xcalloc(nr + 1, STRING_BYTES);
	auto_free u8 *arrays = xcalloc(nr + 1, ARRAY_BYTES);

	if (now > v->names_ns + NAMES_NS || v->names.nr + nr > NAMES_MAX) {
		forget_names(v);
		v->names_ns = now;
		v->no_name = 0;
	}
	for (size_t i = 0; i < nr; i++) {
		const struct kept_thread *t = &v->kept.at[i];
		bool is_known = t->name_at == v->no_name || dict_find(&v->names, t->id);
		at[i] = is_known ? 0 : t->name_at;
	}
	int err = java_read_each(j->mem, at, nr, strings, STRING_BYTES);
	for (size_t i = 0; i < nr; i++) {
		const u8 *string = strings + i * STRING_BYTES;
		if (at[i] && java_part_class(o, string, STRING_BYTES) == string_class)
			at[i] = java_part_reference(o, string, STRING_BYTES,
						    v->fields[F_STRING_VALUE]);
		else
			at[i] = 0;
	}
	err = err ?: java_read_each(j->mem, at, nr, arrays, ARRAY_BYTES);
	for (size_t i = 0; !err && i < nr; i++) {
		const struct kept_thread *t = &v->kept.at[i];
		const u8 *string = strings + i * STRING_BYTES;
		if (!at[i])
			continue;
		char *text =
			text_of(o, arrays + i * ARRAY_BYTES,
				java_part(string, STRING_BYTES, v->fields[F_STRING_CODER], 1) == 1);
		u64 *slot = *text ? dict_add(&v->names, t->id) : NULL;
		if (!*text)
			v->no_name = t->name_at;
		if (!slot || *slot)
			free(text);
		else
			*slot = (u64)(uintptr_t)text;
	}
	return err;
}

/* Threads that changed while they were read were waiting, too: the others stand for them. */
static void visit_kept(struct virtual_threads *v, virtual_thread_fn visit, void *ctx,
		       const struct virtual_counts *counts)
{
	double seen = v->owed, kept = 0;

	for (int s = VIRTUAL_RUNNABLE; s < NR_VIRTUAL_STATES; s++)
		seen += counts->nr[s];
	vec_each(t, &v->kept)
		kept += t->share;
	v->owed = kept > 0 ? 0 : seen;
	vec_each(t, &v->kept) {
		struct virtual_thread out = { .id = t->id,
					      .state = t->state,
					      .share = t->share * seen / kept,
					      .frames = v->frames.at + t->first_frame,
					      .nr_frames = t->nr_frames,
					      .is_complete = t->is_complete };
		const u64 *name = dict_find(&v->names, t->id);
		copy_text(out.name, sizeof(out.name), name ? (const char *)(uintptr_t)*name : "");
		visit(&out, ctx);
	}
}

int virtual_threads_look(struct virtual_threads *v, struct hotspot *h, u32 most,
			 virtual_thread_fn visit, void *ctx, struct virtual_counts *counts)
{
	int err = prepare(v, h);
	set_list sets = { 0 };
	set_key_list keys = { 0 };
	double share = 1;

	*counts = (struct virtual_counts){ 0 };
	if (err)
		return err;
	v->kept.nr = v->frames.nr = 0;
	chunk_code_check(&v->code, h);
	err = list_sets(v, &h->jvm, &sets, &counts->nr_left_out);
	err = err ?: read_slots(v, &h->jvm, &sets, most, &keys, &share, &counts->nr_left_out);
	share *= set_keys_thin(&keys, KEYS_MAX);
	err = err ?: look_at_keys(v, h, &keys, &sets, share, visit != NULL, counts);
	if (!err && visit)
		err = learn_names(v, &h->jvm);
	if (!err && visit)
		visit_kept(v, visit, ctx, counts);
	free_large_buffers(v);
	vec_fini(&sets);
	vec_fini(&keys);
	return err;
}

struct virtual_totals virtual_counts_total(const struct virtual_counts *c)
{
	const double *nr = c->nr;
	double run = nr[VIRTUAL_MOUNTED] + nr[VIRTUAL_RUNNABLE] + nr[VIRTUAL_UNBLOCKED];
	double wait = nr[VIRTUAL_PARKED] + nr[VIRTUAL_BLOCKED] + nr[VIRTUAL_WAITS];
	double pinned = nr[VIRTUAL_PINNED];

	return (struct virtual_totals){ (u32)(run + wait + pinned + 0.5), (u32)(run + 0.5),
					(u32)(wait + 0.5), (u32)(pinned + 0.5) };
}
