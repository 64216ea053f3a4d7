/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads profiles of Firefox and of the Firefox Profiler. Their threads have tables of samples,
 * stacks, frames and functions. Three forms exist: raw ones of Firefox ("schema" and rows), those
 * that the Profiler saves (columns), and newer ones whose tables are shared by all threads. Source:
 * docs-developer/gecko-profile-format.md and CHANGELOG-formats.md of the Profiler.
 * Part of export/readers/json_tables.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/utf8.h"
#include "export/format/section.h"
#include "export/interchange/external.h"
#include "export/readers/json_tables.h"

/* The tables of a thread, or of all threads. */
struct gecko_tables {
	const json_t *stacks, *frames, *functions, *texts, *resources, *libs;
	size_t nr_stacks;
	node_id *nodes; /* by stack; NODE_NONE: not added yet */
};

struct gecko {
	struct profile *p;
	struct str *why;
	struct stack_adder *stacks;
	const json_t *shared; /* NULL in older forms */
	const json_t *libs;
	struct gecko_tables shared_tables;
	u32 depth; /* of nested processes */
};

static int refuse(struct gecko *g, const char *fault)
{
	str_add(g->why, fault);
	return -EINVAL;
}

static size_t nr_rows(const json_t *table, const char *column)
{
	const json_t *rows = json_object_get(table, "data");

	return json_array_size(rows ?: json_object_get(table, column));
}

static const json_t *cell(const json_t *table, const char *column, size_t row)
{
	const json_t *rows = json_object_get(table, "data");

	if (!rows)
		return json_array_get(json_object_get(table, column), row);
	s64 at = json_index(json_object_get(json_object_get(table, "schema"), column), 64);
	return at < 0 ? NULL : json_array_get(json_array_get(rows, row), (size_t)at);
}

static const char *text_at(const struct gecko_tables *t, const json_t *index)
{
	s64 at = json_index(index, json_array_size(t->texts));

	return at < 0 ? "" : json_string_value(json_array_get(t->texts, (size_t)at)) ?: "";
}

/* Code without a symbol has its offset in a library as name: "0x1f" becomes "[lib.so]+0x1f". */
static char *name_of_offset(const struct gecko_tables *t, const char *name, s64 function)
{
	char *end = NULL;
	u64 offset = strncmp(name, "0x", 2) ? 0 : strtoull(name + 2, &end, 16);
	s64 resource = json_index(cell(t->functions, "resource", (size_t)function), UINT32_MAX);

	if (!end || *end || end == name + 2 || resource < 0)
		return NULL;
	s64 lib = json_index(cell(t->resources, "lib", (size_t)resource), UINT32_MAX);
	const char *file = lib < 0 ? "" : json_text(json_array_get(t->libs, (size_t)lib), "name");
	return *file ? name_from_offset(file, &offset) : NULL;
}

/* Raw frames have a text; those that were processed have a function with a name. */
static frame_id frame_at(struct gecko *g, const struct gecko_tables *t, size_t frame)
{
	const json_t *location = cell(t->frames, "location", frame);
	s64 line = json_index(cell(t->frames, "line", frame), UINT32_MAX);
	struct source_line source = { .file = "", .line = line > 0 ? (u32)line : 0 };
	auto_free char *without_symbol = NULL;
	const char *name;

	if (location) {
		name = text_at(t, location);
	} else {
		s64 function = json_index(cell(t->frames, "func", frame), UINT32_MAX);
		name = function < 0 ? "" : text_at(t, cell(t->functions, "name", (size_t)function));
		source.file =
			function < 0 ? ""
				     : text_at(t, cell(t->functions, "fileName", (size_t)function));
		without_symbol = function < 0 ? NULL : name_of_offset(t, name, function);
		name = without_symbol ?: name;
	}
	return frame_from_external(g->p, *name ? name : "[unknown]", "", "", false, source);
}

static int node_of(struct gecko *g, struct gecko_tables *t, s64 stack, node_id *out)
{
	VEC(u32) path = { 0 };
	bool is_damaged = false;

	for (s64 at = stack; at >= 0 && t->nodes[at] == NODE_NONE;) {
		const json_t *prefix = cell(t->stacks, "prefix", (size_t)at);
		vec_push(&path, (u32)at);
		s64 next = json_index(prefix, t->nr_stacks);
		is_damaged =
			(next < 0 && prefix && !json_is_null(prefix)) || path.nr > FORMAT_DEPTH_MAX;
		if (is_damaged)
			break;
		at = next;
	}
	while (path.nr && !is_damaged) {
		u32 at = path.at[--path.nr];
		s64 prefix = json_index(cell(t->stacks, "prefix", at), t->nr_stacks);
		s64 frame = json_index(cell(t->stacks, "frame", at), UINT32_MAX);
		is_damaged = frame < 0;
		if (!is_damaged)
			t->nodes[at] = profile_child(g->p, prefix < 0 ? 0 : t->nodes[prefix],
						     frame_at(g, t, (size_t)frame));
	}
	vec_fini(&path);
	if (is_damaged)
		return refuse(g, "a stack is damaged, or has more than 65,535 frames");
	*out = stack < 0 ? 0 : t->nodes[stack];
	return 0;
}

/* The type of a thread's weights, and the factor to its unit. */
static u32 type_of(struct gecko *g, const json_t *samples, double *scale)
{
	const char *weights = json_text(samples, "weightType");

	*scale = 1;
	if (!strcmp(weights, "bytes"))
		return profile_find_type(g->p, "memory", "bytes");
	if (strcmp(weights, "tracing-ms") != 0)
		return profile_find_type(g->p, "cpu", "samples");
	*scale = 1e6;
	return profile_find_type(g->p, "time", "ns");
}

static int read_samples(struct gecko *g, struct gecko_tables *t, const json_t *samples,
			labels_id labels)
{
	double scale;
	u32 type = type_of(g, samples, &scale);
	size_t nr = nr_rows(samples, "stack");

	for (size_t i = 0; i < nr; i++) {
		auto_str struct str why = { 0 };
		const json_t *stack = cell(samples, "stack", i);
		const json_t *weight = cell(samples, "weight", i);
		bool has_stack = stack && !json_is_null(stack);
		s64 at = has_stack ? json_index(stack, t->nr_stacks) : -1;
		s64 value = weight && !json_is_null(weight) ? json_scaled(weight, scale) : 1;
		node_id node;
		if ((has_stack && at < 0) || value < 0)
			return refuse(g, "a sample has a stack that does not exist, or a weight "
					 "that is negative or too large");
		int err = node_of(g, t, at, &node);
		if (!err && value)
			err = stack_add(g->stacks, node, labels, type, value, &why);
		if (why.at)
			refuse(g, why.at);
		if (err)
			return err;
	}
	return 0;
}

/* A PID is a number or the text of one. */
static u32 number_of(const json_t *number)
{
	const char *text = json_string_value(number);

	return text ? (u32)strtoul(text, NULL, 10) : (u32)json_integer_value(number);
}

static const json_t *table_of(const struct gecko *g, const json_t *thread, const char *key)
{
	return json_object_get(thread, key) ?: json_object_get(g->shared, key);
}

/* The tables of a thread; NULL: those that all threads share. */
static struct gecko_tables tables_open(const struct gecko *g, const json_t *json)
{
	struct gecko_tables t = {
		.stacks = table_of(g, json, "stackTable"),
		.frames = table_of(g, json, "frameTable"),
		.functions = table_of(g, json, "funcTable"),
		.texts = table_of(g, json, "stringArray") ?: json_object_get(json, "stringTable"),
		.resources = table_of(g, json, "resourceTable"),
		.libs = json_object_get(json, "libs") ?: g->libs,
	};

	t.nr_stacks = nr_rows(t.stacks, "frame");
	t.nodes = xcalloc(t.nr_stacks, sizeof(t.nodes[0]));
	for (size_t i = 0; i < t.nr_stacks; i++)
		t.nodes[i] = NODE_NONE;
	return t;
}

static int read_thread(struct gecko *g, const json_t *json)
{
	const json_t *samples = json_object_get(json, "samples");
	auto_str struct str comm = { 0 }, thread = { 0 };

	utf8_clean(&comm, json_text(json, "processName"), 256);
	utf8_clean(&thread, json_text(json, "name"), 256);
	const struct labels who = { .pid = number_of(json_object_get(json, "pid")),
				    .tid = number_of(json_object_get(json, "tid")),
				    .comm = comm.at,
				    .thread = thread.at };
	labels_id labels = profile_intern_labels(g->p, &who);
	if (!json_object_get(json, "stackTable"))
		return read_samples(g, &g->shared_tables, samples, labels);
	struct gecko_tables own = tables_open(g, json);
	int err = read_samples(g, &own, samples, labels);
	free(own.nodes);
	return err;
}

/* Raw profiles hold those of child processes. */
static int read_process(struct gecko *g, const json_t *json)
{
	const json_t *one;
	size_t i;
	int err = 0;

	json_array_foreach(json_object_get(json, "threads"), i, one) err =
		err ?: read_thread(g, one);
	if (++g->depth > 8)
		return refuse(g, "its processes are nested too deep");
	json_array_foreach(json_object_get(json, "processes"), i, one) err =
		err ?: read_process(g, one);
	g->depth--;
	return err;
}

bool gecko_is(const json_t *all)
{
	return json_is_object(json_object_get(all, "meta")) &&
	       json_is_array(json_object_get(all, "threads"));
}

int gecko_read(const json_t *all, struct stack_adder *stacks, struct str *why)
{
	struct gecko g = { .p = stacks->p,
			   .why = why,
			   .stacks = stacks,
			   .shared = json_object_get(all, "shared"),
			   .libs = json_object_get(all, "libs") };

	g.shared_tables = tables_open(&g, NULL);
	int err = read_process(&g, all);
	free(g.shared_tables.nodes);
	return err;
}
