/* SPDX-License-Identifier: Apache-2.0 */
/* How much a JVM allocates between two readings of its threads. */
#include "top/alloc_meter.h"

/* The number of threads that began and ended between the readings. */
static u64 nr_unseen(const struct alloc_meter *m, const struct gauges *g, u64 nr_new)
{
	u64 started = g->threads_started;

	if (started == GAUGE_UNKNOWN || m->started == GAUGE_UNKNOWN || started < m->started)
		return 0;
	started -= m->started;
	return started > nr_new ? started - nr_new : 0;
}

void alloc_meter_add(struct alloc_meter *m, const struct gauges *g)
{
	struct dict now = { 0 };
	u64 nr_new = 0, nr_old = m->threads.nr;

	vec_each(t, &g->threads) {
		u64 key = hash_u64(t->java_thread ^ hash_u64((u64)t->inner_tid));
		const u64 *last = dict_find(&m->threads, key);
		u64 before = last ? *last : 0, bytes = t->allocated_bytes;

		if (dict_find(&now, key))
			continue;
		/* A reading beside the end of a TLAB may count it twice or not at all. */
		bytes = bytes > before ? bytes : before;
		if (m->has_begun)
			m->total += bytes - before;
		*dict_add(&now, key) = bytes;
		nr_old -= last != NULL;
		nr_new += last == NULL;
	}
	if (m->has_begun)
		m->nr_partial += nr_old + nr_unseen(m, g, nr_new);
	m->has_begun = true;
	m->started = g->threads_started;
	dict_fini(&m->threads);
	m->threads = now;
}

void alloc_meter_fini(struct alloc_meter *m)
{
	dict_fini(&m->threads);
}
