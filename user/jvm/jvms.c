/* SPDX-License-Identifier: Apache-2.0 */
/* The JVMs of a recording. */
#include "jvm/jvms.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/time.h"
#include "base/vec.h"
#include "jvm/thread_names.h"
#include "proc/status.h"

#define RETRY_FIRST_NS (20 * NS_PER_MS)
#define UNLOADING_NS   (2 * NS_PER_SEC)
#define RETRY_LAST_NS  (5 * NS_PER_SEC) /* the pause doubles up to this, then we give up */

struct jvm_entry {
	pid_t pid;
	u64 start_ns;
	struct hotspot *hotspot; /* NULL while `err` is not 0 */
	struct thread_names *threads;
	int err;
	bool is_told; /* `changed` knows this layout */
	u64 retry_ns, pause_ns;
	u64 unloads;
};

struct jvms {
	VEC(struct jvm_entry) entries;
	u64 unloaded_ns; /* when one was seen to have unloaded classes */
};

struct jvms *jvms_new(void)
{
	return xcalloc(1, sizeof(struct jvms));
}

static void entry_fini(struct jvm_entry *e)
{
	hotspot_free(e->hotspot);
	thread_names_free(e->threads);
}

void jvms_free(struct jvms *all)
{
	if (!all)
		return;
	vec_each(e, &all->entries)
		entry_fini(e);
	vec_fini(&all->entries);
	free(all);
}

static struct jvm_entry *find(const struct jvms *all, pid_t pid, u64 start_ns)
{
	vec_each(e, &all->entries)
		if (e->pid == pid && proc_same_start(e->start_ns, start_ns))
			return e;
	return NULL;
}

static void try_open(struct jvm_entry *e)
{
	e->err = hotspot_open(e->pid, e->start_ns, &e->hotspot);
	e->retry_ns = time_mono_ns() + e->pause_ns;
	e->pause_ns *= 2;
}

void jvms_add(struct jvms *all, pid_t pid, u64 start_ns)
{
	if (find(all, pid, start_ns))
		return;

	struct jvm_entry e = { .pid = pid,
			       .start_ns = start_ns,
			       .threads = thread_names_new(),
			       .pause_ns = RETRY_FIRST_NS };
	try_open(&e);
	vec_push(&all->entries, e);
}

struct hotspot *jvms_find(const struct jvms *all, pid_t pid, u64 start_ns)
{
	const struct jvm_entry *e = find(all, pid, start_ns);

	return e ? e->hotspot : NULL;
}

const char *jvms_thread_name(struct jvms *all, pid_t pid, u64 start_ns, pid_t tid, const char *comm)
{
	const struct jvm_entry *e = find(all, pid, start_ns);

	return e && e->hotspot ? thread_names_ask(e->threads, e->hotspot, tid, comm) : NULL;
}

static bool is_due(const struct jvm_entry *e)
{
	return e->err == -EAGAIN && e->pause_ns <= RETRY_LAST_NS && time_mono_ns() >= e->retry_ns;
}

/* Since the last look, or ever: what has unloaded classes before will do it again. */
static bool has_unloaded(struct jvm_entry *e)
{
	u64 before = e->unloads ?: 1; /* hotspot_unloads of none */

	e->unloads = hotspot_unloads(e->hotspot);
	return e->unloads > before;
}

bool jvms_unload_classes(const struct jvms *all)
{
	return all->unloaded_ns && time_mono_ns() - all->unloaded_ns < UNLOADING_NS;
}

void jvms_refresh(struct jvms *all, jvm_changed_fn changed, void *ctx)
{
	vec_each(e, &all->entries) {
		if (is_due(e))
			try_open(e);
		if (!e->hotspot)
			continue;
		if (has_unloaded(e))
			all->unloaded_ns = time_mono_ns();
		if (hotspot_refresh(e->hotspot) > 0)
			e->is_told = false;
		if (!e->is_told)
			changed(e->pid, e->start_ns, e->hotspot, ctx);
		e->is_told = true;
	}
}

void jvms_remove(struct jvms *all, pid_t pid, u64 start_ns)
{
	struct jvm_entry *e = find(all, pid, start_ns);

	if (!e)
		return;
	entry_fini(e);
	*e = all->entries.at[--all->entries.nr];
}
