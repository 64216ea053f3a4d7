/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the table of requests by route or another label. Part of export/writers/text.h. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/dict.h"
#include "base/str.h"
#include "base/time.h"
#include "export/interchange/named_label.h"
#include "export/writers/amount.h"
#include "export/writers/text.h"
#include "profile/count.h"
#include "profile/slots.h"

#define TYPES_SHOWN 4

/* One value of the label. */
struct row {
	char *value;
	u64 *sums;             /* by type */
	u64 nr_requests;       /* traces */
	u64 nr_timed;          /* of these, with a time */
	u64 median_ns, p99_ns; /* of these, nearest rank; valid if nr_timed */
};

/* The samples of one trace with one value of the label. */
struct request {
	u32 row;
	u64 first, last; /* slots; first > last: without a time */
};

struct table {
	const struct profile *p;
	VEC(struct row) rows;
	VEC(struct request) requests;
	u32 *row_of;             /* by labels_id */
	struct dict row_by_text; /* hash of the value -> row + 1 */
	struct dict of_trace;    /* hash of the trace ^ row -> request + 1 */
};

static u32 find_row(struct table *t, const char *value)
{
	u64 *known = dict_add(&t->row_by_text, hash_keyed(value, strlen(value)));

	if (!*known) {
		vec_push(&t->rows,
			 (struct row){ .value = xstrdup(value),
				       .sums = xcalloc(t->p->types.nr + 1, sizeof(u64)) });
		*known = t->rows.nr;
	}
	return (u32)*known - 1;
}

static void find_rows(struct table *t, const struct named_label *by)
{
	t->row_of = xcalloc(t->p->labels.nr + 1, sizeof(t->row_of[0]));
	for (labels_id id = 0; id < t->p->labels.nr; id++) {
		auto_free char *value = by ? named_label_shown(&t->p->labels.at[id], by) : NULL;
		t->row_of[id] = find_row(t, value && *value ? value : by ? "(none)" : "(all)");
	}
}

static struct request *find_request(struct table *t, u32 row, const char *trace)
{
	u64 hash = hash_keyed(trace, strlen(trace));
	u64 *known = dict_add(&t->of_trace, hash_u64(hash ^ hash_u64(row)));

	if (!*known) {
		vec_push(&t->requests, (struct request){ .row = row, .first = UINT64_MAX });
		*known = t->requests.nr;
		t->rows.at[row].nr_requests++;
	}
	return &t->requests.at[*known - 1];
}

static void add_weights(struct table *t)
{
	vec_each(w, &t->p->weights) {
		const struct labels *l = &t->p->labels.at[w->labels];
		u32 row = t->row_of[w->labels];
		struct slots slots;

		t->rows.at[row].sums[w->type] += w->value;
		if (!*l->trace || !w->value)
			continue;
		struct request *r = find_request(t, row, l->trace);
		if (!t->p->slot_ns || !slots_parse(l->time, &slots))
			continue;
		r->first = slots.first < r->first ? slots.first : r->first;
		r->last = slots.end - 1 > r->last ? slots.end - 1 : r->last;
	}
}

static int by_row_and_length(const void *a, const void *b)
{
	const struct request *x = a, *y = b;
	u64 of_x = x->last - x->first, of_y = y->last - y->first;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return of_x < of_y ? -1 : of_x > of_y;
}

/* The nearest rank: of 5 numbers, the third is the median. */
static u64 rank(u64 nr, u64 per_cent)
{
	return (nr * per_cent + 99) / 100 - 1;
}

static void find_percentiles(struct table *t)
{
	struct request *all = t->requests.at;
	size_t nr = 0;

	for (size_t i = 0; i < t->requests.nr; i++)
		if (all[i].first <= all[i].last)
			all[nr++] = all[i];
	if (nr)
		qsort(all, nr, sizeof(all[0]), by_row_and_length);
	for (size_t i = 0, end; i < nr; i = end) {
		struct row *row = &t->rows.at[all[i].row];
		for (end = i; end < nr && all[end].row == all[i].row;)
			end++;
		const struct request *median = &all[i + rank(end - i, 50)];
		const struct request *p99 = &all[i + rank(end - i, 99)];
		row->nr_timed = end - i;
		row->median_ns = (median->last - median->first) * t->p->slot_ns;
		row->p99_ns = (p99->last - p99->first) * t->p->slot_ns;
	}
}

/* The slowest first. */
static int by_slowness(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->p99_ns != y->p99_ns)
		return x->p99_ns > y->p99_ns ? -1 : 1;
	if (x->nr_requests != y->nr_requests)
		return x->nr_requests > y->nr_requests ? -1 : 1;
	if (x->sums[0] != y->sums[0])
		return x->sums[0] > y->sums[0] ? -1 : 1;
	return strcmp(x->value, y->value);
}

/* Samples within one slot say only that the request may be shorter than it. */
static void add_time(struct str *line, const struct table *t, const struct row *row, u64 ns)
{
	auto_str struct str text = { 0 };

	if (!row->nr_timed)
		str_add(&text, "-");
	else if (!ns)
		str_add(&text, "< ");
	if (row->nr_timed)
		amount_add(&text, ns ?: t->p->slot_ns, "ns");
	str_addf(line, " %10s", text.at);
}

static void print_row(const struct table *t, const struct row *row, const u32 *types, u32 nr_types,
		      size_t width, FILE *out)
{
	auto_str struct str line = { 0 };
	char digits[GROUPED_BYTES];

	str_addf(&line, "%9s", grouped(row->nr_requests, digits));
	add_time(&line, t, row, row->median_ns);
	add_time(&line, t, row, row->p99_ns);
	for (u32 i = 0; i < nr_types; i++) {
		auto_str struct str amount = { 0 };
		amount_add(&amount, row->sums[types[i]], t->p->types.at[types[i]].unit);
		str_addf(&line, " %11s", amount.at);
	}
	str_add(&line, "   ");
	size_t used = text_width(line.at);
	short_name_add(&line, row->value, false, width > used + 16 ? width - used : 16);
	fprintf(out, "%s\n", line.at);
}

static void print_table(const struct table *t, const char *name, size_t nr, size_t width, FILE *out)
{
	u32 types[TYPES_SHOWN], nr_types = 0;
	char digits[GROUPED_BYTES];

	for (u32 i = 0; i < t->p->types.nr && nr_types < TYPES_SHOWN; i++)
		if (!count_is_only(t->p, i))
			types[nr_types++] = i;
	fprintf(out, "%9s %10s %10s", "REQUESTS", "P50", "P99");
	for (u32 i = 0; i < nr_types; i++)
		fprintf(out, " %11.11s", t->p->types.at[types[i]].name);
	fprintf(out, "   %s\n", name);
	for (size_t i = 0; i < nr && i < t->rows.nr; i++)
		print_row(t, &t->rows.at[i], types, nr_types, width, out);
	if (t->rows.nr > nr)
		fprintf(out, "%s more\n", grouped(t->rows.nr - nr, digits));
}

void text_requests(const struct profile *p, const char *name, const struct named_label *by,
		   size_t nr, size_t width, FILE *out)
{
	struct table t = { .p = p };

	find_rows(&t, by);
	add_weights(&t);
	find_percentiles(&t);
	if (t.rows.nr)
		qsort(t.rows.at, t.rows.nr, sizeof(t.rows.at[0]), by_slowness);
	print_table(&t, name, nr, width, out);
	if (p->slot_ns) {
		auto_str struct str slot = { 0 };
		amount_add(&slot, p->slot_ns, "ns");
		fprintf(out,
			"P50 and P99: from the first to the last sample of a trace, to %s; "
			"requests "
			"last at least as long\n",
			slot.at);
	} else {
		fputs("the samples have no times; record with --timeline\n", out);
	}
	vec_each(row, &t.rows) {
		free(row->value);
		free(row->sums);
	}
	vec_fini(&t.rows);
	vec_fini(&t.requests);
	dict_fini(&t.row_by_text);
	dict_fini(&t.of_trace);
	free(t.row_of);
}
