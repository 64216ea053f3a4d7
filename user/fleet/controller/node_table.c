/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by node, service and method. */
#include "fleet/controller/node_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "export/format/varint.h"

#define NO_TEXT     UINT32_MAX
#define TEXTS_BYTES (16u << 20) /* hostile nodes invent names */
#define NAMED       3
#define NAME_SHOWN  80

struct node_text {
	u32 index;
	UT_hash_handle hh;
	char text[];
};

void node_table_fini(struct node_table *t)
{
	struct node_text *one, *next;

	HASH_ITER(hh, t->by_text, one, next) {
		HASH_DEL(t->by_text, one);
		free(one);
	}
	vec_fini(&t->texts);
	vec_fini(&t->rows);
}

u32 node_table_text(struct node_table *t, const char *text)
{
	size_t size = strlen(text) + 1;
	struct node_text *one;

	HASH_FIND(hh, t->by_text, text, size - 1, one);
	if (one)
		return one->index;
	if (t->bytes + size > TEXTS_BYTES)
		return NO_TEXT;
	one = xcalloc(1, sizeof(*one) + size);
	memcpy(one->text, text, size);
	one->index = (u32)t->texts.nr;
	HASH_ADD(hh, t->by_text, text, size - 1, one);
	vec_push(&t->texts, one->text);
	t->bytes += size;
	return one->index;
}

static char *type_text(const struct value_type *type)
{
	return xasprintf("%s/%s", type->name, type->unit);
}

u32 node_table_type(const struct node_table *t, const struct value_type *type)
{
	auto_free char *text = type_text(type);
	struct node_text *one;

	HASH_FIND(hh, t->by_text, text, strlen(text), one);
	return one ? one->index : NO_TEXT;
}

const char *node_table_service(const struct labels *l)
{
	const char *name = l->service && *l->service ? l->service : l->comm ?: "";

	return *name ? name : "(no name)";
}

/* Sums of a node, by text. */
struct adding {
	struct node_table *t;
	VEC(u64) sums;
	VEC(u32) used;
};

static void add_value(struct adding *a, const char *name, u64 value)
{
	u32 text = value ? node_table_text(a->t, name) : NO_TEXT;

	if (text == NO_TEXT)
		return;
	while (a->sums.nr <= text)
		vec_push(&a->sums, 0);
	u64 *sum = &a->sums.at[text];
	if (!*sum)
		vec_push(&a->used, text);
	*sum = value > VARINT_MAX - *sum ? VARINT_MAX : *sum + value;
}

static void add_rows(struct adding *a, u32 node, u32 type, enum node_row_kind kind)
{
	vec_each(text, &a->used) {
		const struct node_row row = { node, type, *text, kind, a->sums.at[*text] };
		vec_push(&a->t->rows, row);
		a->sums.at[*text] = 0;
	}
	a->used.nr = 0;
}

static int by_value(const void *a, const void *b)
{
	const struct node_row *x = a, *y = b;

	return (x->value < y->value) - (x->value > y->value);
}

static void add_type(struct adding *a, u32 node, const struct profile *p, u32 type,
		     struct naming *names)
{
	auto_free u64 *services = xcalloc(p->labels.nr + 1, sizeof(u64));
	auto_free u64 *selfs = xcalloc(frames_nr(p->frames) + 1, sizeof(u64));
	auto_free char *text = type_text(&p->types.at[type]);
	u32 number = node_table_text(a->t, text);

	if (number == NO_TEXT)
		return;
	vec_each(w, &p->weights) {
		if (w->type != type)
			continue;
		services[w->labels] += w->value;
		selfs[p->nodes.at[w->node].frame] += w->value;
	}
	for (labels_id l = 0; l < p->labels.nr; l++)
		add_value(a, node_table_service(&p->labels.at[l]), services[l]);
	add_rows(a, node, number, NODE_ROW_SERVICE);
	for (frame_id f = 0; f < frames_nr(p->frames); f++)
		if (selfs[f])
			add_value(a, naming_name(names, f), selfs[f]);
	add_rows(a, node, number, NODE_ROW_METHOD);
}

void node_table_add(struct node_table *t, u32 node, const struct profile *p, struct naming *names)
{
	struct adding a = { .t = t };
	size_t before = t->rows.nr;

	for (u32 type = 0; type < p->types.nr; type++)
		add_type(&a, node, p, type, names);
	if (t->rows.nr - before > NODE_TABLE_ROWS) {
		qsort(&t->rows.at[before], t->rows.nr - before, sizeof(t->rows.at[0]), by_value);
		t->rows.nr = before + NODE_TABLE_ROWS;
	}
	vec_fini(&a.sums);
	vec_fini(&a.used);
}

void node_table_drop(struct node_table *t, u32 node)
{
	while (t->rows.nr && t->rows.at[t->rows.nr - 1].node >= node)
		t->rows.nr--;
}

void node_table_encode(const struct node_table *t, struct str *out)
{
	varint_add(out, t->texts.nr);
	vec_each(text, &t->texts) {
		size_t len = strlen(*text);
		varint_add(out, len);
		str_add_bytes(out, *text, len);
	}
	varint_add(out, t->rows.nr);
	vec_each(r, &t->rows) {
		varint_add(out, r->node);
		varint_add(out, (u64)r->type * NR_NODE_ROW_KINDS + r->kind);
		varint_add(out, r->name);
		varint_add(out, r->value);
	}
}

struct node_texts {
	VEC(u32) all; /* by index in the bytes */
};

static void decode_texts(struct node_table *t, struct cursor *c, struct node_texts *out)
{
	for (u64 nr = varint_read(c); nr && !c->is_bad; nr--) {
		u64 len = varint_read(c);
		const u8 *at = bytes_read(c, len);
		if (!at)
			return;
		auto_free char *text = xasprintf("%.*s", (int)len, (const char *)at);
		vec_push(&out->all, node_table_text(t, text));
	}
}

static void decode_row(struct node_table *t, struct cursor *c, const struct node_texts *texts,
		       u32 first, u32 nr)
{
	u64 node = varint_read(c), type = varint_read(c), name = varint_read(c);
	const enum node_row_kind kind = type % NR_NODE_ROW_KINDS;
	u64 value = varint_read(c);

	type /= NR_NODE_ROW_KINDS;
	c->is_bad |= node >= nr || type >= texts->all.nr || name >= texts->all.nr;
	if (c->is_bad || texts->all.at[type] == NO_TEXT || texts->all.at[name] == NO_TEXT)
		return;
	const struct node_row row = { first + (u32)node, texts->all.at[type], texts->all.at[name],
				      kind, value };
	c->is_bad |= t->rows.nr && t->rows.at[t->rows.nr - 1].node > row.node;
	vec_push(&t->rows, row);
}

int node_table_decode(struct node_table *t, const void *bytes, size_t len, u32 first, u32 nr)
{
	struct cursor c = { bytes, (const u8 *)bytes + len, false };
	struct node_texts texts = { 0 };

	decode_texts(t, &c, &texts);
	for (u64 rows = varint_read(&c); rows && !c.is_bad; rows--)
		decode_row(t, &c, &texts, first, nr);
	vec_fini(&texts.all);
	return c.is_bad || c.at != c.end ? -EBADMSG : 0;
}

static size_t first_row(const struct node_table *t, u32 node)
{
	size_t low = 0, high = t->rows.nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (t->rows.at[middle].node < node)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void node_table_name(const struct node_table *t, u32 node, struct str *out)
{
	const struct node_row *most[NAMED + 1] = { 0 };
	size_t i = first_row(t, node);
	u32 type = i < t->rows.nr ? t->rows.at[i].type : NO_TEXT;
	double all = 0;

	for (; i < t->rows.nr && t->rows.at[i].node == node; i++) {
		const struct node_row *r = &t->rows.at[i];
		if (r->kind != NODE_ROW_METHOD || r->type != type)
			continue;
		all += (double)r->value;
		u32 at = NAMED;
		for (; at && (!most[at - 1] || most[at - 1]->value < r->value); at--)
			most[at] = most[at - 1];
		most[at] = r;
	}
	for (u32 n = 0; n < NAMED && most[n]; n++) {
		str_add(out, n ? ", " : "");
		utf8_clean(out, t->texts.at[most[n]->name], NAME_SHOWN);
		str_addf(out, " %.1f %%", 100 * (double)most[n]->value / all);
	}
}
