/* SPDX-License-Identifier: Apache-2.0 */
/* The unwinder's tables. */
#include "capture/unwind/tables.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/dict.h"
#include "base/log.h"
#include "base/time.h"
#include "capture/unwind/extents.h"
#include "capture/unwind/modules.h"
#include "elf/rowcache.h"
#include "proc/status.h"

#define USER_SHARE 4 /* a user's rows get at most 1/4 of the words if other users need more */
#define IDLE_NS    (5 * NS_PER_SEC) /* processes not sampled for so long may be dropped */

/* A process's entry for BPF, and the data that it owns. */
struct tables_process {
	struct unwind_proc entry;
	uid_t user;
	u64 version;
	VEC(struct unwind_range) mapped; /* without the code heaps */
	VEC(struct module *) modules;
};

struct area {
	void *at;
	size_t bytes;
};

struct tables {
	struct tables_sizes sizes;
	struct area rows, ranges, jvms;
	int procs_fd; /* map unwind_procs; -1: the tables serve walks on the host only */
	struct modules *modules;
	struct extents free_ranges, free_jvms;
	struct dict processes; /* by pid: struct tables_process * */
	u32 nr_evicted, nr_without_room, nr_publications;
};

static int map_area(int fd, size_t nr, size_t size, struct area *out)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = (nr * size + page - 1) / page * page;
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	*out = (struct area){ at, bytes };
	return 0;
}

static void unmap_area(const struct area *a)
{
	if (a->at)
		munmap(a->at, a->bytes);
}

int tables_new(const struct tables_sizes *sizes, const struct tables_fds *fds, struct tables **out)
{
	struct tables *t = xcalloc(1, sizeof(*t));
	int rows = fds ? fds->rows : -1, ranges = fds ? fds->ranges : -1,
	    jvms = fds ? fds->jvms : -1;

	t->sizes = *sizes;
	t->procs_fd = fds ? fds->procs : -1;
	extents_init(&t->free_ranges, sizes->nr_ranges);
	extents_init(&t->free_jvms, sizes->nr_jvms);
	int err = map_area(rows, sizes->nr_words, sizeof(union unwind_word), &t->rows)
			  ?: map_area(ranges, sizes->nr_ranges, sizeof(struct unwind_range), &t->ranges)
			  ?: map_area(jvms, sizes->nr_jvms, sizeof(struct hotspot_layout), &t->jvms);
	if (err) {
		tables_free(t);
		return err;
	}
	t->modules = modules_new(t->rows.at, sizes->nr_words, fds ? ROWCACHE_PATH : NULL);
	*out = t;
	return 0;
}

void tables_use_workers(struct tables *t, struct workers *workers)
{
	modules_use_workers(t->modules, workers);
}

static struct process_id id_of(const struct tables_process *p)
{
	return (struct process_id){ (pid_t)p->entry.pid, p->entry.start_ns };
}

static struct tables_process *find(const struct tables *t, pid_t pid)
{
	u64 *p = dict_find(&t->processes, (u64)pid);

	return p ? (struct tables_process *)(uintptr_t)*p : NULL;
}

static void put_modules(struct tables_process *p)
{
	vec_each(mod, &p->modules)
		module_put(*mod);
	vec_fini(&p->modules);
}

static void free_process(struct tables *t, struct tables_process *p)
{
	u64 now = time_mono_ns();

	extents_free(&t->free_ranges, p->entry.first_range, p->entry.nr_ranges, now);
	if (p->entry.jvm != UNWIND_NO_JVM)
		extents_free(&t->free_jvms, p->entry.jvm, 1, now);
	put_modules(p);
	vec_fini(&p->mapped);
	free(p);
}

void tables_free(struct tables *t)
{
	if (!t)
		return;
	dict_each(slot, &t->processes)
		free_process(t, (struct tables_process *)(uintptr_t)slot->value);
	dict_fini(&t->processes);
	modules_free(t->modules);
	extents_fini(&t->free_ranges);
	extents_fini(&t->free_jvms);
	unmap_area(&t->rows);
	unmap_area(&t->ranges);
	unmap_area(&t->jvms);
	free(t);
}

static void remove_process(struct tables *t, struct tables_process *p)
{
	u32 pid = p->entry.pid;

	if (t->procs_fd >= 0)
		bpf_map_delete_elem(t->procs_fd, &pid);
	dict_remove(&t->processes, pid);
	free_process(t, p);
}

/* BPF records the time of use in its copy of the entry. */
static u64 last_use(const struct tables *t, const struct tables_process *p)
{
	struct unwind_proc entry = p->entry;
	u32 pid = entry.pid;

	if (t->procs_fd >= 0 && bpf_map_lookup_elem(t->procs_fd, &pid, &entry))
		return 0; /* removed at exec */
	return entry.used_ns > p->entry.used_ns ? entry.used_ns : p->entry.used_ns;
}

/*
 * Drops the process that was not sampled for longest, unless that is `keep` or less than `idle_ns`
 * ago.
 */
static bool evict_process(struct tables *t, const struct tables_process *keep, u64 idle_ns)
{
	struct tables_process *oldest = NULL;
	u64 oldest_ns = 0;

	dict_each(slot, &t->processes) {
		struct tables_process *p = (struct tables_process *)(uintptr_t)slot->value;
		u64 used_ns = p == keep ? 0 : last_use(t, p);
		if (p != keep && (!oldest || used_ns < oldest_ns)) {
			oldest = p;
			oldest_ns = used_ns;
		}
	}
	if (!oldest || time_mono_ns() < oldest_ns + idle_ns)
		return false;
	remove_process(t, oldest);
	t->nr_evicted++;
	return true;
}

static int alloc_evicting(struct tables *t, struct extents *e, u32 nr,
			  const struct tables_process *keep, u32 *first)
{
	/* Freed extents rest. If room must be made, they count as rested. */
	u64 now = time_mono_ns();
	int err;

	/* A process that takes most of the table must not drive out all others. */
	if (nr > 1 && nr > e->size / 2)
		return -ENOSPC;
	while ((err = extents_alloc(e, nr, now, first)) && evict_process(t, keep, 0))
		now = time_mono_ns() + EXTENTS_REST_NS;
	return err;
}

static bool overlaps_heap(const struct hotspot_layout *layout, const struct unwind_range *r)
{
	for (u32 i = 0; layout && i < layout->nr_heaps && i < HOTSPOT_HEAPS; i++)
		if (r->start < layout->heaps[i].end && layout->heaps[i].start < r->end)
			return true;
	return false;
}

static int by_start(const void *a, const void *b)
{
	const struct unwind_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Mappings in a code heap are its committed parts; the heap's range covers them all. */
static u32 list_ranges(const struct tables_process *p, const struct hotspot_layout *layout,
		       struct unwind_range *out)
{
	u32 nr = 0;

	vec_each(r, &p->mapped)
		if (!overlaps_heap(layout, r))
			out[nr++] = *r;
	for (u32 i = 0; layout && i < layout->nr_heaps && i < HOTSPOT_HEAPS; i++)
		out[nr++] = (struct unwind_range){
			.start = layout->heaps[i].start,
			.end = layout->heaps[i].end,
			.kind = RANGE_CODE_HEAP,
		};
	qsort(out, nr, sizeof(*out), by_start);
	return nr;
}

/* Writes the process's ranges to a free place, then replaces its entry. */
static int publish(struct tables *t, struct tables_process *p, u32 jvm)
{
	const struct hotspot_layout *layout = tables_jvm(t, jvm);
	size_t most = p->mapped.nr + HOTSPOT_HEAPS;
	auto_free struct unwind_range *list = xcalloc(most, sizeof(*list));
	struct unwind_proc entry = p->entry, *old = &p->entry;

	entry.jvm = jvm;
	entry.publication = ++t->nr_publications ?: ++t->nr_publications;
	entry.nr_ranges = list_ranges(p, layout, list);
	int err = alloc_evicting(t, &t->free_ranges, entry.nr_ranges, p, &entry.first_range);
	if (err)
		return err;
	memcpy((struct unwind_range *)t->ranges.at + entry.first_range, list,
	       entry.nr_ranges * sizeof(*list));
	entry.used_ns = time_mono_ns();
	if (t->procs_fd >= 0)
		err = bpf_map_update_elem(t->procs_fd, &entry.pid, &entry, BPF_ANY);
	if (err) {
		extents_free(&t->free_ranges, entry.first_range, entry.nr_ranges, entry.used_ns);
		return err;
	}
	extents_free(&t->free_ranges, old->first_range, old->nr_ranges, entry.used_ns);
	if (old->jvm != jvm && old->jvm != UNWIND_NO_JVM)
		extents_free(&t->free_jvms, old->jvm, 1, entry.used_ns);
	p->entry = entry;
	return 0;
}

/* Drops a process of that user, which frees the rows that no other process needs. */
static bool evict_process_of(struct tables *t, uid_t user)
{
	dict_each(slot, &t->processes) {
		struct tables_process *p = (struct tables_process *)(uintptr_t)slot->value;
		if (p->user != user || !p->modules.nr)
			continue;
		remove_process(t, p);
		t->nr_evicted++;
		return true;
	}
	return false;
}

/*
 * Makes room for `p`; returns whether that worked. A user above the share evicts no other user's
 * rows.
 */
static bool make_room(struct tables *t, const struct tables_process *p)
{
	u32 share = t->sizes.nr_words / USER_SHARE;
	uid_t greedy;

	if (modules_find_greedy(t->modules, share, p->user, &greedy) && evict_process_of(t, greedy))
		return true;
	if (p->user && modules_words_of(t->modules, p->user) > share)
		return false;
	return evict_process(t, p, IDLE_NS);
}

/*
 * The range of a mapping. If there is no room for its rows, they are left out: files of processes
 * sampled lately keep their rows.
 */
static int find_range(struct tables *t, struct tables_process *p, const struct mapping *m,
		      struct module **mod, struct unwind_range *range)
{
	int err;

	while ((err = modules_range(t->modules, (pid_t)p->entry.pid, m, mod, range)) == -ENOSPC &&
	       make_room(t, p))
		;
	if (err != -ENOSPC)
		return err;
	if (!t->nr_without_room++)
		log_warn("the unwinder's table is full: no room for %s of user %u, stacks through "
			 "it are cut; sample fewer processes",
			 m->path, p->user);
	return 0;
}

static void prepare(struct tables *t, struct process_id id, const struct mappings *mappings)
{
	vec_each(m, mappings)
		if (m->executable)
			modules_prepare(t->modules, id.pid, m);
}

void tables_prepare(struct tables *t, struct process_id id, uid_t user,
		    const struct mappings *mappings)
{
	const struct tables_process *p = find(t, id.pid);

	modules_set_user(t->modules, p ? p->user : user);
	prepare(t, id, mappings);
}

/*
 * Whether the process generates code that is unwound by frame pointers. Code of HotSpot and OpenJ9
 * uses that register for values: HotSpot has rules of its own, OpenJ9 has none.
 */
static bool generates_code(const struct mappings *all)
{
	bool has_code = false;

	vec_each(m, all) {
		const char *slash = strrchr(m->path, '/'), *name = slash ? slash + 1 : m->path;
		if (!strcmp(name, "libjvm.so") || !strncmp(name, "libj9jit", 8))
			return false;
		bool is_generated = !m->path[0] || !strncmp(m->path, "/memfd:", 7) ||
				    !strcmp(m->path, "/dev/zero");
		has_code |= m->executable && is_generated && !m->is_copy;
	}
	return has_code;
}

/* Adds the ranges of all mappings. Counts those whose rows are still being built. */
static int add_ranges(struct tables *t, struct tables_process *p, const struct mappings *all,
		      struct tables_process *fresh, size_t *nr_building)
{
	vec_each(m, all) {
		struct unwind_range range;
		struct module *mod;

		if (!m->executable)
			continue;
		int err = find_range(t, p, m, &mod, &range);
		if (err && err != -EAGAIN)
			return err;
		*nr_building += err == -EAGAIN;
		vec_push(&fresh->mapped, range);
		if (mod)
			vec_push(&fresh->modules, mod);
	}
	return 0;
}

/*
 * Replaces the known mappings of the process. -EAGAIN if rows are still being built; unless
 * `partly` the known mappings then stay.
 */
static int learn_mappings(struct tables *t, struct tables_process *p, const struct mappings *all,
			  bool partly)
{
	struct tables_process fresh = { .entry = p->entry, .user = p->user, .version = p->version };
	size_t nr_building = 0;
	fresh.entry.generates = generates_code(all);
	int err = add_ranges(t, p, all, &fresh, &nr_building);
	bool is_kept = !err && (partly || !nr_building);

	/* Releases the old modules last, because those still mapped must keep their rows. */
	put_modules(is_kept ? p : &fresh);
	if (is_kept) {
		vec_fini(&p->mapped);
		*p = fresh;
	} else {
		vec_fini(&fresh.mapped);
	}
	return err ? err : nr_building ? -EAGAIN : 0;
}

static int set_process(struct tables *t, struct process_id id, uid_t user,
		       const struct mappings *mappings, bool partly)
{
	struct tables_process *p = find(t, id.pid);

	if (p && !process_id_same(id_of(p), id)) {
		remove_process(t, p);
		p = NULL;
	}
	bool is_new = !p;
	if (is_new) {
		p = xcalloc(1, sizeof(*p));
		p->entry.pid = (u32)id.pid;
		p->entry.start_ns = id.start_ns;
		p->entry.jvm = UNWIND_NO_JVM;
		p->user = user;
		*dict_add(&t->processes, (u64)id.pid) = (u64)(uintptr_t)p;
	}
	modules_set_user(t->modules, p->user);
	prepare(t, id, mappings);
	int err = learn_mappings(t, p, mappings, partly);
	if (err == -EAGAIN && !partly) {
		if (is_new)
			remove_process(t, p);
		return err;
	}
	int published = err && err != -EAGAIN ? err : publish(t, p, p->entry.jvm);
	if (published)
		remove_process(t, p);
	return published ? published : err;
}

int tables_set_process(struct tables *t, struct process_id id, uid_t user,
		       const struct mappings *mappings)
{
	return set_process(t, id, user, mappings, false);
}

int tables_set_process_partly(struct tables *t, struct process_id id, uid_t user,
			      const struct mappings *mappings)
{
	return set_process(t, id, user, mappings, true);
}

int tables_set_jvm(struct tables *t, pid_t pid, const struct hotspot_layout *layout)
{
	struct tables_process *p = find(t, pid);
	u32 jvm = UNWIND_NO_JVM;

	if (!p)
		return -ESRCH;
	if (layout) {
		const struct hotspot_layout *old = tables_jvm(t, p->entry.jvm);
		if (old && !memcmp(old, layout, sizeof(*old)))
			return 0;
		int err = alloc_evicting(t, &t->free_jvms, 1, p, &jvm);
		if (err)
			return err;
		((struct hotspot_layout *)t->jvms.at)[jvm] = *layout;
	}
	int err = publish(t, p, jvm);
	if (err && jvm != UNWIND_NO_JVM)
		extents_free(&t->free_jvms, jvm, 1, time_mono_ns());
	return err;
}

void tables_remove_process(struct tables *t, struct process_id id)
{
	struct tables_process *p = find(t, id.pid);

	if (p && process_id_same(id_of(p), id))
		remove_process(t, p);
}

bool tables_has_process(const struct tables *t, struct process_id id)
{
	const struct tables_process *p = find(t, id.pid);

	return p && process_id_same(id_of(p), id);
}

void tables_set_version(struct tables *t, struct process_id id, u64 version)
{
	if (tables_has_process(t, id))
		find(t, id.pid)->version = version;
}

u64 tables_version(const struct tables *t, struct process_id id)
{
	return tables_has_process(t, id) ? find(t, id.pid)->version : 0;
}

void tables_set_ancestors(struct tables *t, const struct ancestors *ancestors)
{
	modules_set_ancestors(t->modules, ancestors);
}

void tables_turn(struct tables *t)
{
	modules_turn(t->modules);
}

struct tables_usage tables_usage(const struct tables *t)
{
	struct modules_usage m = modules_usage(t->modules);

	return (struct tables_usage){
		.nr_processes = (u32)t->processes.nr,
		.nr_jvms = t->free_jvms.nr_used,
		.nr_modules = m.nr_modules,
		.nr_modules_failed = m.nr_failed,
		.nr_rows = m.nr_rows,
		.nr_ranges = t->free_ranges.nr_used,
		.nr_evicted = t->nr_evicted,
		.nr_rows_max = m.nr_rows_max,
		.nr_ranges_max = t->sizes.nr_ranges,
		.modules_bytes = m.bytes,
		.build_ns = m.build_ns,
	};
}

const struct unwind_words *tables_words(const struct tables *t, u32 i)
{
	return i < t->sizes.nr_words / 2 ? (const struct unwind_words *)t->rows.at + i : NULL;
}

const struct unwind_range *tables_range(const struct tables *t, u32 i)
{
	return i < t->sizes.nr_ranges ? (const struct unwind_range *)t->ranges.at + i : NULL;
}

const struct hotspot_layout *tables_jvm(const struct tables *t, u32 i)
{
	return i < t->sizes.nr_jvms ? (const struct hotspot_layout *)t->jvms.at + i : NULL;
}

const struct unwind_proc *tables_proc(const struct tables *t, pid_t pid)
{
	const struct tables_process *p = find(t, pid);

	return p ? &p->entry : NULL;
}
