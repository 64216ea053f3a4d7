/* SPDX-License-Identifier: Apache-2.0 */
/* One JVM over time. */
#include "top/jvm_meter.h"

#include <string.h>

#include "base/alloc.h"
#include "base/time.h"
#include "top/alloc_meter.h"
#include "top/thread_times.h"

struct jvm_meter {
	struct process_id id;
	struct gauge_places places;
	struct gauges gauges;
	struct alloc_meter alloc;
	struct thread_times times;
	struct dict java_tids; /* of this reading, in its pid namespace */
	u64 at_ns, cpu_ns;     /* of the last reading; 0: none */
	u64 alloc_ns;          /* of the last reading of its memory; 0: none */
};

struct jvm_meter *jvm_meter_new(struct process_id id)
{
	struct jvm_meter *m = xcalloc(1, sizeof(*m));

	m->id = id;
	return m;
}

void jvm_meter_free(struct jvm_meter *m)
{
	if (!m)
		return;
	gauge_places_fini(&m->places);
	gauges_fini(&m->gauges);
	alloc_meter_fini(&m->alloc);
	thread_times_fini(&m->times);
	dict_fini(&m->java_tids);
	free(m);
}

struct process_id jvm_meter_id(const struct jvm_meter *m)
{
	return m->id;
}

static double rate(u64 now, u64 before, u64 passed_ns)
{
	return passed_ns && now >= before ? (double)(now - before) / (double)passed_ns
					  : RATE_UNKNOWN;
}

static bool is_java(pid_t inner, void *ctx)
{
	return dict_find(ctx, (u64)inner) != NULL;
}

static void read_memory(struct jvm_meter *m, struct hotspot *h, u64 now_ns, struct jvm_row *out)
{
	u64 before = m->alloc.total, partial = m->alloc.nr_partial;

	if (!h || gauges_read(h, &m->places, &m->gauges))
		return;
	dict_fini(&m->java_tids);
	vec_each(t, &m->gauges.threads) {
		dict_add(&m->java_tids, (u64)t->inner_tid);
		out->threads[t->state]++;
	}
	out->nr_threads = m->gauges.knows_states ? (u32)m->gauges.threads.nr : 0;
	out->heap_used = m->gauges.heap_used;
	out->heap_committed = m->gauges.heap_committed;
	out->collections = m->gauges.collections;
	if (!m->gauges.knows_allocations)
		return;
	alloc_meter_add(&m->alloc, &m->gauges);
	if (m->alloc_ns)
		out->alloc = rate(m->alloc.total, before, now_ns - m->alloc_ns);
	if (out->alloc >= 0)
		out->alloc *= (double)NS_PER_SEC;
	out->alloc_is_least = m->alloc.nr_partial != partial;
	m->alloc_ns = now_ns;
}

static void read_times(struct jvm_meter *m, bool is_serial, u64 passed_ns, struct jvm_row *out)
{
	u64 before[NR_VM_WORKS];

	memcpy(before, m->times.ns, sizeof(before));
	thread_times_read(&m->times, m->id.pid, is_java, &m->java_tids);
	if (!m->times.knows_names || !m->at_ns)
		return;
	const u64 *now = m->times.ns;
	out->gc = rate(now[WORK_GC], before[WORK_GC], passed_ns);
	out->jit = rate(now[WORK_JIT], before[WORK_JIT], passed_ns);
	if (is_serial && out->gc >= 0)
		out->gc += rate(now[WORK_VM], before[WORK_VM], passed_ns);
}

void jvm_meter_read(struct jvm_meter *m, struct hotspot *h, u64 now_ns, struct jvm_row *out)
{
	u64 passed_ns = m->at_ns ? now_ns - m->at_ns : 0, cpu_ns = time_process_ns(m->id.pid);

	out->id = m->id;
	out->cpu = out->gc = out->jit = out->alloc = RATE_UNKNOWN;
	out->heap_used = out->heap_committed = out->collections = GAUGE_UNKNOWN;
	out->cpu = rate(cpu_ns, m->cpu_ns, passed_ns);
	read_memory(m, h, now_ns, out);
	read_times(m, out->collector && !strcmp(out->collector, "Serial"), passed_ns, out);
	out->allocated_bytes = m->alloc.total;
	out->partial_threads = m->alloc.nr_partial;
	m->at_ns = now_ns;
	m->cpu_ns = cpu_ns;
}
