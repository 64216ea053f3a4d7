/* SPDX-License-Identifier: Apache-2.0 */
/* The locks that virtual threads wait for, and their owners. */
#include "jvm/memory/java_locks.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"

#define HEAD_BYTES    16
#define OBJECT_BYTES  64 /* of a synchronizer, up to exclusiveOwnerThread */
#define SUPERS_MAX    16
#define CLASSES_MAX   4096
#define NEW_MAX       32  /* classes in one look */
#define MONITOR_BYTES 256 /* of an ObjectMonitor, up to _owner */
#define NO_THREAD_ID  2   /* smaller owners have a meaning of their own: ANONYMOUS_OWNER .. */

/* Words of an ObjectWaiter. */
enum {
	WAITER_THREAD = 2,
	WAITER_VTHREAD,
	WAITER_MONITOR,
	WAITER_WORDS
};

enum lock_kind {
	LOCK_NONE = 1,     /* an object, but no lock of java.util.concurrent */
	LOCK_SYNCHRONIZER, /* a subclass of AbstractOwnableSynchronizer */
	LOCK_STAMPED,
};

void lock_classes_fini(struct lock_classes *c)
{
	dict_fini(&c->by_klass);
	*c = (struct lock_classes){ 0 };
}

void lock_classes_begin(struct lock_classes *c, bool is_same)
{
	if (!is_same || c->by_klass.nr > CLASSES_MAX)
		lock_classes_fini(c);
	c->nr_new = NEW_MAX;
}

/* Whether it is a Klass: its mirror is a java.lang.Class. */
static bool is_klass(const struct vm_memory *j, const struct java_objects *o, u64 class, u64 klass)
{
	u64 handle, mirror;
	u8 head[HEAD_BYTES];

	if (!class || klass & 7 || vm_read(j, klass, KLASS_MIRROR, &handle) ||
	    mem_read_u64(j->mem, handle, &mirror) ||
	    mem_read(j->mem, java_root(o, mirror), head, sizeof(head)))
		return false;
	return java_part_class(o, head, sizeof(head)) == java_class_value(o, class);
}

static enum lock_kind read_kind(const struct vm_memory *j, const struct lock_layout *l, u64 klass)
{
	for (int i = 0; klass && i < SUPERS_MAX; i++) {
		if (klass == l->synchronizer)
			return LOCK_SYNCHRONIZER;
		if (klass == l->stamped)
			return LOCK_STAMPED;
		if (vm_read(j, klass, KLASS_SUPER, &klass))
			break;
	}
	return LOCK_NONE;
}

/* The kind of a class; 0 if it is none, or there are too many new ones. */
static enum lock_kind kind_of(const struct vm_memory *j, const struct java_objects *o,
			      const struct lock_layout *l, struct lock_classes *c, u64 klass,
			      u64 *nr_left_out)
{
	const u64 *known = dict_find(&c->by_klass, klass);

	if (known)
		return (enum lock_kind) * known;
	if (!c->nr_new) {
		++*nr_left_out;
		return 0;
	}
	c->nr_new--;
	enum lock_kind kind = is_klass(j, o, l->class, klass) ? read_kind(j, l, klass) : 0;
	*dict_add(&c->by_klass, klass) = kind;
	return kind;
}

static u64 klass_of(const struct java_objects *o, const void *object, size_t len)
{
	return o->klass_base + (java_part_class(o, object, len) << o->klass_shift);
}

/* Locks of java.util.concurrent. */
static int read_blockers(const struct vm_memory *j, const struct java_objects *o,
			 const struct lock_layout *l, struct lock_classes *classes,
			 struct lock_wait *waits, size_t nr, u64 *nr_left_out)
{
	auto_free u64 *at = xcalloc(nr + 1, sizeof(*at));
	auto_free u8 *objects = xcalloc(nr + 1, OBJECT_BYTES);

	for (size_t i = 0; i < nr; i++)
		at[i] = waits[i].thread ? waits[i].blocker : 0;
	int err = java_read_each(j->mem, at, nr, objects, OBJECT_BYTES);
	for (size_t i = 0; !err && i < nr; i++) {
		const u8 *object = objects + i * OBJECT_BYTES;
		if (!at[i])
			continue;
		u64 klass = klass_of(o, object, OBJECT_BYTES);
		enum lock_kind kind = kind_of(j, o, l, classes, klass, nr_left_out);
		if (kind != LOCK_SYNCHRONIZER && kind != LOCK_STAMPED)
			continue;
		waits[i].klass = klass;
		if (kind == LOCK_SYNCHRONIZER && l->owner)
			waits[i].owner = java_part_reference(o, object, OBJECT_BYTES, l->owner);
	}
	return err;
}

/*
 * The monitors of the ObjectWaiters. Which of the fields has the ObjectWaiter is not exported: it
 * is the one whose _vthread refers to the thread.
 */
static int find_monitors(const struct vm_memory *j, const struct java_objects *o,
			 const struct lock_wait *waits, size_t nr, u64 *monitors)
{
	auto_free u64 *at = xcalloc(nr * LOCK_WAITERS + 1, sizeof(*at));
	auto_free u64(*waiters)[WAITER_WORDS] = xcalloc(nr * LOCK_WAITERS + 1, sizeof(*waiters));

	for (size_t i = 0; i < nr * LOCK_WAITERS; i++) {
		const struct lock_wait *w = &waits[i / LOCK_WAITERS];
		u64 waiter = w->waiters[i % LOCK_WAITERS];
		at[i] = w->thread && !(waiter & 7) ? waiter : 0;
	}
	int err = java_read_each(j->mem, at, nr * LOCK_WAITERS, waiters, sizeof(*waiters));
	for (size_t i = 0; i < nr * LOCK_WAITERS; i++)
		at[i] = waiters[i][WAITER_THREAD] ? 0 : waiters[i][WAITER_VTHREAD];
	auto_free u64 *threads = xcalloc(nr * LOCK_WAITERS + 1, sizeof(*threads));
	err = err ?: java_read_each(j->mem, at, nr * LOCK_WAITERS, threads, sizeof(u64));
	for (size_t i = 0; !err && i < nr * LOCK_WAITERS; i++)
		if (threads[i] && java_root(o, threads[i]) == waits[i / LOCK_WAITERS].thread)
			monitors[i / LOCK_WAITERS] = waiters[i][WAITER_MONITOR];
	return err;
}

static int read_monitors(const struct vm_memory *j, const struct java_objects *o,
			 const struct lock_layout *l, struct lock_classes *classes,
			 struct lock_wait *waits, size_t nr, u64 *nr_left_out)
{
	const struct jvm_build *b = &j->build;
	auto_free u64 *at = xcalloc(nr + 1, sizeof(*at));
	auto_free u8 *monitors = xcalloc(nr + 1, MONITOR_BYTES);
	auto_free u8 *heads = xcalloc(nr + 1, HEAD_BYTES);

	if (!vm_has(b, MONITOR_OBJECT) || !vm_has(b, MONITOR_OWNER))
		return 0;
	int err = find_monitors(j, o, waits, nr, at);
	for (size_t i = 0; i < nr; i++)
		at[i] = waits[i].thread && waits[i].monitor ? waits[i].monitor : at[i];
	err = err ?: java_read_each(j->mem, at, nr, monitors, MONITOR_BYTES);
	for (size_t i = 0; i < nr; i++) {
		const u8 *monitor = monitors + i * MONITOR_BYTES;
		s64 owner = jvm_get(b, MONITOR_OWNER, monitor, MONITOR_BYTES);
		waits[i].owner_id = owner > NO_THREAD_ID ? (u64)owner : 0;
		at[i] = java_part(monitor, MONITOR_BYTES, (u32)b->fields[MONITOR_OBJECT].at, 8);
	}
	auto_free u64 *objects = xcalloc(nr + 1, sizeof(*objects));
	err = err ?: java_read_each(j->mem, at, nr, objects, sizeof(u64));
	for (size_t i = 0; i < nr; i++)
		objects[i] = java_root(o, objects[i]);
	err = err ?: java_read_each(j->mem, objects, nr, heads, HEAD_BYTES);
	for (size_t i = 0; !err && i < nr; i++) {
		u64 klass = objects[i] ? klass_of(o, heads + i * HEAD_BYTES, HEAD_BYTES) : 0;
		if (klass && kind_of(j, o, l, classes, klass, nr_left_out))
			waits[i].klass = klass;
		else if (at[i])
			waits[i].owner_id = 0;
	}
	return err;
}

int java_locks_read(const struct vm_memory *j, const struct java_objects *o,
		    const struct lock_layout *l, struct lock_classes *classes,
		    struct lock_wait *waits, size_t nr, u64 *nr_left_out)
{
	for (size_t i = 0; i < nr; i++)
		waits[i].klass = waits[i].owner = waits[i].owner_id = 0;
	int err = read_blockers(j, o, l, classes, waits, nr, nr_left_out);
	return err ?: read_monitors(j, o, l, classes, waits, nr, nr_left_out);
}

/* The Thread objects that the JavaThreads run that have these monitors; 0 if none does. */
static int find_owners(const struct vm_memory *j, const struct java_objects *o,
		       const u64 *java_threads, size_t nr_java_threads,
		       const struct lock_wait *waits, size_t nr, u64 *out)
{
	const struct jvm_field *f = j->build.fields;
	auto_free u64 *at = xcalloc(nr_java_threads + 1, sizeof(*at));
	auto_free u64 *ids = xcalloc(nr_java_threads + 1, sizeof(*ids));
	auto_free u64 *handles = xcalloc(nr + 1, sizeof(*handles));
	struct dict by_id = { 0 };

	if (!vm_has(&j->build, THREAD_OWNER_ID) || !vm_has(&j->build, THREAD_RUNS))
		return 0;
	for (size_t i = 0; i < nr_java_threads; i++)
		at[i] = java_threads[i] + f[THREAD_OWNER_ID].at;
	int err = java_read_each(j->mem, at, nr_java_threads, ids, sizeof(u64));
	for (size_t i = 0; i < nr_java_threads; i++)
		*dict_add(&by_id, ids[i]) = java_threads[i];
	for (size_t i = 0; i < nr; i++) {
		const u64 *owner = waits[i].owner_id ? dict_find(&by_id, waits[i].owner_id) : NULL;
		out[i] = owner ? *owner + f[THREAD_RUNS].at : 0;
	}
	dict_fini(&by_id);
	err = err ?: java_read_each(j->mem, out, nr, handles, sizeof(u64));
	err = err ?: java_read_each(j->mem, handles, nr, out, sizeof(u64));
	for (size_t i = 0; i < nr; i++)
		out[i] = java_root(o, out[i]);
	return err;
}

/* The names and numbers of threads; 0 instead of a number that cannot be read. */
static int read_names(const struct vm_memory *j, const struct java_objects *o,
		      const struct owner_layout *l, const u64 *threads, size_t nr, u64 *ids,
		      char **names)
{
	auto_free u64 *at = xcalloc(nr + 1, sizeof(*at));

	for (size_t i = 0; i < nr; i++)
		at[i] = threads[i] ? threads[i] + l->id : 0;
	int err = java_read_each(j->mem, at, nr, ids, sizeof(u64));
	memcpy(at, threads, nr * sizeof(*at));
	err = err ?: java_follow(j, o, at, nr, l->name);
	return err ?: java_strings_read(j, o, &l->strings, at, nr, l->name_max, names);
}

int java_owners_read(const struct vm_memory *j, const struct java_objects *o,
		     const struct owner_layout *l, const u64 *java_threads, size_t nr_java_threads,
		     const struct lock_wait *waits, size_t nr, char **out)
{
	auto_free u64 *threads = xcalloc(nr + 1, sizeof(*threads));
	auto_free u64 *ids = xcalloc(nr + 1, sizeof(*ids));
	int err = find_owners(j, o, java_threads, nr_java_threads, waits, nr, threads);

	for (size_t i = 0; i < nr; i++)
		threads[i] = waits[i].owner ?: threads[i];
	err = err ?: read_names(j, o, l, threads, nr, ids, out);
	for (size_t i = 0; !err && i < nr; i++) {
		u64 id = waits[i].owner_id ?: waits[i].owner ? ids[i] : 0;
		if (waits[i].owner_id && threads[i] && ids[i] != id) {
			free(out[i]); /* the JavaThread runs another thread by now */
			out[i] = NULL;
		}
		if (out[i] && *out[i])
			continue;
		free(out[i]);
		const u64 *known = id ? dict_find(l->names, id) : NULL;
		out[i] = known ? xstrdup((const char *)(uintptr_t)*known)
			 : id  ? xasprintf("VirtualThread-%llu", (unsigned long long)id)
			       : NULL;
	}
	return err;
}
