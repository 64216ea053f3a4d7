/* SPDX-License-Identifier: Apache-2.0 */
/* A reading as lines of text. */
#include "top/view.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "export/writers/amount.h"

#define NAME_LEAST 14 /* characters of a JVM's name for which other columns make room */

static void add_line(struct view *v, enum line_style style, struct str *text)
{
	while (text->len && text->at[text->len - 1] == ' ')
		text->at[--text->len] = '\0';
	str_add(text, "");
	vec_push(&v->lines, (struct view_line){ str_take(text), style });
}

/* Adds at most `width` characters of the text. */
static void add_cut(struct view *v, enum line_style style, const char *text, size_t width)
{
	struct str line = { 0 };

	short_name_add(&line, text, false, width);
	add_line(v, style, &line);
}

void view_fini(struct view *v)
{
	vec_each(line, &v->lines)
		free(line->text);
	vec_fini(&v->lines);
}

/* CPUs as percent of one CPU. */
static void add_percent(struct str *out, double cpus)
{
	if (cpus < 0)
		str_add(out, "-");
	else
		str_addf(out, "%.*f", cpus >= 9.995 ? 0 : 1, cpus * 100);
}

static void add_bytes(struct str *out, u64 bytes)
{
	if (bytes == GAUGE_UNKNOWN)
		str_add(out, "-");
	else
		amount_add(out, bytes, "bytes");
}

enum column {
	PID,
	CPU,
	ALLOC,
	GC,
	JIT,
	THREADS,
	HEAP,
	VIRTUAL,
	COLLECTIONS,
	JDK,
	COLLECTOR,
	CONTAINER,
	NAME,
	NR_COLUMNS
};

struct column_model {
	const char *title;
	size_t width;
	bool is_text;  /* left-aligned */
	u8 importance; /* columns with the least importance are left out first */
};

static const struct column_model columns[NR_COLUMNS] = {
	[PID] = { "PID", 7, false, 9 },          [CPU] = { "CPU%", 6, false, 9 },
	[ALLOC] = { "ALLOC/s", 8, false, 8 },    [GC] = { "GC%", 5, false, 7 },
	[JIT] = { "JIT%", 5, false, 6 },         [THREADS] = { "R/N/B/W", 11, false, 5 },
	[HEAP] = { "HEAP", 15, false, 4 },       [VIRTUAL] = { "VIRT R/W/P", 12, false, 4 },
	[COLLECTIONS] = { "GCS", 6, false, 1 },  [JDK] = { "JDK", 8, true, 3 },
	[COLLECTOR] = { "GC", 8, true, 1 },      [CONTAINER] = { "CONTAINER", 14, true, 2 },
	[NAME] = { "JVM", NAME_LEAST, true, 9 },
};

struct layout {
	size_t width[NR_COLUMNS]; /* 0: left out */
};

static size_t total_width(const struct layout *l)
{
	size_t sum = 0;

	for (int c = 0; c < NR_COLUMNS; c++)
		sum += l->width[c] ? l->width[c] + 1 : 0;
	return sum - 1;
}

/* The column of virtual threads is for nodes that have some. */
static bool has_virtual(const struct board *b)
{
	vec_each(row, &b->rows)
		if (row->virtual.all)
			return true;
	return false;
}

static struct layout fit(const struct board *b, size_t width)
{
	struct layout l;

	for (int c = 0; c < NR_COLUMNS; c++)
		l.width[c] = c != VIRTUAL || has_virtual(b) ? columns[c].width : 0;
	for (u8 level = 1; level < 9; level++)
		for (int c = 0; c < NR_COLUMNS && total_width(&l) > width; c++)
			if (columns[c].importance == level)
				l.width[c] = 0;
	if (width > total_width(&l))
		l.width[NAME] += width - total_width(&l);
	return l;
}

static void add_alloc(const struct jvm_row *row, struct str *out)
{
	if (row->alloc < 0)
		str_add(out, "-");
	else
		amount_add(out, (u64)(row->alloc + 0.5), "bytes");
	if (row->alloc_is_least)
		str_add(out, "+");
}

static void add_cell(const struct jvm_row *row, enum column c, struct str *out)
{
	const u32 *t = row->threads;

	switch (c) {
	case PID:
		str_addf(out, "%d", (int)row->id.pid);
		return;
	case CPU:
		add_percent(out, row->cpu);
		return;
	case ALLOC:
		add_alloc(row, out);
		return;
	case GC:
		add_percent(out, row->gc);
		return;
	case JIT:
		add_percent(out, row->jit);
		return;
	case THREADS:
		if (row->nr_threads)
			str_addf(out, "%u/%u/%u/%u", t[JAVA_THREAD_RUNS], t[JAVA_THREAD_NATIVE],
				 t[JAVA_THREAD_BLOCKED], t[JAVA_THREAD_WAITS]);
		else
			str_add(out, "-");
		return;
	case HEAP:
		add_bytes(out, row->heap_used);
		str_add(out, "/");
		add_bytes(out, row->heap_committed);
		return;
	case COLLECTIONS:
		if (row->collections == GAUGE_UNKNOWN)
			str_add(out, "-");
		else
			str_addf(out, "%llu", (unsigned long long)row->collections);
		return;
	case VIRTUAL:
		if (row->virtual.all)
			str_addf(out, "%u/%u/%u", row->virtual.run, row->virtual.wait,
				 row->virtual.pinned);
		else
			str_add(out, "-");
		return;
	default:
		str_add(out, c == JDK         ? row->jdk
			     : c == COLLECTOR ? row->collector
			     : c == CONTAINER ? row->container
					      : row->name);
	}
}

/* Numbers are padded on the left, texts on the right; the last column is not. */
static void add_padded(struct str *line, const char *text, size_t width, enum column c,
		       bool is_java)
{
	auto_str struct str cut = { 0 };

	str_add(&cut, "");
	short_name_add(&cut, text, is_java, width);
	size_t len = text_width(cut.at);
	int pad = width > len ? (int)(width - len) : 0;
	if (c == NAME)
		str_add(line, cut.at);
	else if (columns[c].is_text)
		str_addf(line, "%s%*s ", cut.at, pad, "");
	else
		str_addf(line, "%*s%s ", pad, "", cut.at);
}

static void add_row(struct view *v, const struct jvm_row *row, const struct layout *l,
		    enum line_style style)
{
	struct str line = { 0 };

	for (int c = 0; c < NR_COLUMNS; c++) {
		auto_str struct str cell = { 0 };
		if (!l->width[c])
			continue;
		str_add(&cell, row ? "" : columns[c].title);
		if (row)
			add_cell(row, c, &cell);
		add_padded(&line, cell.at, l->width[c], c, row && c == NAME);
	}
	add_line(v, style, &line);
}

void view_add_node(struct view *v, const struct board *b, const struct view_choice *c, size_t width)
{
	auto_str struct str first = { 0 }, second = { 0 };

	str_addf(&first, "sysflame top  %s  %s  %d CPU%s, busy ", c->host, c->time, b->load.nr_cpus,
		 b->load.nr_cpus == 1 ? "" : "s");
	add_percent(&first, b->load.busy);
	str_addf(&first, " %%  load %.2f %.2f %.2f%s", b->load.load[0], b->load.load[1],
		 b->load.load[2], c->is_paused ? "  PAUSED" : "");
	add_cut(v, LINE_HEAD, first.at, width);

	str_addf(&second, "%zu JVM%s ", b->rows.nr, b->rows.nr == 1 ? "" : "s");
	add_percent(&second, b->passed_ns ? board_cpu(b) : RATE_UNKNOWN);
	str_add(&second, " %  others ");
	add_percent(&second, b->other);
	str_add(&second, " %  stolen ");
	add_percent(&second, b->load.stolen);
	str_add(&second, " %  sysflame ");
	add_percent(&second, b->own);
	str_addf(&second, " %%  by %s", board_key_name(c->key));
	if (*c->filter)
		str_addf(&second, "  filter: %s", c->filter);
	add_cut(v, LINE_HEAD, second.at, width);
}

const struct jvm_row *view_row(const struct board *b, const struct view_choice *c, size_t i)
{
	vec_each(row, &b->rows)
		if (board_matches(row, c->filter) && !i--)
			return row;
	return NULL;
}

size_t view_nr_rows(const struct board *b, const struct view_choice *c)
{
	size_t nr = 0;

	vec_each(row, &b->rows)
		nr += board_matches(row, c->filter);
	return nr;
}

void view_add_rows(struct view *v, const struct board *b, const struct view_choice *c, size_t first,
		   size_t nr, size_t width)
{
	struct layout l = fit(b, width);
	const struct jvm_row *row;

	add_row(v, NULL, &l, LINE_TITLES);
	for (size_t i = first; i < first + nr && (row = view_row(b, c, i)); i++)
		add_row(v, row, &l,
			process_id_same(row->id, c->selected) ? LINE_SELECTED : LINE_PLAIN);
	if (!b->rows.nr)
		add_cut(v, LINE_DIM,
			c->has_pids ? "none of the chosen processes is a JVM that can be seen"
				    : "no JVM is running here that can be seen",
			width);
	else if (!view_nr_rows(b, c))
		add_cut(v, LINE_DIM, "no JVM matches the filter", width);
}

static void add_method(struct view *v, const struct hot_method_share *m, u64 nr_samples,
		       size_t width)
{
	struct str line = { 0 };
	double each = nr_samples ? 100.0 / (double)nr_samples : 0;

	str_addf(&line, "%6.1f%% %6.1f%%  ", (double)m->self * each, (double)m->total * each);
	short_name_add(&line, m->name, m->is_java, width > line.len ? width - line.len : 1);
	add_line(v, m->is_java ? LINE_JAVA : LINE_PLAIN, &line);
}

void view_add_methods(struct view *v, const struct jvm_row *row, const struct hot_list *methods,
		      const struct view_choice *c, size_t nr, size_t width)
{
	auto_str struct str title = { 0 };

	str_addf(&title, "   SELF   TOTAL  METHOD of %d: ", (int)row->id.pid);
	if (c->no_methods)
		str_addf(&title, "no methods: %s", c->no_methods);
	else
		str_addf(&title, "%llu samples of CPU time, last %llu s",
			 (unsigned long long)methods->nr_samples, HOT_WINDOW_NS / NS_PER_SEC);
	if (row->gap)
		str_addf(&title, "; %s", row->gap);
	add_cut(v, LINE_TITLES, title.at, width);
	for (size_t i = 0; i < nr && i < methods->all.nr; i++)
		add_method(v, &methods->all.at[i], methods->nr_samples, width);
}

void view_add_help(struct view *v)
{
	static const char *const lines[] = {
		"Up Down j k PgUp PgDn   select a JVM         /   filter by name, container, PID",
		"c a g i m t b P n       sort: CPU alloc GC JIT heap threads blocked PID name",
		"s                       sort by the next     p   pause       q   quit",
		"Enter                   record a flame graph of the JVM for 10 s",
		"",
		"CPU% GC% JIT%  100 is one CPU. GC, JIT: CPU time of the JVM's own threads; in "
		"CPU%.",
		"ALLOC/s        bytes allocated in the Java heap, from the threads' own counters;",
		"               + : threads ended meanwhile, their last bytes are missing",
		"R/N/B/W        Java threads that run, are in native code or system calls, are",
		"               blocked by a monitor, wait (parked, asleep, Object.wait, idle)",
		"VIRT R/W/P     virtual threads that run, wait, and are pinned to their carrier",
		"HEAP           used/committed, as the JVM last published it    GCS  collections",
		"SELF TOTAL     share of the JVM's samples (19 Hz) with the method at the top,",
		"               and with the method anywhere on the stack",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		add_cut(v, LINE_PLAIN, lines[i], SIZE_MAX);
}
