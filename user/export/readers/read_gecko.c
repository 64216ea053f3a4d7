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
#include "base/str.h"
#include "export/format/section.h"
#include "export/interchange/external.h"
#include "export/readers/json_tables.h"

/*
 * The newest versions whose changes are known: meta.preprocessedProfileVersion of saved profiles,
 * meta.version of raw ones. A newer one may keep the names of tables and change their meaning.
 */
#define SAVED_NEWEST 70
#define RAW_NEWEST   36

/* The tables of a thread, or of all threads. */
struct gecko_tables {
	const json_t *stacks, *frames, *functions, *texts, *resources, *libs, *sources;
	bool has_offsets; /* a stack has the distance to its parent, 0 for a root */
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

static bool has_column(const json_t *table, const char *column)
{
	return json_object_get(json_object_get(table, "schema") ?: table, column);
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

/* The library of a frame: its own since version 70, before that the one of its function. */
static s64 lib_of(const struct gecko_tables *t, size_t frame, size_t function)
{
	const json_t *own = cell(t->frames, "lib", frame);

	if (own)
		return json_index(own, UINT32_MAX);
	s64 resource = json_index(cell(t->functions, "resource", function), UINT32_MAX);
	return resource < 0 ? -1
			    : json_index(cell(t->resources, "lib", (size_t)resource), UINT32_MAX);
}

/* Code without a symbol has its offset in a library as name: "0x1f" becomes "[lib.so]+0x1f". */
static char *name_of_offset(const struct gecko_tables *t, const char *name, s64 lib)
{
	char *end = NULL;
	u64 offset = strncmp(name, "0x", 2) ? 0 : strtoull(name + 2, &end, 16);

	if (!end || *end || end == name + 2)
		return NULL;
	const char *file = lib < 0 ? "" : json_text(json_array_get(t->libs, (size_t)lib), "name");
	return *file ? name_from_offset(file, &offset) : NULL;
}

/* The source file of a function: since version 58 a row of the table of sources. */
static const char *file_of(const struct gecko_tables *t, size_t function)
{
	s64 source = json_index(cell(t->functions, "source", function), UINT32_MAX);

	return source < 0 ? text_at(t, cell(t->functions, "fileName", function))
			  : text_at(t, cell(t->sources, "filename", (size_t)source));
}

/* Raw frames of scripts end in the number of their source: "f (https://a.b/c.js:1:2)[4]". */
static char *without_source(const char *location)
{
	size_t len = strlen(location), digits = 0;

	if (!len || location[len - 1] != ']')
		return xstrdup(location);
	while (digits + 1 < len && strchr("0123456789", location[len - 2 - digits]))
		digits++;
	bool is_source = digits && digits + 2 < len && location[len - 2 - digits] == '[' &&
			 location[len - 3 - digits] == ')';
	return xstrndup(location, is_source ? len - 2 - digits : len);
}

/* Raw frames have a text; those that were processed have a function with a name. */
static frame_id frame_at(struct gecko *g, const struct gecko_tables *t, size_t frame)
{
	const json_t *location = cell(t->frames, "location", frame);
	s64 line = json_index(cell(t->frames, "line", frame), UINT32_MAX);
	s64 function = json_index(cell(t->frames, "func", frame), UINT32_MAX);
	struct source_line source = { .file = "", .line = line > 0 ? (u32)line : 0 };
	auto_free char *changed = NULL;
	const char *name = "";

	if (location) {
		name = changed = without_source(text_at(t, location));
	} else if (function >= 0) {
		name = text_at(t, cell(t->functions, "name", (size_t)function));
		source.file = file_of(t, (size_t)function);
		changed = name_of_offset(t, name, lib_of(t, frame, (size_t)function));
		name = changed ?: name;
	}
	return frame_from_external(g->p, *name ? name : "[unknown]", "", "", false, source);
}

/* Finds the parent of a stack, -1 for a root. Returns false if the table is damaged. */
static bool parent_of(const struct gecko_tables *t, s64 stack, s64 *out)
{
	const json_t *prefix =
		cell(t->stacks, t->has_offsets ? "prefixOffset" : "prefix", (size_t)stack);
	s64 number = json_index(prefix, t->nr_stacks);

	if (t->has_offsets) {
		*out = number > 0 ? stack - number : -1;
		return number == 0 || (number > 0 && number <= stack);
	}
	*out = number;
	return number >= 0 || !prefix || json_is_null(prefix);
}

static int node_of(struct gecko *g, struct gecko_tables *t, s64 stack, node_id *out)
{
	VEC(u32) path = { 0 };
	bool is_damaged = false;
	s64 parent;

	for (s64 at = stack; at >= 0 && t->nodes[at] == NODE_NONE && !is_damaged; at = parent) {
		vec_push(&path, (u32)at);
		is_damaged = !parent_of(t, at, &parent) || path.nr > FORMAT_DEPTH_MAX;
	}
	while (path.nr && !is_damaged) {
		u32 at = path.at[--path.nr];
		parent_of(t, at, &parent);
		s64 frame = json_index(cell(t->stacks, "frame", at), UINT32_MAX);
		is_damaged = frame < 0;
		if (!is_damaged)
			t->nodes[at] = profile_child(g->p, parent < 0 ? 0 : t->nodes[parent],
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

	/* Refuse a table without the column of parents: all its stacks would become roots. */
	if (t->nr_stacks && !t->has_offsets && !has_column(t->stacks, "prefix"))
		return refuse(g, "its stacks have no parents: stackTable lacks prefix and "
				 "prefixOffset");
	for (size_t i = 0; i < nr; i++) {
		auto_str struct str why = { 0 };
		const json_t *stack = cell(samples, "stack", i);
		const json_t *weight =
			cell(samples, "weight", i) ?: cell(samples, "duration", i); /* until 29 */
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
		.sources = table_of(g, json, "sources"),
	};

	t.has_offsets = json_object_get(t.stacks, "prefixOffset");
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

/* Refuses a version whose changes are unknown. */
static int check_version(struct gecko *g, const json_t *meta)
{
	const json_t *saved = json_object_get(meta, "preprocessedProfileVersion");
	double version = json_number_value(saved ?: json_object_get(meta, "version"));
	int newest = saved ? SAVED_NEWEST : RAW_NEWEST;

	if (version <= newest)
		return 0;
	str_addf(g->why,
		 "it has version %.10g of the %s, and this sysflame knows versions up to %d; "
		 "use a newer sysflame",
		 version, saved ? "Firefox Profiler's format" : "format in which Firefox records",
		 newest);
	return -EINVAL;
}

/* Raw profiles hold those of child processes. */
static int read_process(struct gecko *g, const json_t *json)
{
	const json_t *one;
	size_t i;
	int err = check_version(g, json_object_get(json, "meta"));

	if (err)
		return err;
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
