/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the Firefox Profiler's processed format, version 62: tables of columns, our tree as its
 * stack table, one thread per thread of the profile, samples sorted by time. Writes only the first
 * value type, because a thread has one kind of weight.
 *
 * Source: src/types/profile.ts and docs-developer/CHANGELOG-formats.md of the profiler. It converts
 * older versions of the format. tests/cli/test_json checks the required fields.
 * Part of export/writers/writer.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "export/interchange/external.h"
#include "export/writers/json.h"
#include "export/writers/writer.h"
#include "profile/slots.h"

#define FORMAT   62
#define ROWS_MAX 2000000

struct category {
	const char *name, *colour;
};

/* By frame kind; the profiler falls back to the first one. */
static const struct category categories[NR_FRAME_KINDS] = {
	[FRAME_UNKNOWN] = { "Other", "grey" },
	[FRAME_KERNEL] = { "Kernel", "orange" },
	[FRAME_NATIVE] = { "Native", "magenta" },
	[FRAME_JVM] = { "JVM", "yellow" },
	[FRAME_INTERPRETED] = { "Java interpreted", "lightgreen" },
	[FRAME_C1] = { "Java C1", "lightgreen" },
	[FRAME_C2] = { "Java C2", "green" },
	[FRAME_INLINED] = { "Java inlined", "lightblue" },
	[FRAME_GROUP] = { "Group", "grey" },
	[FRAME_STUB] = { "JVM stub", "brown" },
	[FRAME_CLASS] = { "Class", "blue" },
};

static void write_meta(const struct profile *p, FILE *out)
{
	double interval_ms = p->rate_hz > 0 ? 1e3 / p->rate_hz : 1;

	fprintf(out,
		"{\"meta\":{\"version\":24,\"preprocessedProfileVersion\":%d,\"processType\":0,"
		"\"interval\":%.6f,\"startTime\":%.3f,\"symbolicated\":true,\"debug\":false,"
		"\"stackwalk\":1,\"usesOnlyOneStackType\":true,"
		"\"sourceCodeIsNotOnSearchfox\":true,\"markerSchema\":[],\"extensions\":{"
		"\"baseURL\":[],\"id\":[],"
		"\"length\":0,\"name\":[]},\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\","
		"\"threadCPUDelta\":\"ns\"},\"product\":",
		FORMAT, interval_ms, (double)p->start_wall_ns / 1e6);
	json_write_text(*p->title ? p->title : "sysflame", out);
	fputs(",\"categories\":[", out);
	for (int k = 0; k < NR_FRAME_KINDS; k++)
		fprintf(out, "%s{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[\"Other\"]}",
			k ? "," : "", categories[k].name, categories[k].colour);
	fputs("]},\n\"libs\":[],\"pages\":[],\"counters\":[],\"profilerOverhead\":[],\n", out);
}

/* Writes a column with the same value in all rows. */
static void write_same(const char *name, const char *value, u32 nr, FILE *out)
{
	fprintf(out, ",\"%s\":[", name);
	for (u32 i = 0; i < nr; i++)
		fprintf(out, i ? ",%s" : "%s", value);
	fputc(']', out);
}

/* Writes a column that counts up. */
static void write_numbers(const char *name, u32 nr, FILE *out)
{
	fprintf(out, ",\"%s\":[", name);
	for (u32 i = 0; i < nr; i++)
		fprintf(out, i ? ",%u" : "%u", i);
	fputc(']', out);
}

static void write_frames(const struct profile *p, FILE *out)
{
	u32 nr = frames_nr(p->frames);

	fprintf(out, "\"frameTable\":{\"length\":%u", nr);
	write_same("address", "-1", nr, out);
	write_same("inlineDepth", "0", nr, out);
	fputs(",\"category\":[", out);
	for (u32 i = 0; i < nr; i++)
		fprintf(out, i ? ",%d" : "%d", frames_get(p->frames, i)->kind);
	fputc(']', out);
	write_same("subcategory", "0", nr, out);
	write_numbers("func", nr, out);
	write_same("nativeSymbol", "null", nr, out);
	write_same("innerWindowID", "0", nr, out);
	write_same("line", "null", nr, out);
	write_same("column", "null", nr, out);
	fprintf(out, "},\n\"funcTable\":{\"length\":%u", nr);
	write_numbers("name", nr, out);
	write_same("isJS", "false", nr, out);
	write_same("relevantForJS", "false", nr, out);
	write_same("resource", "-1", nr, out);
	write_same("source", "null", nr, out);
	write_same("lineNumber", "null", nr, out);
	write_same("columnNumber", "null", nr, out);
	fputs("},\n", out);
}

/* Node n of the tree is stack n - 1. */
static void write_stacks(const struct profile *p, FILE *out)
{
	fprintf(out, "\"stackTable\":{\"length\":%zu,\"frame\":[", p->nodes.nr - 1);
	for (node_id n = 1; n < p->nodes.nr; n++)
		fprintf(out, n > 1 ? ",%u" : "%u", p->nodes.at[n].frame);
	fputs("],\"prefix\":[", out);
	for (node_id n = 1; n < p->nodes.nr; n++) {
		fputs(n > 1 ? "," : "", out);
		if (p->nodes.at[n].parent)
			fprintf(out, "%u", p->nodes.at[n].parent - 1);
		else
			fputs("null", out);
	}
	fputs("]},\n", out);
}

static void write_shared(const struct profile *p, FILE *out)
{
	fputs("\"shared\":{\"stringArray\":[", out);
	for (u32 i = 0; i < frames_nr(p->frames); i++) {
		fputs(i ? ",\n" : "\n", out);
		json_write_text(frames_get(p->frames, i)->name, out);
	}
	fputs("],\n", out);
	write_frames(p, out);
	write_stacks(p, out);
	fputs("\"nativeSymbols\":{\"length\":0,\"libIndex\":[],\"address\":[],\"name\":[],"
	      "\"functionSize\":[]},\"resourceTable\":{\"length\":0,\"lib\":[],\"name\":[],"
	      "\"host\":[],\"type\":[]},\"sources\":{\"length\":0,\"id\":[],\"filename\":[],"
	      "\"startLine\":[],\"startColumn\":[],\"sourceMapURL\":[]}},\n",
	      out);
}

/* A row of a thread's table of samples. */
struct row {
	u32 weight, thread; /* indexes */
	u64 slot;           /* time slot */
	u64 value; /* the row's part of the weight; a weight that lasted several slots has several
		      rows */
};

struct rows {
	VEC(struct row) all;
	u64 slots_per_row;
};

/* Orders label sets by thread, ignoring labels of single samples. */
static int by_thread(const void *a, const void *b, void *profile)
{
	const struct profile *p = profile;
	const struct labels *x = &p->labels.at[*(const labels_id *)a];
	const struct labels *y = &p->labels.at[*(const labels_id *)b];
	int order = x->pid != y->pid ? (x->pid < y->pid ? -1 : 1)
				     : (x->tid > y->tid) - (x->tid < y->tid);

	for (enum label i = 0; i < NR_LABELS && !order; i++)
		if (i == LABEL_THREAD || label_is_of_process(i))
			order = strcmp(x->text[i], y->text[i]);
	return order;
}

/* Returns the number of the thread of each label set. The caller frees it. */
static u32 *make_threads(const struct profile *p)
{
	auto_free labels_id *order = xcalloc(p->labels.nr + 1, sizeof(order[0]));
	u32 *threads = xcalloc(p->labels.nr + 1, sizeof(threads[0]));

	for (labels_id id = 0; id < p->labels.nr; id++)
		order[id] = id;
	qsort_r(order, p->labels.nr, sizeof(order[0]), by_thread, (void *)p);
	for (size_t i = 1; i < p->labels.nr; i++)
		threads[order[i]] = threads[order[i - 1]] +
				    (by_thread(&order[i - 1], &order[i], (void *)p) != 0);
	return threads;
}

static int by_time(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	return x->weight < y->weight ? -1 : x->weight > y->weight;
}

/* The slots of a weight; the first one if it has no time. */
static struct slots slots_of(const struct profile *p, const struct weight *w)
{
	struct slots slots;

	if (!slots_parse(p->labels.at[w->labels].time, &slots))
		slots = (struct slots){ 0, 1 };
	return slots;
}

/* Limits the rows: thousands of threads that sleep for minutes would have millions of them. */
static u64 slots_per_row(const struct profile *p)
{
	u64 nr = 0;

	vec_each(w, &p->weights) {
		struct slots slots = slots_of(p, w);
		nr += w->type == 0 ? slots.end - slots.first : 0;
	}
	return nr / ROWS_MAX + 1;
}

static void add_rows(struct rows *rows, u32 weight, u32 thread, const struct slots *slots,
		     u64 value)
{
	u64 nr = slots->end - slots->first, given = 0;

	for (u64 at = 0; at < nr;) {
		u64 next = nr - at > rows->slots_per_row ? at + rows->slots_per_row : nr;
		u64 until = (u64)((unsigned __int128)value * next / nr);
		vec_push(&rows->all,
			 (struct row){ weight, thread, slots->first + at, until - given });
		given = until;
		at = next;
	}
}

/* Collects the weights of the first type, sorted by thread and time. */
static void make_rows(const struct profile *p, struct rows *rows)
{
	size_t nr;
	auto_free u32 *order = weights_in_order(p, &nr), *threads = make_threads(p);

	rows->slots_per_row = slots_per_row(p);
	for (size_t i = 0; i < nr; i++) {
		const struct weight *w = &p->weights.at[order[i]];
		struct slots slots = slots_of(p, w);
		if (w->type == 0)
			add_rows(rows, order[i], threads[w->labels], &slots, w->value);
	}
	if (rows->all.nr)
		qsort(rows->all.at, rows->all.nr, sizeof(rows->all.at[0]), by_time);
}

/* Whether every row has a time. */
static bool is_timed(const struct profile *p, const struct row *rows, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!*p->labels.at[p->weights.at[rows[i].weight].labels].time)
			return false;
	return p->slot_ns != 0;
}

/*
 * Writes times as steps. Samples of a slot are spread evenly over it; samples without time are
 * spread over the recording.
 */
static void write_times(const struct profile *p, const struct row *rows, size_t nr, FILE *out)
{
	bool has_slots = is_timed(p, rows, nr);
	double slot_ms = has_slots ? (double)p->slot_ns / 1e6 : (double)p->duration_ns / 1e6;
	double last_ms = 0;

	fputs("],\"timeDeltas\":[", out);
	for (size_t i = 0, end; i < nr; i = end) {
		for (end = i + 1; end < nr && (!has_slots || rows[end].slot == rows[i].slot);)
			end++;
		for (size_t row = i; row < end; row++) {
			double ms = slot_ms * ((has_slots ? (double)rows[i].slot : 0) +
					       (double)(row - i) / (double)(end - i));
			fprintf(out, row ? ",%.4f" : "%.4f", ms - last_ms);
			last_ms = ms;
		}
	}
}

static void write_samples(const struct profile *p, const struct row *rows, size_t nr, FILE *out)
{
	const char *unit = p->types.nr ? p->types.at[0].unit : "";
	bool is_time = !strcmp(unit, "ns");

	fprintf(out, "\"samples\":{\"length\":%zu,\"weightType\":\"%s\",\"stack\":[", nr,
		is_time                  ? "tracing-ms"
		: !strcmp(unit, "bytes") ? "bytes"
					 : "samples");
	for (size_t i = 0; i < nr; i++) {
		node_id node = p->weights.at[rows[i].weight].node;
		fputs(i ? "," : "", out);
		if (node)
			fprintf(out, "%u", node - 1);
		else
			fputs("null", out);
	}
	write_times(p, rows, nr, out);
	fputs("],\"weight\":[", out);
	for (size_t i = 0; i < nr; i++) {
		u64 value = rows[i].value;
		fprintf(out, "%s%llu", i ? "," : "",
			(unsigned long long)(is_time ? value / 1000000 : value));
		if (is_time)
			fprintf(out, ".%06llu", (unsigned long long)(value % 1000000));
	}
	fputs("]}", out);
}

static void write_thread(const struct profile *p, const struct row *rows, size_t nr, FILE *out)
{
	static const struct labels nobody = { .comm = "", .thread = "" };
	const struct labels *l = nr ? &p->labels.at[p->weights.at[rows[0].weight].labels] : &nobody;
	const char *name = *l->thread ? l->thread : *l->comm ? l->comm : "all";

	fputs("{\"name\":", out);
	json_write_text(name, out);
	fputs(",\"processName\":", out);
	json_write_text(*l->comm ? l->comm : "all", out);
	fprintf(out,
		",\"pid\":\"%u\",\"tid\":\"%u\",\"isMainThread\":%s,\"processType\":\"default\","
		"\"processStartupTime\":0,\"processShutdownTime\":null,\"registerTime\":0,"
		"\"unregisterTime\":null,\"pausedRanges\":[],\"showMarkersInTimeline\":false,"
		"\"markers\":{\"length\":0,\"category\":[],\"data\":[],\"endTime\":[],\"name\":[],"
		"\"phase\":[],\"startTime\":[]},\n",
		l->pid, l->tid, l->pid == l->tid ? "true" : "false");
	write_samples(p, rows, nr, out);
	fputc('}', out);
}

int firefox_write(const struct profile *p, FILE *out)
{
	struct rows all = { 0 };

	make_rows(p, &all);
	const struct row *rows = all.all.at;
	size_t nr = all.all.nr;

	write_meta(p, out);
	write_shared(p, out);
	fputs("\"threads\":[\n", out);
	for (size_t i = 0, end; i < nr || i == 0; i = end) {
		for (end = i + 1; end < nr && rows[end].thread == rows[i].thread;)
			end++;
		fputs(i ? ",\n" : "", out);
		write_thread(p, rows + i, nr ? end - i : 0, out);
	}
	fputs("]}\n", out);
	vec_fini(&all.all);
	return 0;
}
