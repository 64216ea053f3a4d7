/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the values that a JVM keeps about itself. */
#include "jvm/hotspot/gauges.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "jvm/hotspot/hotspot_private.h"
#include "jvm/process/perfdata.h"

#define SPAN_MAX       512          /* bytes from _allocated_bytes to the TLAB */
#define TLAB_MAX_BYTES (512u << 20) /* half of the largest region of G1 */
#define SEARCHES_MAX   20           /* a JVM publishes the last counters soon after its start */
#define COUNTERS_MAX   5            /* of a kind: generations, spaces, collectors */
#define IN_NATIVE      4            /* enum JavaThreadState, since JDK 1.4 */
#define TRIES          8
#define BLOCKED        10

/* The bytes of a Thread that hold its allocations; read at once so that they fit together. */
struct alloc_span {
	u64 at; /* in the Thread */
	u32 len;
	u32 allocated, start, top; /* in the span; start and top are equal if unknown */
};

static bool find_span(const struct jvm_build *b, struct alloc_span *out)
{
	const struct jvm_field *f = b->fields;
	u64 allocated = f[THREAD_ALLOCATED].at, start = allocated, top = allocated;

	if (!vm_has(b, THREAD_ALLOCATED))
		return false;
	if (vm_has(b, THREAD_TLAB) && vm_has(b, TLAB_START) && vm_has(b, TLAB_TOP)) {
		start = f[THREAD_TLAB].at + f[TLAB_START].at;
		top = f[THREAD_TLAB].at + f[TLAB_TOP].at;
	}
	u64 first = start < top ? start : top, last = start < top ? top : start;
	first = allocated < first ? allocated : first;
	last = allocated > last ? allocated : last;
	if (last - first + sizeof(u64) > SPAN_MAX)
		return false;
	*out = (struct alloc_span){ .at = first,
				    .len = (u32)(last - first + sizeof(u64)),
				    .allocated = (u32)(allocated - first),
				    .start = (u32)(start - first),
				    .top = (u32)(top - first) };
	return true;
}

/* The data read for one thread. */
struct raw_gauge {
	u8 span[SPAN_MAX];
	u64 osthread, enters;
	u32 state, tid;
};

static u64 word(const struct raw_gauge *raw, u32 at)
{
	u64 value;

	memcpy(&value, raw->span + at, sizeof(value));
	return value;
}

static u64 allocated(const struct raw_gauge *raw, const struct alloc_span *s)
{
	u64 bytes = word(raw, s->allocated), used = word(raw, s->top) - word(raw, s->start);

	return used <= TLAB_MAX_BYTES ? bytes + used : bytes;
}

static enum java_thread_state state_of(const struct raw_gauge *raw)
{
	u32 settled = raw->state & ~1u; /* odd states are on the way to the next */

	if (raw->enters)
		return JAVA_THREAD_BLOCKED;
	return settled == BLOCKED     ? JAVA_THREAD_WAITS
	       : settled == IN_NATIVE ? JAVA_THREAD_NATIVE
				      : JAVA_THREAD_RUNS;
}

struct reading {
	const struct vm_memory *j;
	const struct java_threads *list;
	struct raw_gauge *raw;
	struct mem_request *requests;
	size_t nr;
};

static void ask(struct reading *r, u64 addr, void *buf, u32 len)
{
	r->requests[r->nr++] = (struct mem_request){ addr, buf, len, false };
}

static int run(struct reading *r)
{
	int err = mem_read_batch(r->j->mem, r->requests, r->nr);

	r->nr = 0;
	return err < 0 ? err : 0;
}

static int read_raw(struct reading *r, const struct alloc_span *s, bool has_states)
{
	const struct jvm_field *f = r->j->build.fields;

	for (size_t i = 0; i < r->list->nr; i++) {
		u64 t = r->list->at[i];
		ask(r, t + f[THREAD_OSTHREAD].at, &r->raw[i].osthread, sizeof(u64));
		if (s->len)
			ask(r, t + s->at, r->raw[i].span, s->len);
		if (!has_states)
			continue;
		ask(r, t + f[THREAD_STATE].at, &r->raw[i].state, sizeof(u32));
		if (vm_has(&r->j->build, THREAD_ENTERS))
			ask(r, t + f[THREAD_ENTERS].at, &r->raw[i].enters, sizeof(u64));
	}
	int err = run(r);
	for (size_t i = 0; !err && i < r->list->nr; i++)
		if (r->raw[i].osthread)
			ask(r, r->raw[i].osthread + f[OSTHREAD_ID].at, &r->raw[i].tid, sizeof(u32));
	return err ? err : run(r);
}

static void take_threads(const struct java_threads *list, const struct raw_gauge *raw,
			 const struct alloc_span *span, struct gauges *out)
{
	for (size_t i = 0; i < list->nr; i++)
		if (raw[i].tid)
			vec_push(&out->threads, (struct java_thread_gauge){
							list->at[i], (pid_t)raw[i].tid,
							span->len ? allocated(&raw[i], span) : 0,
							state_of(&raw[i]) });
}

static bool are_same(const struct java_threads *a, const struct java_threads *b)
{
	return a->nr && a->nr == b->nr && !memcmp(a->at, b->at, a->nr * sizeof(a->at[0]));
}

/* -EAGAIN if the JVM changed its list of threads meanwhile. */
static int read_listed(const struct vm_memory *j, const struct java_threads *list,
		       struct gauges *out)
{
	auto_free struct raw_gauge *raw = xcalloc(list->nr + 1, sizeof(*raw));
	auto_free struct mem_request *requests = xcalloc(list->nr * 4 + 1, sizeof(*requests));
	struct reading r = { j, list, raw, requests, 0 };
	struct java_threads after = { 0 };
	struct alloc_span span = { 0 };

	out->knows_allocations = find_span(&j->build, &span);
	out->knows_states = vm_has(&j->build, THREAD_STATE);
	int err = read_raw(&r, &span, out->knows_states) ?: hotspot_list_threads(j, &after);
	if (!err && !are_same(list, &after))
		err = -EAGAIN;
	free(after.at);
	if (!err)
		take_threads(list, raw, &span, out);
	return err;
}

static int try_threads(const struct vm_memory *j, struct gauges *out)
{
	struct java_threads list = { 0 };
	int err = hotspot_list_threads(j, &list) ?: read_listed(j, &list, out);

	free(list.at);
	return err;
}

/*
 * The JVM frees its list when a thread starts or ends. A thread that is missing from one reading
 * would seem to have allocated everything anew in the next.
 */
static int read_threads(const struct vm_memory *j, struct gauges *out)
{
	int err = -EAGAIN;

	if (!vm_has(&j->build, THREAD_OSTHREAD) || !vm_has(&j->build, OSTHREAD_ID))
		return -ENOENT;
	for (int i = 0; i < TRIES && (err == -EAGAIN || err == -EFAULT); i++)
		err = try_threads(j, out);
	return err;
}

static void find_sum(const u8 *counters, size_t len, u64 start, const char *format, int nr_inner,
		     struct counter_places *places)
{
	char name[64];

	places->nr = 0;
	for (int outer = 0; outer < COUNTERS_MAX; outer++)
		for (int inner = 0; inner < nr_inner; inner++) {
			snprintf(name, sizeof(name), format, outer, inner);
			size_t off = perfdata_number(counters, len, name);
			if (off)
				vec_push(places, start + off);
		}
}

static void find_places(const struct vm_memory *j, struct gauge_places *p)
{
	u64 start;

	if (p->nr_searches == SEARCHES_MAX || vm_read_static(j, PERF_START, &start) || !start)
		return;
	p->nr_searches++;
	auto_free u8 *counters = xmalloc(PERFDATA_MAX);
	ssize_t got = mem_read_some(j->mem, start, counters, PERFDATA_MAX);
	size_t len = got > 0 ? (size_t)got : 0;
	size_t off = perfdata_number(counters, len, "java.threads.started");
	p->started = off ? start + off : 0;
	find_sum(counters, len, start, "sun.gc.generation.%d.space.%d.used", COUNTERS_MAX,
		 &p->used);
	find_sum(counters, len, start, "sun.gc.generation.%d.capacity", 1, &p->committed);
	find_sum(counters, len, start, "sun.gc.collector.%d.invocations", 1, &p->collections);
}

static u64 read_sum(const struct vm_memory *j, const u64 *places, size_t nr)
{
	u64 sum = 0, value;

	for (size_t i = 0; i < nr; i++) {
		if (mem_read_u64(j->mem, places[i], &value))
			return GAUGE_UNKNOWN;
		sum += value;
	}
	return nr ? sum : GAUGE_UNKNOWN;
}

int gauges_read(struct hotspot *h, struct gauge_places *p, struct gauges *out)
{
	out->threads.nr = 0;
	int err = read_threads(&h->jvm, out);
	if (err)
		return err;
	if (!p->started || !p->used.nr || !p->committed.nr || !p->collections.nr)
		find_places(&h->jvm, p);
	out->threads_started = read_sum(&h->jvm, &p->started, p->started != 0);
	out->heap_used = read_sum(&h->jvm, p->used.at, p->used.nr);
	out->heap_committed = read_sum(&h->jvm, p->committed.at, p->committed.nr);
	out->collections = read_sum(&h->jvm, p->collections.at, p->collections.nr);
	return 0;
}

void gauge_places_fini(struct gauge_places *p)
{
	vec_fini(&p->used);
	vec_fini(&p->committed);
	vec_fini(&p->collections);
}

void gauges_fini(struct gauges *g)
{
	vec_fini(&g->threads);
}
