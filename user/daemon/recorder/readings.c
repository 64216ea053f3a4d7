/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of all JVMs for people who look at them. */
#include "daemon/recorder/readings.h"

#include <string.h>

#include "base/alloc.h"
#include "base/time.h"
#include "top/hot.h"
#include "top/jvm_rows.h"

#define EVERY_NS  NS_PER_SEC
#define WANTED_NS (10 * NS_PER_SEC)
#define PPM       1e6

struct readings {
	struct node *node;
	struct jvm_rows *rows; /* NULL: nobody looks */
	struct hot *hot;
	struct cpu_ticks ticks;
	struct board board;
	u64 until_ns, at_ns, own_ns;
};

struct readings *readings_new(struct node *n)
{
	struct readings *r = xcalloc(1, sizeof(*r));

	r->node = n;
	r->hot = hot_new();
	return r;
}

/* Stops reading: the next reading will be a first one again. */
static void stop(struct readings *r)
{
	jvm_rows_free(r->rows);
	r->rows = NULL;
	r->ticks = (struct cpu_ticks){ 0 };
	r->at_ns = 0;
	board_fini(&r->board);
}

void readings_free(struct readings *r)
{
	if (!r)
		return;
	stop(r);
	hot_free(r->hot);
	free(r);
}

void readings_want(struct readings *r, u64 now_ns)
{
	r->until_ns = now_ns + WANTED_NS;
}

void readings_add_profile(struct readings *r, const struct profile *p, u64 now_ns)
{
	hot_add(r->hot, p, now_ns);
}

static u64 ppm(double cpus)
{
	return cpus < 0 ? CONTROL_UNKNOWN : (u64)(cpus * PPM + 0.5);
}

static void add_methods(struct readings *r, pid_t pid, u64 now_ns, struct control_reading_jvm *out)
{
	struct hot_list methods = { 0 };

	hot_find(r->hot, pid, now_ns, &methods);
	out->samples = methods.nr_samples;
	vec_each(m, &methods.all) {
		if (out->nr_methods == CONTROL_READING_METHODS)
			break;
		struct control_method *to = &out->methods[out->nr_methods++];
		channel_text(to->name, sizeof(to->name), m->name);
		to->is_java = m->is_java;
		to->self = m->self;
		to->total = m->total;
	}
	hot_list_fini(&methods);
}

static void add_jvm(struct readings *r, const struct jvm_row *row, struct control_reading_jvm *out)
{
	*out = (struct control_reading_jvm){ .pid = row->id.pid, .start_ns = row->id.start_ns };
	channel_text(out->name, sizeof(out->name), row->name);
	channel_text(out->container, sizeof(out->container), row->container);
	channel_text(out->jdk, sizeof(out->jdk), row->jdk);
	channel_text(out->collector, sizeof(out->collector), row->collector);
	channel_text(out->gap, sizeof(out->gap), row->gap ?: "");
	out->cpu_ppm = ppm(row->cpu);
	out->gc_ppm = ppm(row->gc);
	out->jit_ppm = ppm(row->jit);
	out->alloc_rate = row->alloc < 0 ? CONTROL_UNKNOWN : (u64)row->alloc;
	out->alloc_is_least = row->alloc_is_least;
	out->allocated_bytes = row->allocated_bytes;
	out->partial_threads = row->partial_threads;
	out->heap_used = row->heap_used;
	out->heap_committed = row->heap_committed;
	out->collections = row->collections;
	out->nr_threads = row->nr_threads;
	_Static_assert(sizeof(out->threads) == sizeof(row->threads), "the same states");
	memcpy(out->threads, row->threads, sizeof(out->threads));
	out->virtual[0] = row->virtual.all;
	out->virtual[1] = row->virtual.run;
	out->virtual[2] = row->virtual.wait;
	out->virtual[3] = row->virtual.pinned;
	add_methods(r, row->id.pid, r->at_ns, out);
}

static void send(struct readings *r, struct outbox *out)
{
	static struct control_message m; /* scratch */
	const struct board *b = &r->board;
	size_t at = 0;

	do {
		m = (struct control_message){ .kind = CONTROL_READING };
		m.reading = (struct control_reading){
			.first = !at,
			.nr_cpus = (u32)b->load.nr_cpus,
			.wall_ns = time_wall_ns(),
			.passed_ns = b->passed_ns,
			.busy_ppm = ppm(b->load.busy),
			.stolen_ppm = ppm(b->load.stolen),
			.other_ppm = ppm(b->other),
			.own_ppm = ppm(b->own),
		};
		for (int i = 0; i < 3; i++)
			m.reading.load_milli[i] = (u32)(b->load.load[i] * 1000);
		while (at < b->rows.nr && m.reading.nr < CONTROL_READING_JVMS)
			add_jvm(r, &b->rows.at[at++], &m.reading.at[m.reading.nr++]);
		m.reading.last = at == b->rows.nr;
		outbox_add(out, &m, -1);
	} while (at < b->rows.nr);
}

void readings_tick(struct readings *r, u64 now_ns, struct outbox *out)
{
	if (now_ns >= r->until_ns) {
		if (r->rows)
			stop(r);
		return;
	}
	if (r->at_ns && now_ns - r->at_ns < EVERY_NS)
		return;
	if (!r->rows)
		r->rows = jvm_rows_new(NULL, 0);
	node_load_read(&r->ticks, &r->board.load);
	jvm_rows_read(r->rows, r->node, now_ns, &r->board);
	board_add_shares(&r->board, r->at_ns, now_ns, &r->own_ns, node_cpu_ns(r->node));
	r->at_ns = now_ns;
	send(r, out);
}
