/* SPDX-License-Identifier: Apache-2.0 */
/* A limit for the numbers of traces and spans. */
#include "export/format/traces.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dict.h"
#include "profile/slots.h"

struct trace {
	u64 last;  /* slot after its last sample; 0 without times */
	u32 first; /* the first label set that has it */
	u32 index;
	u64 bytes; /* of its text and those of its spans */
};

struct traces {
	VEC(struct trace) all;
	struct dict of_text, of_span; /* hash -> index + 1; hash of trace and span -> 1 */
	u32 *of_labels;               /* by labels_id: index + 1 */
	u64 bytes;
};

static u64 hash_of(const char *text)
{
	return hash_keyed(text, strlen(text));
}

static void add_bytes(struct traces *t, struct trace *trace, const char *text)
{
	trace->bytes += strlen(text);
	t->bytes += strlen(text);
}

static void add_labels(struct traces *t, const struct labels *l, labels_id id)
{
	u64 hash = hash_of(l->trace), *known = dict_add(&t->of_text, hash);
	struct slots slots;

	if (!*known) {
		u32 index = (u32)t->all.nr;
		vec_push(&t->all, (struct trace){ .first = id, .index = index });
		*known = t->all.nr;
		add_bytes(t, &t->all.at[index], l->trace);
	}
	struct trace *trace = &t->all.at[*known - 1];
	t->of_labels[id] = (u32)*known;
	if (slots_parse(l->time, &slots) && slots.end > trace->last)
		trace->last = slots.end;
	u64 *span = dict_add(&t->of_span, hash_u64(hash ^ hash_u64(hash_of(l->span))));
	if (!*span)
		add_bytes(t, trace, l->span);
	*span = 1;
}

static int by_age(const void *a, const void *b)
{
	const struct trace *x = a, *y = b;

	if (x->last != y->last)
		return x->last < y->last ? -1 : 1;
	return x->first < y->first ? -1 : 1;
}

static u64 leave_out(struct traces *t, u64 max_bytes, size_t nr_labels, u8 *is_out)
{
	u8 *is_trace_out = xcalloc(t->all.nr + 1, 1);
	u64 nr = 0;

	qsort(t->all.at, t->all.nr, sizeof(t->all.at[0]), by_age);
	for (; t->bytes > max_bytes; nr++) {
		t->bytes -= t->all.at[nr].bytes;
		is_trace_out[t->all.at[nr].index + 1] = 1;
	}
	for (size_t id = 0; id < nr_labels; id++)
		is_out[id] = is_trace_out[t->of_labels[id]];
	free(is_trace_out);
	return nr;
}

u64 traces_limit(const struct profile *p, const u8 *used, u64 max_bytes, u8 *is_out)
{
	struct traces t = { .of_labels = xcalloc(p->labels.nr + 1, sizeof(t.of_labels[0])) };
	u64 nr = 0;

	for (labels_id id = 0; id < p->labels.nr; id++)
		if (used[id] && *p->labels.at[id].trace)
			add_labels(&t, &p->labels.at[id], id);
	if (t.bytes > max_bytes)
		nr = leave_out(&t, max_bytes, p->labels.nr, is_out);
	vec_fini(&t.all);
	dict_fini(&t.of_text);
	dict_fini(&t.of_span);
	free(t.of_labels);
	return nr;
}
