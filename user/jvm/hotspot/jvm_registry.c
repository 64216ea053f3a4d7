/* SPDX-License-Identifier: Apache-2.0 */
/* The JVMs of a recording. */
#include "jvm/hotspot/jvm_registry.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/time.h"
#include "base/vec.h"
#include "jvm/hotspot/hotspot.h"
#include "jvm/hotspot/hotspot_private.h"
#include "jvm/hotspot/thread_names.h"
#include "jvm/hotspot/virtual_threads.h"
#include "jvm/process/main_class.h"
#include "proc/status.h"

#define HOTSPOT_NAMES_BYTES (24u << 20) /* limit of the caches of naming.c for one JVM */
#define RETRY_FIRST_NS      (20 * NS_PER_MS)
#define UNLOADING_NS        (2 * NS_PER_SEC)
#define UNLOADS_AGAIN_NS    (60 * NS_PER_SEC)
#define LOOK_NS             NS_PER_SEC       /* at a JVM that does not unload classes */
#define RETRY_LAST_NS       (5 * NS_PER_SEC) /* limit of the doubled pause */
#define RETRY_SHARE         64 /* a pause lasts this many times as long as the previous try */

struct jvm_entry {
	struct process_id id;
	struct hotspot *hotspot; /* NULL while `err` is not 0 */
	struct thread_names *threads;
	struct virtual_threads *virtual;
	int err;          /* of the last try before the process ended */
	bool has_ended;   /* the process, according to hotspot_open */
	bool is_reported; /* `changed` has been called for this layout */
	u64 retry_ns, pause_ns;
	char *command;  /* NULL if it was not read */
	u64 command_ns; /* when it is read again after a failure */
	u64 unloads;    /* at the last look */
	/* time of the next look; when the JVM was last seen to have unloaded classes */
	u64 look_ns, unloaded_ns;
};

struct jvm_registry {
	VEC(struct jvm_entry) entries;
	u64 unloaded_ns; /* time at which a JVM was last seen to have unloaded classes */
};

struct jvm_registry *jvm_registry_new(void)
{
	return xcalloc(1, sizeof(struct jvm_registry));
}

static void entry_fini(struct jvm_entry *e)
{
	hotspot_free(e->hotspot);
	thread_names_free(e->threads);
	virtual_threads_free(e->virtual);
	free(e->command);
}

void jvm_registry_free(struct jvm_registry *all)
{
	if (!all)
		return;
	vec_each(e, &all->entries)
		entry_fini(e);
	vec_fini(&all->entries);
	free(all);
}

static struct jvm_entry *find(const struct jvm_registry *all, struct process_id id)
{
	vec_each(e, &all->entries)
		if (process_id_same(e->id, id))
			return e;
	return NULL;
}

static void read_command(struct jvm_entry *e)
{
	char text[MAIN_CLASS_COMMAND_MAX];
	u64 now = time_mono_ns();

	if (e->command || now < e->command_ns)
		return;
	int err = hotspot_java_command(e->hotspot, text, sizeof(text));
	e->command_ns = err == -ENOENT ? TIME_NEVER : now + LOOK_NS;
	if (!err)
		e->command = xstrdup(text);
}

static void try_open(struct jvm_entry *e)
{
	u64 start_ns = time_mono_ns();

	int err = hotspot_open(e->id, &e->hotspot);
	e->has_ended = err == -ESRCH;
	if (!e->has_ended || !e->err)
		e->err = err;
	if (!err)
		read_command(e);
	u64 now_ns = time_mono_ns(), least_ns = (now_ns - start_ns) * RETRY_SHARE;
	e->retry_ns = now_ns + (e->pause_ns > least_ns ? e->pause_ns : least_ns);
	e->pause_ns = 2 * e->pause_ns < RETRY_LAST_NS ? 2 * e->pause_ns : RETRY_LAST_NS;
}

void jvm_registry_add(struct jvm_registry *all, struct process_id id)
{
	if (find(all, id))
		return;

	struct jvm_entry e = { .id = id,
			       .threads = thread_names_new(),
			       .virtual = virtual_threads_new(),
			       .pause_ns = RETRY_FIRST_NS };
	try_open(&e);
	vec_push(&all->entries, e);
}

void jvm_registry_each_cache(const struct jvm_registry *all, cache_use_fn visit, void *ctx)
{
	struct cache_use names = { "java_names", all->entries.nr, 0,
				   all->entries.nr * HOTSPOT_NAMES_BYTES };
	struct cache_use virtual = { "virtual_threads", all->entries.nr, 0,
				     all->entries.nr * VIRTUAL_THREADS_BYTES };
	struct cache_use threads = { "thread_names", all->entries.nr, 0,
				     all->entries.nr * THREAD_NAMES_BYTES };

	vec_each(e, &all->entries) {
		names.bytes += e->hotspot ? hotspot_bytes(e->hotspot) : 0;
		threads.bytes += thread_names_bytes(e->threads);
		virtual.bytes += virtual_threads_bytes(e->virtual);
	}
	visit(&names, ctx);
	visit(&threads, ctx);
	visit(&virtual, ctx);
}

struct hotspot *jvm_registry_find(const struct jvm_registry *all, struct process_id id)
{
	const struct jvm_entry *e = find(all, id);

	return e ? e->hotspot : NULL;
}

struct virtual_threads *jvm_registry_virtual(const struct jvm_registry *all, struct process_id id)
{
	const struct jvm_entry *e = find(all, id);

	return e ? e->virtual : NULL;
}

const char *jvm_registry_command(const struct jvm_registry *all, struct process_id id)
{
	const struct jvm_entry *e = find(all, id);

	return e ? e->command : NULL;
}

enum legibility jvm_registry_legibility(const struct jvm_registry *all, struct process_id id,
					struct str *why)
{
	const struct jvm_entry *e = find(all, id);

	return e ? legibility_of(e->id, e->err, e->hotspot, why) : LEGIBLE;
}

const char *jvm_registry_thread_name(struct jvm_registry *all, struct process_id id, pid_t tid,
				     const char *comm)
{
	const struct jvm_entry *e = find(all, id);

	return e && e->hotspot ? thread_names_ask(e->threads, e->hotspot, tid, comm) : NULL;
}

/* Retries after any failure: the VM may start late, and rights and mappings change. */
static bool is_due(const struct jvm_entry *e)
{
	return e->err && !e->has_ended && time_mono_ns() >= e->retry_ns;
}

/*
 * Whether the JVM has unloaded classes since the last look, or, at the first look, at any time. A
 * JVM that has unloaded classes will do so again. Other JVMs are looked at less often, because each
 * look costs a switch to another process.
 */
static bool has_unloaded(struct jvm_entry *e)
{
	u64 now = time_mono_ns(), before = e->unloads ?: 1; /* hotspot_unloads without any */

	if (now < e->look_ns)
		return false;
	e->unloads = hotspot_unloads(e->hotspot);
	bool has = e->unloads > before;
	if (has)
		e->unloaded_ns = now;
	bool does_again = e->unloaded_ns && now - e->unloaded_ns < UNLOADS_AGAIN_NS;
	e->look_ns = does_again ? 0 : now + LOOK_NS;
	return has;
}

bool jvm_registry_unload_classes(const struct jvm_registry *all)
{
	return all->unloaded_ns && time_mono_ns() - all->unloaded_ns < UNLOADING_NS;
}

void jvm_registry_refresh(struct jvm_registry *all, jvm_changed_fn changed, void *ctx)
{
	vec_each(e, &all->entries) {
		if (is_due(e))
			try_open(e);
		if (!e->hotspot)
			continue;
		read_command(e);
		if (has_unloaded(e))
			all->unloaded_ns = time_mono_ns();
		if (hotspot_is_walk_due(e->hotspot) && hotspot_refresh(e->hotspot) > 0)
			e->is_reported = false;
		if (!e->is_reported)
			changed(e->id, e->hotspot, ctx);
		e->is_reported = true;
	}
}

void jvm_registry_remove(struct jvm_registry *all, struct process_id id)
{
	struct jvm_entry *e = find(all, id);

	if (!e)
		return;
	entry_fini(e);
	*e = all->entries.at[--all->entries.nr];
}
