/* SPDX-License-Identifier: Apache-2.0 */
/* What several files in one profile say of their recordings, together. */
#include "export/merge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/foreign.h"

#define SAME_RATE 1e-4 /* formats keep the period in whole nanoseconds */

static u64 count_cpu(const struct profile *p)
{
	u64 nr = 0;

	for (u32 type = 0; type < p->types.nr; type++)
		if (type_is_cpu(&p->types.at[type]))
			nr += profile_total(p, type);
	return nr;
}

void merge_begin(struct profile *p, struct merge *m)
{
	*m = (struct merge){ .start_wall_ns = p->start_wall_ns,
			     .duration_ns = p->duration_ns,
			     .rate_hz = p->rate_hz,
			     .nr_cpu = count_cpu(p) };
	memcpy(&m->notes, &p->notes, sizeof(m->notes));
	memset(&p->notes, 0, sizeof(p->notes));
	p->start_wall_ns = p->duration_ns = 0;
	p->rate_hz = 0;
}

/* The earlier notes stand first, whatever the file has. */
static void merge_notes(struct profile *p, struct merge *m)
{
	typeof(m->notes) later;

	memcpy(&later, &p->notes, sizeof(later));
	memcpy(&p->notes, &m->notes, sizeof(p->notes));
	vec_each(n, &later) {
		const struct note *old = profile_find_note(p, n->key);
		u64 before = old ? old->value : 0;
		profile_note(p, n->key, n->text,
			     n->value > INT64_MAX - before ? INT64_MAX : before + n->value);
		free(n->key);
		free(n->text);
	}
	vec_fini(&later);
}

static u64 later_of(u64 a, u64 b)
{
	return a > b ? a : b;
}

static void merge_times(struct profile *p, const struct merge *m)
{
	u64 start = p->start_wall_ns, end = start + p->duration_ns;

	if (!start || !m->start_wall_ns) {
		p->start_wall_ns = start ?: m->start_wall_ns;
		p->duration_ns = later_of(p->duration_ns, m->duration_ns);
		return;
	}
	if (m->start_wall_ns < start)
		p->start_wall_ns = m->start_wall_ns;
	p->duration_ns = later_of(end, m->start_wall_ns + m->duration_ns) - p->start_wall_ns;
}

/* The rate is about samples of CPU: who has none has no say. */
static void merge_rates(struct profile *p, const struct merge *m)
{
	bool adds = count_cpu(p) > m->nr_cpu;

	if (!adds)
		p->rate_hz = m->rate_hz > 0 ? m->rate_hz : p->rate_hz;
	else if (m->nr_cpu && fabs(p->rate_hz - m->rate_hz) > SAME_RATE * m->rate_hz)
		p->rate_hz = 0;
}

void merge_end(struct profile *p, struct merge *m)
{
	merge_notes(p, m);
	merge_times(p, m);
	merge_rates(p, m);
	*m = (struct merge){ 0 };
}
