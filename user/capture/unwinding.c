/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the unwinder's tables true. */
#include "capture/unwinding.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/time.h"
#include "base/vec.h"
#include "capture/walker.h"

#define REFRESH_JVMS_NS (100 * NS_PER_MS)
#define REFUSED_NS      (5 * NS_PER_SEC) /* for which a process without room is left alone, .. */
#define REFUSED_CHANGE  8                /* .. unless its mappings are an eighth more or fewer */

struct wanted {
	pid_t pid;
	u64 start_ns;
};

/* A process that has no tables because it maps too much; to see that again takes as long. */
struct refused {
	pid_t pid;
	u64 start_ns;
	size_t nr_mappings;
	u64 until_ns;
};

struct unwinding {
	struct tables *tables;
	struct jvms *jvms;
	VEC(struct wanted) wanted;
	VEC(struct refused) refused;
	u64 refreshed_ns;
	u64 stats[NR_STATS]; /* of the walks done here */
};

int unwinding_new(const struct tables_sizes *sizes, const struct tables_fds *fds, struct jvms *jvms,
		  struct unwinding **out)
{
	struct unwinding *u = xcalloc(1, sizeof(*u));
	int err = tables_new(sizes, fds, &u->tables);

	if (err) {
		free(u);
		return err;
	}
	u->jvms = jvms;
	*out = u;
	return 0;
}

void unwinding_free(struct unwinding *u)
{
	if (!u)
		return;
	tables_free(u->tables);
	vec_fini(&u->wanted);
	vec_fini(&u->refused);
	free(u);
}

void unwinding_want(struct unwinding *u, const struct process *p)
{
	vec_each(w, &u->wanted)
		if (w->pid == p->pid && w->start_ns == p->start_ns)
			return;
	vec_push(&u->wanted, (struct wanted){ p->pid, p->start_ns });
}

static struct refused *find_refused(const struct unwinding *u, const struct process *p)
{
	vec_each(r, &u->refused)
		if (r->pid == p->pid && r->start_ns == p->start_ns)
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

void unwinding_forget(struct unwinding *u, const struct process *p)
{
	forget_refused(u, p);
	tables_remove_process(u->tables, p->pid, p->start_ns);
}

static void tell_layout(pid_t pid, u64 start_ns, const struct hotspot *h, void *ctx)
{
	struct unwinding *u = ctx;
	struct hotspot_layout layout;

	if (!tables_has_process(u->tables, pid, start_ns))
		return;
	hotspot_layout(h, &layout);
	int err = tables_set_jvm(u->tables, pid, &layout);
	if (err)
		log_debug("JVM %d: no room for its layout (%d)", (int)pid, err);
}

static void update(struct unwinding *u, struct process *p)
{
	if (is_refused(u, p))
		return;
	forget_refused(u, p);
	process_refresh(p);
	if (p->exit_ns || !p->mappings.nr)
		return;
	int err = tables_set_process(u->tables, p->pid, p->start_ns, &p->mappings);
	if (err) {
		log_debug("process %d: no unwind tables (%d)", (int)p->pid, err);
		vec_push(&u->refused, (struct refused){ p->pid, p->start_ns, p->mappings.nr,
							time_mono_ns() + REFUSED_NS });
		return;
	}
	if (!p->is_jvm)
		return;
	if (process_is_whole_jvm(p))
		jvms_add(u->jvms, p->pid, p->start_ns);
	struct hotspot *h = jvms_find(u->jvms, p->jvm_pid, p->jvm_start_ns);
	if (h)
		tell_layout(p->pid, p->start_ns, h, u);
}

void unwinding_update(struct unwinding *u, struct processes *all)
{
	u64 now = time_mono_ns();

	vec_each(w, &u->wanted) {
		struct process *p = processes_find(all, w->pid, w->start_ns);
		if (p)
			update(u, p);
	}
	u->wanted.nr = 0;
	if (now - u->refreshed_ns >= REFRESH_JVMS_NS) {
		u->refreshed_ns = now;
		jvms_refresh(u->jvms, tell_layout, u);
	}
}

static bool forget_wanted(struct unwinding *u, const struct process *p)
{
	vec_each(w, &u->wanted)
		if (w->pid == p->pid && w->start_ns == p->start_ns) {
			*w = u->wanted.at[--u->wanted.nr];
			return true;
		}
	return false;
}

struct sample *unwinding_walk(struct unwinding *u, struct process *p, const struct sample *sample)
{
	const struct unwalked *kept = (const void *)(sample_words(sample) + sample->nr_kernel);
	size_t bytes = sample->nr_user * sizeof(struct user_frame);
	struct walked walked = { 0 };

	if (sample->kind != RECORD_UNWALKED || bytes < sizeof(*kept) ||
	    kept->stack_bytes > bytes - sizeof(*kept))
		return NULL;
	if (forget_wanted(u, p) || !tables_has_process(u->tables, p->pid, p->start_ns))
		update(u, p);
	walker_walk_kept(u->tables, p->pid, kept, &walked);
	u->stats[walked.reason]++;
	if (kept->leaf.info)
		walked_add_leaf(&walked, &kept->leaf);
	struct sample *out = walked_sample(&walked, sample, sample_words(sample));
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
