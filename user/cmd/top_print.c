/* SPDX-License-Identifier: Apache-2.0 */
/* Prints readings of `sysflame top` to standard output. */
#include "cmd/top_print.h"

#include <jansson.h>
#include <stdio.h>

#include "base/time.h"

static void print_methods(const struct watch *w, const struct board *b, const struct view_choice *c,
			  struct view *v, size_t nr, size_t width)
{
	struct hot_list methods = { 0 };
	const struct jvm_row *row;

	for (size_t i = 0; (row = view_row(b, c, i)); i++) {
		watch_methods(w, row->id.pid, &methods);
		if (methods.nr_samples)
			view_add_methods(v, row, &methods, c, nr, width);
	}
	hot_list_fini(&methods);
}

void top_print_text(const struct watch *w, const struct board *b, const struct view_choice *c,
		    size_t nr_methods, size_t width)
{
	struct view v = { 0 };

	view_add_node(&v, b, c, width);
	view_add_rows(&v, b, c, 0, b->rows.nr, width);
	if (nr_methods)
		print_methods(w, b, c, &v, nr_methods, width);
	vec_each(line, &v.lines)
		puts(line->text);
	putchar('\n');
	view_fini(&v);
}

/* CPUs in percent of one; null if unknown. */
static json_t *percent(double cpus)
{
	return cpus < 0 ? json_null() : json_real(cpus * 100);
}

static json_t *gauge(u64 value)
{
	return value == GAUGE_UNKNOWN ? json_null() : json_integer((json_int_t)value);
}

static json_t *text_or_null(const char *text)
{
	return text && *text ? json_string(text) : json_null();
}

static json_t *methods_json(const struct hot_list *methods, size_t nr)
{
	json_t *list = json_array();

	for (size_t i = 0; i < nr && i < methods->all.nr; i++) {
		const struct hot_method_share *m = &methods->all.at[i];
		json_array_append_new(list, json_pack("{ss sI sI}", "name", m->name, "self",
						      (json_int_t)m->self, "total",
						      (json_int_t)m->total));
	}
	return list;
}

static json_t *threads_json(const struct jvm_row *row)
{
	const u32 *t = row->threads;

	if (!row->nr_threads)
		return json_null();
	return json_pack("{si si si si}", "running", (int)t[JAVA_THREAD_RUNS], "native",
			 (int)t[JAVA_THREAD_NATIVE], "blocked", (int)t[JAVA_THREAD_BLOCKED],
			 "waiting", (int)t[JAVA_THREAD_WAITS]);
}

static json_t *jvm_json(const struct jvm_row *row, const struct hot_list *methods, size_t nr)
{
	json_t *j =
		json_pack("{si ss so so so so}", "pid", (int)row->id.pid, "name", row->name,
			  "container", text_or_null(row->container), "jdk", text_or_null(row->jdk),
			  "collector", text_or_null(row->collector), "gap", text_or_null(row->gap));

	json_object_set_new(j, "cpu_percent", percent(row->cpu));
	json_object_set_new(j, "gc_percent", percent(row->gc));
	json_object_set_new(j, "jit_percent", percent(row->jit));
	json_object_set_new(j, "alloc_bytes_per_s",
			    row->alloc < 0 ? json_null() : json_real(row->alloc));
	json_object_set_new(j, "alloc_bytes", json_integer((json_int_t)row->allocated_bytes));
	json_object_set_new(j, "alloc_partial_threads",
			    json_integer((json_int_t)row->partial_threads));
	json_object_set_new(j, "threads", threads_json(row));
	json_object_set_new(j, "heap_used_bytes", gauge(row->heap_used));
	json_object_set_new(j, "heap_committed_bytes", gauge(row->heap_committed));
	json_object_set_new(j, "collections", gauge(row->collections));
	json_object_set_new(j, "samples", json_integer((json_int_t)methods->nr_samples));
	json_object_set_new(j, "methods", methods_json(methods, nr));
	return j;
}

void top_print_json(const struct watch *w, const struct board *b, const struct view_choice *c,
		    size_t nr_methods)
{
	json_t *all = json_array(), *node;
	struct hot_list methods = { 0 };
	const struct jvm_row *row;

	for (size_t i = 0; (row = view_row(b, c, i)); i++) {
		watch_methods(w, row->id.pid, &methods);
		json_array_append_new(all, jvm_json(row, &methods, nr_methods));
	}
	node = json_pack("{ss si so so so so s[fff]}", "host", c->host, "cpus", b->load.nr_cpus,
			 "busy_percent", percent(b->load.busy), "stolen_percent",
			 percent(b->load.stolen), "other_percent", percent(b->other),
			 "sysflame_percent", percent(b->own), "load", b->load.load[0],
			 b->load.load[1], b->load.load[2]);
	json_t *line = json_pack("{sf sf so so so}", "time", (double)time_wall_ns() / 1e9,
				 "interval_s", (double)b->passed_ns / 1e9, "node", node,
				 "no_methods", text_or_null(c->no_methods), "jvms", all);
	json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(13));
	putchar('\n');
	json_decref(line);
	hot_list_fini(&methods);
}
