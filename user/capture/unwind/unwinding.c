/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the unwinder's tables up to date. */
#include "capture/unwind/unwinding.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/time.h"
#include "base/vec.h"
#include "capture/unwind/moved_text.h"
#include "capture/unwind/sample_stack.h"
#include "capture/unwind/walker.h"

#define REFRESH_JVMS_NS (100 * NS_PER_MS)
#define REFUSED_NS      (5 * NS_PER_SEC) /* a process without room is tried again after this */
/* after this time a process gets tables without the rows that are being built .. */
#define BUILDING_NS (3 * NS_PER_SEC)
/* .. and is updated at this interval until the rows are there */
#define LATE_NS        NS_PER_SEC
#define YOUNG_NS       (3 * NS_PER_SEC) /* a process this young is still mapping its libraries */
#define REFUSED_CHANGE 8                /* or when its mappings change by an eighth */

struct wanted {
	struct process_id id;
	u64 since_ns;
	u64 next_ns;      /* when unwinding_update asks again */
	bool is_building; /* rows of its files are still being built */
};

/*
 * A process without tables, because it maps too much. Another try would take as long as the first
 * one.
 */
struct refused {
	struct process_id id;
	size_t nr_mappings;
	u64 until_ns;
};

struct unwinding {
	struct tables *tables;
	struct jvm_registry *jvms;
	struct moved_texts *moved;
	VEC(struct wanted) wanted;
	VEC(struct refused) refused;
	u64 refreshed_ns;
	u64 stats[NR_STATS]; /* of walks done here */
};

int unwinding_new(const struct tables_sizes *sizes, const struct tables_fds *fds,
		  struct jvm_registry *jvms, struct unwinding **out)
{
	struct unwinding *u = xcalloc(1, sizeof(*u));
	int err = tables_new(sizes, fds, &u->tables);

	if (err) {
		free(u);
		return err;
	}
	u->jvms = jvms;
	u->moved = moved_texts_new();
	*out = u;
	return 0;
}

void unwinding_free(struct unwinding *u)
{
	if (!u)
		return;
	tables_free(u->tables);
	moved_texts_free(u->moved);
	vec_fini(&u->wanted);
	vec_fini(&u->refused);
	free(u);
}

void unwinding_use_workers(struct unwinding *u, struct workers *workers)
{
	tables_use_workers(u->tables, workers);
	moved_texts_use_workers(u->moved, workers);
}

void unwinding_turn(struct unwinding *u)
{
	tables_turn(u->tables);
}

void unwinding_each_cache(const struct unwinding *u, cache_use_fn visit, void *ctx)
{
	const struct tables_usage t = tables_usage(u->tables);
	const struct cache_use all[] = {
		{ "unwind_rows", t.nr_rows, t.nr_rows * sizeof(union unwind_word),
		  t.nr_rows_max * sizeof(union unwind_word) },
		{ "unwind_files", t.nr_modules, t.modules_bytes,
		  t.nr_rows_max * sizeof(union unwind_word) },
		{ "unwind_processes", t.nr_processes, t.nr_ranges * sizeof(struct unwind_range),
		  t.nr_ranges_max * sizeof(struct unwind_range) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		visit(&all[i], ctx);
}

static struct wanted *find_wanted(const struct unwinding *u, const struct process *p)
{
	vec_each(w, &u->wanted)
		if (process_id_same(w->id, p->id))
			return w;
	return NULL;
}

void unwinding_want(struct unwinding *u, const struct process *p)
{
	if (!find_wanted(u, p))
		vec_push(&u->wanted, (struct wanted){ p->id, time_mono_ns(), 0, false });
}

static struct refused *find_refused(const struct unwinding *u, const struct process *p)
{
	vec_each(r, &u->refused)
		if (process_id_same(r->id, p->id))
			return r;
	return NULL;
}

static void forget_refused(struct unwinding *u, const struct process *p)
{
	struct refused *r = find_refused(u, p);

	if (r)
		*r = u->refused.at[--u->refused.nr];
}

static bool is_refused(const struct unwinding *u, const struct process *p)
{
	const struct refused *r = find_refused(u, p);

	if (!r || time_mono_ns() >= r->until_ns)
		return false;
	size_t before = r->nr_mappings, now = p->mappings.nr;
	return (now > before ? now - before : before - now) < before / REFUSED_CHANGE;
}

static void forget_wanted(struct unwinding *u, struct wanted *w)
{
	*w = u->wanted.at[--u->wanted.nr];
}

void unwinding_forget(struct unwinding *u, const struct process *p)
{
	struct wanted *w = find_wanted(u, p);

	if (w)
		forget_wanted(u, w);
	forget_refused(u, p);
	moved_texts_forget(u->moved, p->id);
	tables_remove_process(u->tables, p->id);
}

static void report_layout(struct process_id id, const struct hotspot *h, void *ctx)
{
	struct unwinding *u = ctx;
	struct hotspot_layout layout;

	if (!tables_has_process(u->tables, id))
		return;
	hotspot_layout(h, &layout);
	int err = tables_set_jvm(u->tables, id.pid, &layout);
	if (err)
		log_debug("JVM %d: no room for its layout (%d)", (int)id.pid, err);
	else
		log_debug("JVM %d: its tables are known", (int)id.pid);
}

static void add_jvm(struct unwinding *u, struct process *p)
{
	if (process_is_whole_jvm(p))
		jvm_registry_add(u->jvms, p->id);
	struct hotspot *h = jvm_registry_find(u->jvms, p->jvm);
	if (h)
		report_layout(p->id, h, u);
}

/* Returns whether the process is to be updated again, because rows are being built. */
static bool update(struct unwinding *u, struct process *p, u64 since_ns)
{
	bool is_late = time_mono_ns() > since_ns + BUILDING_NS;

	if (is_refused(u, p))
		return false;
	forget_refused(u, p);
	if (!p->exit_ns)
		process_refresh(p);
	if (!p->mappings.nr)
		return false;
	const struct ancestors ancestors = process_ancestors(p);
	tables_set_ancestors(u->tables, &ancestors);
	int moved = p->exit_ns ? 0 : moved_texts_find(u->moved, p);
	int err = (is_late ? tables_set_process_partly : tables_set_process)(u->tables, p->id,
									     p->uid, &p->mappings);
	if (err && err != -EAGAIN) {
		log_debug("process %d: no unwind tables (%d)", (int)p->id.pid, err);
		vec_push(&u->refused,
			 (struct refused){ p->id, p->mappings.nr, time_mono_ns() + REFUSED_NS });
		return false;
	}
	err = err ? err : moved;
	if (!err || is_late)
		tables_set_version(u->tables, p->id, p->mappings_version);
	/* Without tables BPF keeps its stacks, and they are walked when the rows are there. */
	if (err == -EAGAIN && !is_late && time_boot_ns() < p->program_ns + YOUNG_NS)
		tables_remove_process(u->tables, p->id);
	if (p->is_jvm)
		add_jvm(u, p);
	return err == -EAGAIN;
}

/*
 * First starts to build the rows for all processes, so that workers are busy while this process
 * reads the VMs and takes results.
 */
static void prepare(struct unwinding *u, struct processes *all, u64 now_ns)
{
	vec_each(w, &u->wanted) {
		struct process *p = processes_find(all, w->id);
		if (!p || p->exit_ns || now_ns < w->next_ns || is_refused(u, p))
			continue;
		const struct ancestors ancestors = process_ancestors(p);
		tables_set_ancestors(u->tables, &ancestors);
		tables_prepare(u->tables, p->id, p->uid, &p->mappings);
	}
	vec_each(w, &u->wanted) {
		const struct process *p = processes_find(all, w->id);
		if (p && !p->exit_ns && process_is_whole_jvm(p))
			jvm_registry_add(u->jvms, p->id);
	}
}

void unwinding_update(struct unwinding *u, struct processes *all)
{
	u64 now = time_mono_ns();

	prepare(u, all, now);
	for (size_t i = u->wanted.nr; i-- > 0;) {
		struct wanted *w = &u->wanted.at[i];
		struct process *p = processes_find(all, w->id);
		if (p && now < w->next_ns)
			continue;
		w->is_building = p && update(u, p, w->since_ns);
		w->next_ns = now > w->since_ns + BUILDING_NS ? now + LATE_NS : 0;
		if (!w->is_building)
			forget_wanted(u, w);
	}
	if (now - u->refreshed_ns >= REFRESH_JVMS_NS) {
		u->refreshed_ns = now;
		jvm_registry_refresh(u->jvms, report_layout, u);
	}
}

/* The kept stack of a sample that BPF left to us, or NULL. */
static const struct unwalked *kept_stack(const struct sample *sample)
{
	const struct unwalked *kept = (const void *)(sample_words(sample) + sample->nr_kernel);
	size_t bytes = sample->nr_user * sizeof(struct user_frame);

	if (sample->kind != RECORD_UNWALKED || bytes < sizeof(*kept) ||
	    kept->stack_bytes > bytes - sizeof(*kept))
		return NULL;
	return kept;
}

/*
 * Whether the tables have earlier mappings. After lost events nobody reports which mappings
 * changed: they are read again here or for names.
 */
static bool is_outdated(const struct unwinding *u, struct process *p)
{
	process_refresh(p);
	return !p->exit_ns && tables_version(u->tables, p->id) != p->mappings_version;
}

bool unwinding_must_wait(struct unwinding *u, struct process *p, const struct sample *sample)
{
	struct wanted *w = find_wanted(u, p);
	bool has_tables = tables_has_process(u->tables, p->id), is_kept = kept_stack(sample);
	bool has_old = !w && has_tables && is_outdated(u, p);
	u64 now = time_mono_ns();

	if (has_old && !is_kept)
		unwinding_want(u, p);
	if (!is_kept || (!w && has_tables && !has_old))
		return false;
	if (w && w->is_building)
		return now <= w->since_ns + BUILDING_NS;
	bool is_building = update(u, p, w ? w->since_ns : now);
	if (w && !is_building)
		forget_wanted(u, w);
	if (is_building) {
		unwinding_want(u, p);
		find_wanted(u, p)->is_building = true;
	}
	return is_building;
}

struct sample *unwinding_walk(struct unwinding *u, struct process *p, const struct sample *sample)
{
	const struct unwalked *kept = kept_stack(sample);
	struct walked walked = { 0 };

	if (!kept)
		return NULL;
	walker_walk_kept(u->tables, p->id.pid, kept, &walked);
	u->stats[walked.reason]++;
	if (kept->leaf.info)
		walked_add_leaf(&walked, &kept->leaf);
	struct sample *out =
		walked_sample(&walked, sample, sample_words(sample), sample_context(sample));
	walked_fini(&walked);
	return out;
}

void unwinding_stats(const struct unwinding *u, u64 stats[NR_STATS])
{
	for (u32 i = 0; u && i < NR_STATS; i++)
		stats[i] += u->stats[i];
}

const struct tables *unwinding_tables(const struct unwinding *u)
{
	return u->tables;
}
