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
#include "jvm/virtual/vthread_layout.h"

#define AT_ONCE      64 /* threads: the shorter the reads take, the fewer have changed */
#define THREAD_BYTES 512
#define CHUNK_BYTES  96
#define CHUNKS_MAX   8    /* of one thread */
#define WORDS_MAX    4096 /* of one chunk; larger ones are cut */
#define FRAMES_MAX   1024
#define KEYS_MAX     512          /* threads of a look; among more some are chosen */
#define KEPT_BYTES   (256u << 10) /* of buffers between looks */
#define TRIES_MAX    4            /* to read a thread that changes meanwhile */
#define UNPAID_MAX   8            /* looks after which others stand for threads that changed */
#define NESTED_MAX   4            /* scopes of threads of scopes .. */
#define NAMES_MAX    4096
#define NAMES_NS     (2 * NS_PER_SEC)

static const struct vthread_state state_names[] = {
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
	bool is_again;
	const char *container; /* as in struct thread_set */
	u64 container_name;
	enum virtual_state state;
	double share;
	u32 first_frame, nr_frames;
	bool is_complete;
};

struct virtual_threads {
	struct vthread_layout layout;
	struct lock_classes locks;
	u64 unloads;                /* at the last look */
	double threads_per_slot[2]; /* of sets of containers; of those of scopes */
	/* Of threads read at once, and of those that had changed and were read again: */
	double owed[2];    /* threads seen in earlier looks, in which none of them was read */
	double changed;    /* threads of this look that had changed */
	u32 nr_unpaid;     /* looks since the last one that read a thread again */
	struct dict names; /* id -> char *, owned */
	u64 no_name;       /* the String that is the name of threads without one */
	u64 names_ns;
	struct chunk_code code;
	/* Of the look under way: */
	VEC(struct kept_thread) kept;
	VEC(struct lock_wait) waits; /* of those threads */
	VEC(struct user_frame) frames;
	VEC(u64) words;
	VEC(struct scope_head) heads;
	bool wants_locks;
};

struct virtual_threads *virtual_threads_new(void)
{
	struct virtual_threads *v = xcalloc(1, sizeof(*v));

	v->threads_per_slot[0] = 0.5;
	v->threads_per_slot[1] = 0.1; /* a table has 16 slots, and few tasks */
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
	vthread_layout_fini(&v->layout);
	chunk_code_fini(&v->code);
	lock_classes_fini(&v->locks);
	forget_names(v);
	vec_fini(&v->kept);
	vec_fini(&v->waits);
	vec_fini(&v->heads);
	vec_fini(&v->frames);
	vec_fini(&v->words);
	free(v);
}

const char *virtual_threads_why_not(const struct virtual_threads *v)
{
	return *v->layout.why ? v->layout.why : NULL;
}

bool virtual_threads_are_listed(const struct virtual_threads *v)
{
	return v->layout.is_ready;
}

size_t virtual_threads_bytes(const struct virtual_threads *v)
{
	return sizeof(*v) + dict_bytes(&v->names) + dict_bytes(&v->code.by_pc) +
	       dict_bytes(&v->locks.by_klass) + v->names.nr * 64 +
	       v->code.blobs.cap * sizeof(v->code.blobs.at[0]) +
	       v->kept.cap * sizeof(v->kept.at[0]) + v->waits.cap * sizeof(v->waits.at[0]) +
	       v->heads.cap * sizeof(v->heads.at[0]) + v->frames.cap * sizeof(v->frames.at[0]) +
	       v->words.cap * sizeof(v->words.at[0]);
}

/* A thread that is looked at. */
struct look {
	u64 object, cont, chunk, id, name, scopes;
	struct lock_wait lock;
	const struct thread_set *set;
	bool is_again; /* it changed while it was read */
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

/* Whether the object is a virtual thread; fills in what it says. */
static bool parse_thread(const struct virtual_threads *v, const u8 *bytes, size_t len,
			 struct look *out)
{
	const struct java_objects *o = &v->layout.objects;
	const u32 *f = v->layout.fields;

	if (java_part_class(o, bytes, len) != vthread_class_value(&v->layout, OF_VIRTUAL))
		return false;
	out->raw_state = (u32)java_part(bytes, len, f[F_VIRTUAL_STATE], 4) & ~v->layout.suspended;
	out->state =
		out->raw_state < VTHREAD_STATES ? v->layout.states[out->raw_state] : VIRTUAL_OTHER;
	out->cont = java_part_reference(o, bytes, len, f[F_VIRTUAL_CONT]);
	out->id = java_part(bytes, len, f[F_THREAD_ID], 8);
	out->name = java_part_reference(o, bytes, len, f[F_THREAD_NAME]);
	out->scopes =
		f[F_THREAD_SCOPES] ? java_part_reference(o, bytes, len, f[F_THREAD_SCOPES]) : 0;
	out->lock.thread = out->object;
	out->lock.blocker =
		f[F_THREAD_BLOCKER] ? java_part_reference(o, bytes, len, f[F_THREAD_BLOCKER]) : 0;
	for (size_t i = 0; i < LOCK_WAITERS; i++)
		out->lock.waiters[i] =
			v->layout.waiters[i] ? java_part(bytes, len, v->layout.waiters[i], 8) : 0;
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
	u32 len = vthread_bytes(&v->layout);
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
	const struct java_objects *o = &v->layout.objects;
	const u32 *f = v->layout.fields;
	u64 size = java_part(head, CHUNK_BYTES, f[F_CHUNK_SIZE], 4);
	u64 sp = java_part(head, CHUNK_BYTES, f[F_CHUNK_SP], 4);
	u64 end = v->layout.chunk_end
			  ? java_part(head, CHUNK_BYTES, v->layout.chunk_end, 4)
			  : size - java_part(head, CHUNK_BYTES, v->layout.chunk_arguments, 4);
	u64 chunk = l->chunk;

	l->chunk = 0;
	if (java_part_class(o, head, CHUNK_BYTES) != vthread_class_value(&v->layout, OF_CHUNK) ||
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
	return (struct mem_request){ .addr = chunk + v->layout.chunk_stack +
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
	int err = java_follow(j, &v->layout.objects, at, nr, v->layout.fields[F_CONT_TAIL]);
	for (size_t i = 0; i < nr; i++)
		looks[i].tail = looks[i].chunk = at[i];
	return err;
}

/* Finds the locks that the threads wait for. */
static int find_locks(struct virtual_threads *v, const struct vm_memory *j, struct look *looks,
		      size_t nr, u64 *nr_left_out)
{
	const struct lock_layout layout = vthread_locks(&v->layout);
	struct lock_wait waits[AT_ONCE];

	for (size_t i = 0; i < nr; i++) {
		enum virtual_state state = looks[i].state;
		bool is_blocked = state == VIRTUAL_BLOCKED || state == VIRTUAL_UNBLOCKED;
		waits[i] = looks[i].lock;
		if (!is_blocked && state != VIRTUAL_PARKED)
			waits[i].thread = 0;
		else if (is_blocked)
			waits[i].blocker = 0;
		else
			memset(waits[i].waiters, 0, sizeof(waits[i].waiters));
	}
	int err =
		java_locks_read(j, &v->layout.objects, &layout, &v->locks, waits, nr, nr_left_out);
	for (size_t i = 0; i < nr; i++) {
		looks[i].lock.klass = waits[i].klass;
		looks[i].lock.owner = waits[i].owner;
		looks[i].lock.owner_id = waits[i].owner_id;
	}
	return err;
}

static bool waits_as_before(const struct look *now, const struct look *then)
{
	return now->raw_state == then->raw_state && now->state == then->state &&
	       now->id == then->id && now->cont == then->cont && now->tail == then->tail &&
	       (!then->lock.klass ||
		(now->lock.blocker == then->lock.blocker &&
		 !memcmp(now->lock.waiters, then->lock.waiters, sizeof(now->lock.waiters))));
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
		at[i] = looks[i].is_kept && now[i].tail ? now[i].tail + v->layout.fields[F_CHUNK_SP]
							: 0;
	err = err ?: java_read_each(j->mem, at, nr, sp, sizeof(u32));
	for (size_t i = 0; i < nr; i++)
		looks[i].is_kept &=
			waits_as_before(&now[i], &looks[i]) && (!at[i] || sp[i] == looks[i].sp);
	return err;
}

/* A thread that has never run has no chunk, others must have a stack. */
static bool has_stack(const struct look *l)
{
	return l->nr_parts || (!l->tail && l->state == VIRTUAL_RUNNABLE);
}

/* Reads the frames of the threads that are not mounted. */
static int look_at_some(struct virtual_threads *v, struct hotspot *h, struct look *looks, size_t nr,
			u64 *nr_left_out)
{
	const struct vm_memory *j = &h->jvm;
	int err = find_tails(v, j, looks, nr);

	for (size_t i = 0; i < nr; i++)
		looks[i].is_kept = is_unmounted(&looks[i]);
	v->words.nr = 0;
	for (u32 i = 0; !err && i < CHUNKS_MAX && (!i || any_has_more(looks, nr)); i++)
		err = read_chunks(v, j, looks, nr, !i);
	if (!err && v->wants_locks)
		err = find_locks(v, j, looks, nr, nr_left_out);
	err = err ?: check_again(v, j, looks, nr);
	for (size_t i = 0; !err && i < nr; i++) {
		struct look *l = &looks[i];
		l->is_kept &= has_stack(l);
		if (!l->is_kept)
			continue;
		walk_parts(v, h, l);
		vec_push(&v->kept,
			 (struct kept_thread){ .id = l->id,
					       .name_at = l->name,
					       .is_again = l->is_again,
					       .container = l->set->container,
					       .container_name = l->set->name,
					       .state = l->state,
					       .share = l->share,
					       .first_frame = l->first_frame,
					       .nr_frames = (u32)v->frames.nr - l->first_frame,
					       .is_complete = l->is_complete });
		vec_push(&v->waits, l->lock);
	}
	return err;
}

static void count_looks(struct virtual_threads *v, const struct look *looks, size_t nr,
			bool wants_stacks, struct virtual_counts *counts)
{
	for (size_t i = 0; i < nr; i++) {
		const struct look *l = &looks[i];
		counts->nr[l->state] += l->share;
		counts->nr_read += l->state != VIRTUAL_OTHER;
		if (wants_stacks && is_unmounted(l) && !l->is_kept)
			v->changed += l->share;
		if (l->scopes)
			vec_push(&v->heads, (struct scope_head){ l->scopes, l->share });
	}
}

/* Moves those that changed to the front, to be read again, and returns their number. */
static size_t keep_changed(struct look *looks, size_t nr)
{
	size_t again = 0;

	for (size_t i = 0; i < nr; i++) {
		const struct look *l = &looks[i];
		if (is_unmounted(l) && !l->is_kept)
			looks[again++] = (struct look){
				.object = l->object,
				.set = l->set,
				.is_again = true,
				.share = l->share,
			};
	}
	return again;
}

/*
 * Looks at some threads at once. Those that changed while they were read are looked at again:
 * threads with short waits change more often than others, which would get their weight.
 */
static int look_at_once(struct virtual_threads *v, struct hotspot *h, struct look *looks, size_t nr,
			bool wants_stacks, struct virtual_counts *counts)
{
	int err = 0;

	for (u32 i = 0; !err && nr && i < TRIES_MAX; i++) {
		err = read_threads(v, &h->jvm, looks, nr);
		if (!err && wants_stacks)
			err = look_at_some(v, h, looks, nr, &counts->nr_left_out);
		if (!i)
			count_looks(v, looks, nr, wants_stacks, counts);
		nr = wants_stacks ? keep_changed(looks, nr) : 0;
	}
	counts->nr_changed += nr;
	return err;
}

/* What the threads of some sets are doing; those that are not mounted are read. */
static int look_at_keys(struct virtual_threads *v, struct hotspot *h, const set_key_list *keys,
			const thread_set_list *sets, double share, bool wants_stacks,
			struct virtual_counts *counts)
{
	struct look looks[AT_ONCE];
	int err = 0;

	for (size_t i = 0; !err && i < keys->nr; i += AT_ONCE) {
		size_t nr = keys->nr - i < AT_ONCE ? keys->nr - i : AT_ONCE;

		memset(looks, 0, sizeof(looks));
		for (size_t k = 0; k < nr; k++) {
			looks[k].object = keys->at[i + k].object;
			looks[k].set = &sets->at[keys->at[i + k].owner];
			looks[k].share = share * looks[k].set->share;
		}
		err = look_at_once(v, h, looks, nr, wants_stacks, counts);
	}
	return err;
}

/* Chooses slots of all tables and reads their elements. *share: what each slot stands for. */
static int read_slots(const struct virtual_threads *v, const struct vm_memory *j,
		      const thread_set_list *sets, u32 most, double *per_slot, set_key_list *keys,
		      double *share, u64 *nr_left_out)
{
	const struct set_fields fields = vthread_sets(&v->layout);
	u64 total = 0;

	vec_each(set, sets)
		total += set->table.length;
	struct slot_choice c =
		slots_choose(total, (u32)(most / (*per_slot > 0.01 ? *per_slot : 0.01)));
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
	int err = java_slots_read(j, &v->layout.objects, &fields, slots, c.nr, keys, nr_left_out);
	if (!err && c.nr >= 16)
		*per_slot = 0.8 * *per_slot + 0.2 * (double)keys->nr / c.nr;
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

/*
 * Learns the names of the threads of this look. They change rarely, and are read again from time to
 * time. Most have none: their String is the same one.
 */
static int learn_names(struct virtual_threads *v, const struct vm_memory *j)
{
	const struct string_fields fields = vthread_strings(&v->layout);
	u64 now = time_mono_ns();
	size_t nr = v->kept.nr;
	auto_free u64 *at = xcalloc(nr + 1, sizeof(*at));
	auto_free char **texts = xcalloc(nr + 1, sizeof(*texts));

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
	int err = java_strings_read(j, &v->layout.objects, &fields, at, nr, VIRTUAL_NAME_MAX - 1,
				    texts);
	for (size_t i = 0; i < nr; i++) {
		const struct kept_thread *t = &v->kept.at[i];
		char *text = texts[i];
		if (!text)
			continue;
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

/* The owners of the locks that the threads of this look wait for, as NULL or owned texts. */
static int read_owners(struct virtual_threads *v, const struct hotspot *h, char **out)
{
	const struct owner_layout layout = { v->layout.fields[F_THREAD_NAME],
					     v->layout.fields[F_THREAD_ID], VIRTUAL_NAME_MAX - 1,
					     vthread_strings(&v->layout), &v->names };
	struct java_threads list = { 0 };
	bool has_monitors = false;

	vec_each(w, &v->waits)
		has_monitors |= w->owner_id != 0;
	int err = has_monitors ? hotspot_list_threads(&h->jvm, &list) : 0;
	auto_free u64 *java_threads = list.at;
	err = err == -ENOENT ? 0 : err;
	return err
		       ?: java_owners_read(&h->jvm, &v->layout.objects, &layout, java_threads,
					   list.nr, v->waits.at, v->waits.nr, out);
}

/* Names of containers that have one of their own, as NULL or owned texts. */
static int read_containers(const struct virtual_threads *v, const struct hotspot *h, char **out)
{
	const struct string_fields strings = vthread_strings(&v->layout);
	auto_free u64 *at = xcalloc(v->kept.nr + 1, sizeof(*at));

	for (size_t i = 0; i < v->kept.nr; i++)
		at[i] = v->kept.at[i].container_name;
	int err = java_strings_read(&h->jvm, &v->layout.objects, &strings, at, v->kept.nr,
				    VIRTUAL_NAME_MAX - 1, out);
	/* "java.util.concurrent.ThreadPoolExecutor@4e50df2e": one of many */
	for (size_t i = 0; i < v->kept.nr; i++)
		if (out[i])
			out[i][strcspn(out[i], "@")] = '\0';
	return err;
}

static struct virtual_thread thread_of(const struct virtual_threads *v, struct hotspot *h, size_t i)
{
	const struct kept_thread *t = &v->kept.at[i];
	struct virtual_thread out = { .id = t->id,
				      .state = t->state,
				      .share = t->share,
				      .frames = v->frames.at + t->first_frame,
				      .nr_frames = t->nr_frames,
				      .is_complete = t->is_complete };
	const u64 *name = dict_find(&v->names, t->id);
	u64 klass = v->waits.at[i].klass;

	copy_text(out.name, sizeof(out.name), name ? (const char *)(uintptr_t)*name : "");
	if (klass && hotspot_name_class(h, klass, v->unloads, &out.lock))
		out.lock = NULL;
	return out;
}

/*
 * How many threads each thread that was read stands for, times its share. Threads that changed were
 * waiting, too. Those that were read again stand for them: they have short waits as well. If there
 * are none for some looks, the others do.
 */
static void weigh_kept(struct virtual_threads *v, const struct virtual_counts *counts,
		       double factors[2])
{
	double seen[2] = { v->owed[0] - v->changed, v->owed[1] + v->changed }, kept[2] = { 0 };

	for (int s = VIRTUAL_RUNNABLE; s < NR_VIRTUAL_STATES; s++)
		seen[0] += counts->nr[s];
	vec_each(t, &v->kept)
		kept[t->is_again] += t->share;
	v->nr_unpaid = kept[1] > 0 || seen[1] <= 0 ? 0 : v->nr_unpaid + 1;
	if (v->nr_unpaid >= UNPAID_MAX && kept[0] > 0) {
		seen[0] += seen[1];
		seen[1] = 0;
	}
	for (int i = 0; i < 2; i++) {
		factors[i] = kept[i] > 0 ? seen[i] / kept[i] : 0;
		v->owed[i] = kept[i] > 0 ? 0 : seen[i];
	}
}

static void visit_kept(struct virtual_threads *v, struct hotspot *h,
		       const struct virtual_look *look, const struct virtual_counts *counts,
		       char *const *owners, char *const *containers)
{
	double factors[2];

	weigh_kept(v, counts, factors);
	for (size_t i = 0; i < v->kept.nr; i++) {
		struct virtual_thread out = thread_of(v, h, i);
		out.share *= factors[v->kept.at[i].is_again];
		out.owner = owners[i];
		out.executor =
			containers[i] && *containers[i] ? containers[i] : v->kept.at[i].container;
		look->visit(&out, look->ctx);
	}
}

static int visit_threads(struct virtual_threads *v, struct hotspot *h,
			 const struct virtual_look *look, const struct virtual_counts *counts)
{
	auto_free char **owners = xcalloc(v->kept.nr + 1, sizeof(*owners));
	auto_free char **containers = xcalloc(v->kept.nr + 1, sizeof(*containers));
	int err = learn_names(v, &h->jvm);

	err = err ?: read_owners(v, h, owners);
	err = err ?: read_containers(v, h, containers);
	if (!err)
		visit_kept(v, h, look, counts, owners, containers);
	for (size_t i = 0; i < v->kept.nr; i++) {
		free(owners[i]);
		free(containers[i]);
	}
	return err;
}

/* The scopes of platform threads. */
static int find_heads(struct virtual_threads *v, const struct vm_memory *j)
{
	const struct jvm_field *object = &j->build.fields[THREAD_OBJECT];
	struct java_threads list = { 0 };

	if (!object->width)
		return 0;
	int err = hotspot_list_threads(j, &list);
	auto_free u64 *at = list.at;
	auto_free u64 *handles = xcalloc(list.nr + 1, sizeof(*handles));
	for (size_t i = 0; i < list.nr; i++)
		at[i] += object->at;
	err = err ?: java_read_each(j->mem, at, list.nr, handles, sizeof(u64));
	err = err ?: java_read_each(j->mem, handles, list.nr, at, sizeof(u64));
	for (size_t i = 0; i < list.nr; i++)
		at[i] = java_root(&v->layout.objects, at[i]);
	err = err
		      ?: java_follow(j, &v->layout.objects, at, list.nr,
				     v->layout.fields[F_THREAD_SCOPES]);
	for (size_t i = 0; !err && i < list.nr; i++)
		if (at[i])
			vec_push(&v->heads, (struct scope_head){ at[i], 1 });
	return err == -ENOENT ? 0 : err;
}

/* Looks at the threads of some sets; v->heads gets the scopes that these threads have opened. */
static int look_at_sets(struct virtual_threads *v, struct hotspot *h,
			const struct virtual_look *look, const thread_set_list *sets,
			double *per_slot, struct virtual_counts *counts)
{
	set_key_list keys = { 0 };
	double share = 1;
	int err = read_slots(v, &h->jvm, sets, look->most, per_slot, &keys, &share,
			     &counts->nr_left_out);

	u32 keys_most = look->most < KEYS_MAX / 4 ? look->most * 4 : KEYS_MAX;
	share *= set_keys_thin(&keys, keys_most);
	err = err ?: look_at_keys(v, h, &keys, sets, share, look->visit != NULL, counts);
	vec_fini(&keys);
	return err;
}

/* The threads of the scopes in v->heads, those of scopes that these have opened, and so on. */
static int look_at_scopes(struct virtual_threads *v, struct hotspot *h,
			  const struct virtual_look *look, struct virtual_counts *counts)
{
	thread_set_list sets = { 0 };
	int err = find_heads(v, &h->jvm);

	for (int i = 0; !err && v->heads.nr && i < NESTED_MAX; i++) {
		sets.nr = 0;
		err = thread_scopes_list(&h->jvm, &v->layout, v->heads.at, v->heads.nr, &sets,
					 &counts->nr_left_out);
		v->heads.nr = 0;
		if (!err && sets.nr)
			err = look_at_sets(v, h, look, &sets, &v->threads_per_slot[1], counts);
	}
	counts->nr_left_out += v->heads.nr;
	vec_fini(&sets);
	return err;
}

int virtual_threads_look(struct virtual_threads *v, struct hotspot *h,
			 const struct virtual_look *look, struct virtual_counts *counts)
{
	int err = vthread_layout_update(&v->layout, &h->jvm, state_names, ARRAY_SIZE(state_names));
	thread_set_list sets = { 0 };
	u64 unloads = hotspot_unloads(h);

	*counts = (struct virtual_counts){ 0 };
	if (err)
		return err;
	v->changed = 0;
	v->kept.nr = v->waits.nr = v->frames.nr = v->heads.nr = 0;
	v->wants_locks = look->locks;
	chunk_code_check(&v->code, h);
	lock_classes_begin(&v->locks, unloads == v->unloads);
	v->unloads = unloads;
	err = thread_sets_list(&h->jvm, &v->layout, &sets, &counts->nr_left_out);
	err = err ?: look_at_sets(v, h, look, &sets, &v->threads_per_slot[0], counts);
	if (!err && thread_scopes_exist(&v->layout))
		err = look_at_scopes(v, h, look, counts);
	if (!err && look->visit)
		err = visit_threads(v, h, look, counts);
	free_large_buffers(v);
	vec_fini(&sets);
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
