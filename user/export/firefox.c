/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the Firefox Profiler's processed format, version 62: tables of columns, our tree as its
 * stack table, one thread per thread of the profile. Only the first value type: a thread has one
 * kind of weight. Source: what fxprof-processed-profile of samply writes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "export/export.h"
#include "export/foreign.h"
#include "export/json.h"

#define FORMAT 62

struct category {
	const char *name, *colour;
};

/* By frame kind; the first one is what the profiler falls back to. */
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
		"\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,"
		"\"pausedRanges\":[],\"markerSchema\":[],\"extensions\":{\"baseURL\":[],\"id\":[],"
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

/* A column that has the same value in all rows. */
static void write_same(const char *name, const char *value, u32 nr, FILE *out)
{
	fprintf(out, ",\"%s\":[", name);
	for (u32 i = 0; i < nr; i++)
		fprintf(out, i ? ",%s" : "%s", value);
	fputc(']', out);
}

/* A column that counts up. */
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

/* The weights order[0..nr) of one thread, spread evenly over the recording: times are not known. */
static void write_samples(const struct profile *p, const u32 *order, size_t nr, FILE *out)
{
	double step_ms = nr ? (double)p->duration_ns / 1e6 / (double)nr : 0;
	bool is_bytes = !strcmp(p->types.at[0].unit, "bytes");

	fprintf(out, "\"samples\":{\"length\":%zu,\"weightType\":\"%s\",\"stack\":[", nr,
		is_bytes ? "bytes" : "samples");
	for (size_t i = 0; i < nr; i++) {
		node_id node = p->weights.at[order[i]].node;
		fputs(i ? "," : "", out);
		if (node)
			fprintf(out, "%u", node - 1);
		else
			fputs("null", out);
	}
	fputs("],\"timeDeltas\":[", out);
	for (size_t i = 0; i < nr; i++)
		fprintf(out, i ? ",%.4f" : "%.0f", i ? step_ms : 0.0);
	fputs("],\"weight\":[", out);
	for (size_t i = 0; i < nr; i++)
		fprintf(out, i ? ",%llu" : "%llu",
			(unsigned long long)p->weights.at[order[i]].value);
	fputs("]}", out);
}

static void write_thread(const struct profile *p, const u32 *order, size_t nr, FILE *out)
{
	static const struct labels nobody = { .comm = "", .thread = "" };
	const struct labels *l = nr ? &p->labels.at[p->weights.at[order[0]].labels] : &nobody;
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
	write_samples(p, order, nr, out);
	fputc('}', out);
}

int firefox_write(const struct profile *p, FILE *out)
{
	size_t nr, nr_first = 0;
	auto_free u32 *order = weights_in_order(p, &nr);

	for (size_t i = 0; i < nr; i++)
		if (p->weights.at[order[i]].type == 0)
			order[nr_first++] = order[i];
	write_meta(p, out);
	write_shared(p, out);
	fputs("\"threads\":[\n", out);
	for (size_t i = 0, end; i < nr_first || i == 0; i = end) {
		for (end = i + 1; end < nr_first && p->weights.at[order[i]].labels ==
							    p->weights.at[order[end]].labels;)
			end++;
		fputs(i ? ",\n" : "", out);
		write_thread(p, order + i, nr_first ? end - i : 0, out);
	}
	fputs("]}\n", out);
	return 0;
}
