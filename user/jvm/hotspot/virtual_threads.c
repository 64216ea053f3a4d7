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
#include "jvm/virtual/strata.h"
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
	u32 stratum;
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
	struct strata strata;
	struct dict names; /* id -> char *, owned */
	u64 no_name;       /* the String that is the name of threads without one */
	u64 names_ns;
	struct chunk_code code;
	/* Of the next look, whose states are read at one moment: */
	thread_set_list planned;   /* the sets; their containers and names are of the last look */
	u16 owners[VIRTUAL_SLOTS]; /* numbers of sets, by slot */
	double planned_share;      /* what a slot stands for */
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
	vec_fini(&v->planned);
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
	       v->planned.cap * sizeof(v->planned.at[0]) + dict_bytes(&v->locks.by_klass) +
	       v->names.nr * 64 + v->code.blobs.cap * sizeof(v->code.blobs.at[0]) +
	       v->kept.cap * sizeof(v->kept.at[0]) + v->waits.cap * sizeof(v->waits.at[0]) +
	       v->heads.cap * sizeof(v->heads.at[0]) + v->frames.cap * sizeof(v->frames.at[0]) +
	       v->words.cap * sizeof(v->words.at[0]);
}

/* A thread that is looked at. */
struct look {
	u64 object, cont, chunk, id, name, scopes;
	struct lock_wait lock;
	const struct thread_set *set;
	/* What BPF has seen; NULL if nothing. Its meaning and kind: */
	const struct virtual_seen *seen;
	enum virtual_state seen_state;
	u32 stratum;
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
	bool has_gone_on; /* since BPF copied its stack */
};

static enum virtual_state meaning_of(const struct virtual_threads *v, u32 raw, bool has_carrier)
{
	enum virtual_state state = raw < VTHREAD_STATES ? v->layout.states[raw] : VIRTUAL_OTHER;

	return state >= VIRTUAL_RUNNABLE && has_carrier ? VIRTUAL_MOUNTED : state;
}

/* Whether the object is a virtual thread; fills in what it says. */
static bool parse_thread(const struct virtual_threads *v, const u8 *bytes, size_t len,
			 struct look *out)
{
	const struct java_objects *o = &v->layout.objects;
	const u32 *f = v->layout.fields;

	if (java_part_class(o, bytes, len) != vthread_class_value(&v->layout, OF_VIRTUAL))
		return false;
	out->raw_state = (u32)java_part(bytes, len, f[F_VIRTUAL_STATE], 4) & ~v->layout.suspended;
	out->state = meaning_of(v, out->raw_state,
				java_part_reference(o, bytes, len, f[F_VIRTUAL_CARRIER]));
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
	u64 at[AT_ONCE] = { 0 };
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

static bool is_of_monitor(enum virtual_state state)
{
	return state == VIRTUAL_BLOCKED || state == VIRTUAL_UNBLOCKED;
}

/* Finds the locks that the threads wait for. */
static int find_locks(struct virtual_threads *v, const struct vm_memory *j, struct look *looks,
		      size_t nr, u64 *nr_left_out)
{
	const struct lock_layout layout = vthread_locks(&v->layout);
	struct lock_wait waits[AT_ONCE];

	for (size_t i = 0; i < nr; i++) {
		enum virtual_state state = looks[i].state;
		bool is_blocked = is_of_monitor(state);
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

static bool waits_as_seen(const struct look *l)
{
	return is_unmounted(l) && l->id == l->seen->id && l->lock.blocker == l->seen->blocker &&
	       is_of_monitor(l->state) == is_of_monitor(l->seen_state);
}

static bool is_copied(const struct look *l)
{
	return l->seen && l->seen->nr_words;
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
		at[i] = looks[i].is_kept && now[i].tail && !is_copied(&looks[i])
				? now[i].tail + v->layout.fields[F_CHUNK_SP]
				: 0;
	err = err ?: java_read_each(j->mem, at, nr, sp, sizeof(u32));
	for (size_t i = 0; i < nr; i++) {
		struct look *l = &looks[i];
		if (!is_copied(l))
			l->is_kept &= waits_as_before(&now[i], l) && (!at[i] || sp[i] == l->sp);
		else if (l->has_gone_on || !waits_as_seen(&now[i]))
			l->lock.owner = l->lock.owner_id = 0;
	}
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
					       .stratum = l->stratum,
					       .container = l->set->container,
					       .container_name = l->set->name,
					       .state = l->seen ? l->seen_state : l->state,
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
		enum virtual_state state = l->seen ? l->seen_state : l->state;
		bool has_changed = !l->seen && wants_stacks && !l->is_kept;
		counts->nr[state] += l->share;
		counts->nr_read += state != VIRTUAL_OTHER;
		if (state >= VIRTUAL_RUNNABLE)
			strata_see(&v->strata, has_changed ? STRATUM_CHANGED : l->stratum,
				   l->share);
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
				.seen = l->seen,
				.seen_state = l->seen_state,
				.stratum = l->seen ? l->stratum : STRATUM_CHANGED,
				.share = l->share,
			};
	}
	return again;
}

/*
 * Threads count as BPF has seen them, with the stack that it copied. Without a copy only those
 * count that still wait in the same way.
 */
static void compare_with_seen(struct virtual_threads *v, struct look *looks, size_t nr,
			      const struct virtual_place *place)
{
	for (size_t i = 0; i < nr; i++) {
		struct look *l = &looks[i];
		bool is_same = l->seen && waits_as_seen(l);
		u32 words = l->seen ? l->seen->nr_words : 0;
		if (l->seen && !words && !is_same)
			l->state = VIRTUAL_OTHER;
		if (!words || l->seen_state < VIRTUAL_RUNNABLE)
			continue;
		if (l->id != l->seen->id)
			l->name = l->scopes = 0;
		l->has_gone_on = !is_same;
		l->id = l->seen->id;
		l->state = l->seen_state;
		l->cont = 0;
		l->lock = (struct lock_wait){ .thread = l->object,
					      .blocker = l->seen->blocker,
					      .monitor = l->seen->monitor };
		l->parts[0].first_word = (u32)v->words.nr;
		l->parts[l->nr_parts++].nr_words = words;
		vec_reserve(&v->words, words);
		memcpy(v->words.at + v->words.nr, place->words + l->seen->first_word, words * 8);
		v->words.nr += words;
	}
}

/*
 * Looks at some threads at once. Those that changed while they were read are looked at again:
 * threads with short waits change more often than others, which would get their weight.
 */
static int look_at_once(struct virtual_threads *v, struct hotspot *h, struct look *looks, size_t nr,
			bool wants_stacks, const struct virtual_place *place,
			struct virtual_counts *counts)
{
	int err = 0;

	for (u32 i = 0; !err && nr && i < TRIES_MAX; i++) {
		err = read_threads(v, &h->jvm, looks, nr);
		v->words.nr = 0;
		compare_with_seen(v, looks, nr, place);
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
			looks[k].stratum = STRATUM_STEADY;
			looks[k].share = share * looks[k].set->share;
		}
		err = look_at_once(v, h, looks, nr, wants_stacks, NULL, counts);
	}
	return err;
}

static void learn_density(double *per_slot, size_t nr_threads, u32 nr_slots)
{
	if (nr_slots >= 16)
		*per_slot = 0.8 * *per_slot + 0.2 * (double)nr_threads / nr_slots;
}

/* Reads the elements of some slots of all tables. *share: what each slot stands for. */
static int read_slots(const struct virtual_threads *v, const struct vm_memory *j,
		      const thread_set_list *sets, u32 most, double *per_slot, set_key_list *keys,
		      double *share, u64 *nr_left_out)
{
	const struct set_fields fields = vthread_sets(&v->layout);
	auto_free struct set_slot *slots = NULL;
	struct slot_choice c = thread_sets_choose(sets, most, *per_slot, &slots);

	*share = c.stride;
	int err = java_slots_read(j, &v->layout.objects, &fields, slots, c.nr, keys, nr_left_out);
	if (!err)
		learn_density(per_slot, keys->nr, c.nr);
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

static void visit_kept(struct virtual_threads *v, struct hotspot *h,
		       const struct virtual_look *look, char *const *owners,
		       char *const *containers)
{
	double factors[NR_STRATA];

	vec_each(t, &v->kept)
		strata_keep(&v->strata, t->stratum, t->share);
	strata_weigh(&v->strata, factors);
	for (size_t i = 0; i < v->kept.nr; i++) {
		struct virtual_thread out = thread_of(v, h, i);
		out.share *= factors[v->kept.at[i].stratum];
		out.owner = owners[i];
		out.executor =
			containers[i] && *containers[i] ? containers[i] : v->kept.at[i].container;
		look->visit(&out, look->ctx);
	}
}

static int visit_threads(struct virtual_threads *v, struct hotspot *h,
			 const struct virtual_look *look)
{
	auto_free char **owners = xcalloc(v->kept.nr + 1, sizeof(*owners));
	auto_free char **containers = xcalloc(v->kept.nr + 1, sizeof(*containers));
	int err = learn_names(v, &h->jvm);

	err = err ?: read_owners(v, h, owners);
	err = err ?: read_containers(v, h, containers);
	if (!err)
		visit_kept(v, h, look, owners, containers);
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

/* Looks at the threads that BPF has seen in these sets. */
static int look_at_seen(struct virtual_threads *v, struct hotspot *h,
			const struct virtual_place *place, const thread_set_list *sets,
			struct virtual_counts *counts)
{
	struct look looks[AT_ONCE];
	int err = 0;

	learn_density(&v->threads_per_slot[0], place->nr_threads, place->nr_slots);
	for (u32 i = 0; !err && i < place->nr_threads;) {
		size_t nr = 0;
		for (; nr < AT_ONCE && i < place->nr_threads; i++) {
			const struct virtual_seen *seen = &place->threads[i];
			const struct thread_set *set = &sets->at[v->owners[seen->slot]];
			u32 raw = seen->state & ~v->layout.suspended;
			enum virtual_state state = meaning_of(v, raw, seen->has_carrier);
			u32 kind = is_of_monitor(state) ? VIRTUAL_BLOCKED : state;
			if (set->table.at)
				looks[nr++] = (struct look){
					.object = seen->object,
					.set = set,
					.seen = seen,
					.seen_state = state,
					.stratum = stratum_of_wait(kind,
								   seen->blocker ?: seen->monitor),
					.share = v->planned_share * set->share,
				};
		}
		err = look_at_once(v, h, looks, nr, true, place, counts);
	}
	return err;
}

/* Looks at the threads that belong to no scope. */
static int look_at_containers(struct virtual_threads *v, struct hotspot *h,
			      const struct virtual_look *look, struct virtual_counts *counts)
{
	thread_set_list sets = { 0 }, seen = { 0 }, all = { 0 };
	int err = thread_sets_list(&h->jvm, &v->layout, &sets, &counts->nr_left_out);

	vec_each(set, &sets)
		vec_push(&all, *set);
	if (!err && look->seen && !look->seen->is_partial) {
		thread_sets_take(&v->planned, &sets, &seen);
		err = look_at_seen(v, h, look->seen, &seen, counts);
	}
	counts->nr_late = err ? 0 : sets.nr;
	if (!err && (sets.nr || !seen.nr))
		err = look_at_sets(v, h, look, &sets, &v->threads_per_slot[0], counts);
	vec_fini(&v->planned);
	v->planned = all;
	vec_fini(&seen);
	vec_fini(&sets);
	return err;
}

int virtual_threads_look(struct virtual_threads *v, struct hotspot *h,
			 const struct virtual_look *look, struct virtual_counts *counts)
{
	int err = vthread_layout_update(&v->layout, &h->jvm, state_names, ARRAY_SIZE(state_names));
	u64 unloads = hotspot_unloads(h);

	*counts = (struct virtual_counts){ 0 };
	if (err)
		return err;
	strata_begin_look(&v->strata);
	v->kept.nr = v->waits.nr = v->frames.nr = v->heads.nr = 0;
	v->wants_locks = look->locks;
	chunk_code_check(&v->code, h);
	lock_classes_begin(&v->locks, unloads == v->unloads);
	v->unloads = unloads;
	err = look_at_containers(v, h, look, counts);
	if (!err && thread_scopes_exist(&v->layout))
		err = look_at_scopes(v, h, look, counts);
	if (!err && look->visit)
		err = visit_threads(v, h, look);
	free_large_buffers(v);
	return err;
}

bool virtual_threads_plan(struct virtual_threads *v, u32 most, struct virtual_place *out)
{
	const struct java_objects *o = &v->layout.objects;
	auto_free struct set_slot *slots = NULL;
	struct slot_choice c =
		thread_sets_choose(&v->planned, most, v->threads_per_slot[0], &slots);

	if (!c.nr || c.nr > VIRTUAL_SLOTS)
		return false;
	v->planned_share = c.stride;
	vthread_place(&v->layout, out);
	out->metadata = CHUNK_METADATA_WORDS;
	out->nr_slots = c.nr;
	/* From any slot on: BPF has room for a limited number of stacks. */
	u32 first = (u32)(drand48() * c.nr);
	for (u32 i = 0; i < c.nr; i++) {
		const struct set_slot *slot = &slots[(first + i) % c.nr];
		out->slots[i] =
			slot->table + o->array_references + (u64)slot->index * o->reference_bytes;
		v->owners[i] = (u16)slot->owner;
	}
	return true;
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
