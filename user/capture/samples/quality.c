/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes have stacks that lack callers, and why. */
#include "capture/samples/quality.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/str.h"
#include "base/vec.h"
#include "jvm/hotspot/legibility.h"
#include "jvm/hotspot/virtual_threads.h"
#include "proc/status.h"
#include "sandbox/rights.h"
#include "stat.h"

#define NR_CUTS (STAT_LAST_CUT - STAT_FIRST_CUT + 1)

struct process_quality {
	struct process_id id; /* pid 0: all processes together */
	char comm[PROCESS_COMM_LEN];
	u32 nr, nr_cut;
	u32 cut[NR_CUTS];      /* by enum stat_id, from STAT_FIRST_CUT */
	u64 cure[NR_READINGS]; /* the missing capabilities for each reading */
	bool is_asked[NR_READINGS];
	bool has_virtual; /* it is a JVM that runs virtual threads */
	bool has_listed;  /* their waits were sampled; known when the JVM is forgotten */
	char *no_tables;  /* why a JVM's tables cannot be read: "reason; remedy"; else NULL */
};

struct quality {
	const struct jvm_registry *jvms;
	struct process_quality all;
	VEC(struct process_quality) entries;
	struct dict by_process; /* hash -> index + 1 */
};

struct quality *quality_new(const struct jvm_registry *jvms)
{
	struct quality *q = xcalloc(1, sizeof(*q));

	q->jvms = jvms;
	return q;
}

void quality_free(struct quality *q)
{
	if (!q)
		return;
	vec_each(e, &q->entries)
		free(e->no_tables);
	vec_fini(&q->entries);
	dict_fini(&q->by_process);
	free(q);
}

static bool is_much(const struct process_quality *e)
{
	return e->nr_cut >= QUALITY_CUT_MIN && e->nr_cut > e->nr / QUALITY_SHARE;
}

static bool is_reported(const struct process_quality *e)
{
	return e->no_tables || is_much(e);
}

/* Drops processes without a report; they are counted from 0 again. */
static void make_room(struct quality *q)
{
	size_t kept = 0;

	dict_fini(&q->by_process);
	vec_each(e, &q->entries) {
		if (!is_reported(e) && !e->has_virtual)
			continue;
		q->entries.at[kept++] = *e;
		*dict_add(&q->by_process, process_id_hash(e->id)) = kept;
	}
	q->entries.nr = kept;
}

/* NULL if there is no room. */
static struct process_quality *entry_of(struct quality *q, const struct process *p)
{
	u64 key = process_id_hash(p->id);
	const u64 *known = dict_find(&q->by_process, key);

	if (known)
		return &q->entries.at[*known - 1];
	if (q->entries.nr == QUALITY_MAX)
		make_room(q);
	if (q->entries.nr == QUALITY_MAX)
		return NULL;
	vec_push(&q->entries, (struct process_quality){ .id = p->id });
	*dict_add(&q->by_process, key) = q->entries.nr;
	return &q->entries.at[q->entries.nr - 1];
}

/* Checks the rights at the first such cut stack, because later the process may be gone. */
static void ask_rights(struct process_quality *e, enum reading reading, const struct process *p,
		       u64 pc)
{
	if (e->is_asked[reading])
		return;
	e->is_asked[reading] = true;
	e->cure[reading] = reading_lacks(reading, p, pc);
}

/* Whether the walk ended in code that only a JVM's tables explain, and these were not read. */
static bool lacks_tables(const struct jvm_registry *jvms, const struct process *p, u32 stop, u64 pc)
{
	if (!p->is_jvm || (stop != STAT_NO_ROW && stop != STAT_NO_MAPPING && stop != STAT_NO_JVM) ||
	    jvm_registry_find(jvms, p->jvm))
		return false;
	const struct mapping *m = mappings_find(&p->mappings, pc);
	return !m || !m->inode;
}

static void add_cut(struct process_quality *e, u32 stop, const struct process *p, u64 pc)
{
	enum reading reading = counter_of(stop)->reads;

	e->nr_cut++;
	e->cut[stop - STAT_FIRST_CUT]++;
	ask_rights(e, reading, p, pc);
}

u32 quality_stop(const struct jvm_registry *jvms, const struct process *p, u32 stop, u64 pc)
{
	return lacks_tables(jvms, p, stop, pc) ? STAT_NO_TABLES : stop;
}

void quality_count(struct quality *q, const struct process *p, u32 stop, u64 pc)
{
	if (stop != STAT_ROOT && !counter_is_cut(stop))
		return;
	struct process_quality *e = entry_of(q, p);

	q->all.nr++;
	if (e) {
		memcpy(e->comm, p->comm, sizeof(e->comm));
		e->nr++;
	}
	if (stop == STAT_ROOT)
		return;
	q->all.nr_cut++;
	q->all.cut[stop - STAT_FIRST_CUT]++;
	if (!e)
		return;
	add_cut(e, stop, p, pc);
	q->all.cure[counter_of(stop)->reads] |= e->cure[counter_of(stop)->reads];
}

/* Whether the waits of its virtual threads were sampled; *why: why they were not, or NULL. */
static bool are_listed(const struct quality *q, struct process_id id, const char **why)
{
	const struct virtual_threads *v = jvm_registry_virtual(q->jvms, id);

	*why = v ? virtual_threads_why_not(v) : NULL;
	return v && !*why && virtual_threads_are_listed(v);
}

void quality_judge(struct quality *q, const struct process *p)
{
	auto_str struct str why = { 0 };
	const u64 *known = dict_find(&q->by_process, process_id_hash(p->id));
	const char *unlisted;

	if (known && process_is_whole_jvm(p))
		q->entries.at[*known - 1].has_listed = are_listed(q, p->id, &unlisted);

	if (!process_is_whole_jvm(p) || jvm_registry_legibility(q->jvms, p->id, &why) != ILLEGIBLE)
		return;
	struct process_quality *e = entry_of(q, p);
	if (!e)
		return;
	memcpy(e->comm, p->comm, sizeof(e->comm));
	free(e->no_tables);
	e->no_tables = str_take(&why);
}

void quality_mark_virtual(struct quality *q, const struct process *p)
{
	struct process_quality *e = entry_of(q, p);

	if (!e)
		return;
	memcpy(e->comm, p->comm, sizeof(e->comm));
	e->has_virtual = true;
}

static u32 main_reason(const struct process_quality *e)
{
	u32 most = 0;

	for (u32 i = 1; i < NR_CUTS; i++)
		if (e->cut[i] > e->cut[most])
			most = i;
	return STAT_FIRST_CUT + most;
}

static void add_name(struct str *out, const struct process_quality *e)
{
	if (!e->id.pid) {
		str_add(out, "all processes");
		return;
	}
	utf8_clean(out, e->comm,
		   /* a byte of comm may become a replacement character of three bytes */
		   3 * sizeof(e->comm));
	str_addf(out, "-%d", (int)e->id.pid);
}

u32 quality_nr_virtual(const struct quality *q, struct str *first)
{
	const char *why;
	u32 nr = 0;

	vec_each(e, &q->entries) {
		if (!e->has_virtual || e->has_listed || are_listed(q, e->id, &why) || nr++)
			continue;
		add_name(first, e);
		if (why)
			str_addf(first, " (%s)", why);
	}
	return nr;
}

static void add_remedy(struct str *out, const struct process_quality *e, const struct counter *c)
{
	if (e->cure[c->reads])
		capabilities_add_remedy(out, e->cure[c->reads]);
	else
		str_add(out, c->remedy);
}

static void visit_entry(const struct process_quality *e, incomplete_fn visit, void *ctx)
{
	const struct counter *c = counter_of(e->no_tables ? STAT_NO_TABLES : main_reason(e));
	auto_str struct str text = { 0 };

	str_add(&text, "stacks of ");
	add_name(&text, e);
	str_addf(&text, " lack callers (%.1f %% of %u): ", e->nr ? 100.0 * e->nr_cut / e->nr : 0.0,
		 e->nr);
	if (e->no_tables) {
		str_addf(&text, "the JVM's tables cannot be read: %s", e->no_tables);
	} else {
		str_addf(&text, "%s; ", counter_reason(c));
		add_remedy(&text, e, c);
	}
	const struct incomplete i = { e->id.pid, e->nr, e->nr_cut, c->severity, text.at };
	visit(&i, ctx);
}

static int by_loss(const void *a, const void *b)
{
	const struct process_quality *x = *(const struct process_quality *const *)a,
				     *y = *(const struct process_quality *const *)b;

	return x->nr_cut != y->nr_cut   ? (x->nr_cut < y->nr_cut ? 1 : -1)
	       : x->id.pid != y->id.pid ? (x->id.pid > y->id.pid ? 1 : -1)
					: 0;
}

void quality_each(const struct quality *q, incomplete_fn visit, void *ctx)
{
	VEC(const struct process_quality *) found = { 0 };
	u64 nr_cut = 0;

	vec_each(e, &q->entries) {
		if (!is_reported(e))
			continue;
		vec_push(&found, e);
		nr_cut += e->nr_cut;
	}
	if (found.nr)
		qsort(found.at, found.nr, sizeof(found.at[0]), by_loss);
	/*
	 * Also reports all processes together if many are affected, or if many ended before they
	 * had enough stacks.
	 */
	if (is_much(&q->all) && (found.nr > QUALITY_SINGLE || nr_cut < q->all.nr_cut / 2))
		visit_entry(&q->all, visit, ctx);
	vec_each(e, &found)
		visit_entry(*e, visit, ctx);
	vec_fini(&found);
}
