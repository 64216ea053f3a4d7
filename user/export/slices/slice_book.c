/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the records of a book. */
#include "export/slices/slice_book.h"

#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/utf8.h"
#include "export/format/section.h"
#include "export/format/varint.h"

#define DIMS_MAX 64

void slice_book_fini(struct slice_book *b)
{
	str_fini(&b->texts);
	vec_fini(&b->names);
	vec_fini(&b->dims);
	vec_fini(&b->types);
	vec_fini(&b->frames);
	vec_fini(&b->nodes);
	vec_fini(&b->sets);
	vec_each(context, &b->contexts)
		vec_fini(&context->callees);
	vec_fini(&b->contexts);
	vec_fini(&b->notes);
	vec_fini(&b->weights);
	*b = (struct slice_book){ 0 };
}

const char *slice_book_name(const struct slice_book *b, u32 index)
{
	return b->texts.at + b->names.at[index];
}

const char *slice_book_text(const struct slice_book *b, u32 index_plus_one)
{
	return index_plus_one ? slice_book_name(b, index_plus_one - 1) : "";
}

/*
 * Reads the number of elements that follow. Each takes at least a byte, thus more than the bytes
 * left are an error.
 */
static size_t read_count(struct cursor *c, u64 max)
{
	u64 nr = varint_read(c);

	if (nr > max || nr > (u64)(c->end - c->at))
		c->is_bad = true;
	return c->is_bad ? 0 : (size_t)nr;
}

static u32 read_u32(struct cursor *c)
{
	u64 value = varint_read(c);

	if (value > UINT32_MAX)
		c->is_bad = true;
	return c->is_bad ? 0 : (u32)value;
}

/* The index that a reference means. */
static u32 resolve_name(struct slice_book *b, struct cursor *c, u64 ref)
{
	u64 index = ref ? ref - 1 : b->fresh_name;

	if (index >= b->names.nr)
		c->is_bad = true;
	if (c->is_bad)
		return 0;
	b->fresh_name += !ref;
	return (u32)index;
}

static u32 read_name(struct slice_book *b, struct cursor *c)
{
	return resolve_name(b, c, varint_read(c));
}

/* Index + 1, or 0. */
static u32 read_optional_name(struct slice_book *b, struct cursor *c)
{
	u64 ref = varint_read(c);

	return ref ? resolve_name(b, c, ref - 1) + 1 : 0;
}

static u32 read_zigzag(struct cursor *c, u32 before)
{
	u64 code = varint_read(c);
	s64 value = (s64)before + (code & 1 ? -(s64)(code / 2) - 1 : (s64)(code / 2));

	if (value < 0 || value > UINT32_MAX)
		c->is_bad = true;
	return c->is_bad ? 0 : (u32)value;
}

/* Cleans the name: files of earlier writers have names of threads as they were. */
static bool add_name(struct str *texts, const u8 *bytes, u64 len)
{
	auto_free char *raw = xstrndup((const char *)bytes, len);
	auto_str struct str clean = { 0 };

	str_add(texts, utf8_cleaned(raw, SIZE_MAX, &clean));
	str_add_char(texts, '\0');
	return strlen(raw) == len;
}

static void read_names(struct slice_book *b, struct cursor *c)
{
	size_t nr = read_count(c, SLICE_NAMES_MAX - b->names.nr);
	struct cursor lens = *c;

	for (size_t i = 0; i < nr; i++)
		varint_read(c);
	for (size_t i = 0; i < nr && !c->is_bad; i++) {
		u64 len = varint_read(&lens);
		const u8 *text = bytes_read(c, len);
		if (!text || b->texts.len + len >= SLICE_NAME_BYTES_MAX + SLICE_NAMES_MAX) {
			c->is_bad = true;
			return;
		}
		vec_push(&b->names, (u32)b->texts.len);
		c->is_bad |= !add_name(&b->texts, text, len);
	}
}

static int find_dim(const char *key)
{
	for (int i = 0; i < NR_LABELS; i++)
		if (!strcmp(label_names[i].key, key))
			return i;
	return -1;
}

static void read_dims(struct slice_book *b, struct cursor *c)
{
	size_t nr = read_count(c, DIMS_MAX);

	for (size_t i = 0; i < nr; i++) {
		u32 name = read_name(b, c);
		vec_push(&b->dims, c->is_bad ? -1 : find_dim(slice_book_name(b, name)));
	}
}

static void read_types(struct slice_book *b, struct cursor *c)
{
	size_t nr = read_count(c, SLICE_TYPES_MAX - b->types.nr);

	for (size_t i = 0; i < nr; i++) {
		struct book_type t = { .name = read_name(b, c), .unit = read_name(b, c) };
		u64 role = varint_read(c);
		c->is_bad |= role >= NR_VALUE_ROLES;
		t.role = c->is_bad ? VALUE_NONE : (enum value_role)role;
		vec_push(&b->types, t);
	}
}

static void read_frame_texts(struct slice_book *b, struct cursor *c, size_t first)
{
	const u8 *kinds = bytes_read(c, b->frames.nr - first);

	for (size_t i = first; kinds && i < b->frames.nr; i++) {
		u8 kind = kinds[i - first];
		b->frames.at[i].kind = kind & 15;
		b->frames.at[i].is_inlined = kind >> 4 & 1;
		b->frames.at[i].line = kind >> 5 & 1;
		c->is_bad |= kind >> 6 || (kind & 15) >= NR_FRAME_KINDS;
	}
	for (size_t i = first; i < b->frames.nr; i++)
		b->frames.at[i].module = read_optional_name(b, c);
	for (size_t i = first; i < b->frames.nr; i++) {
		if (!b->frames.at[i].line)
			continue;
		b->frames.at[i].line = read_u32(c);
		b->frames.at[i].file = read_optional_name(b, c);
	}
}

static void read_frames(struct slice_book *b, struct cursor *c)
{
	size_t first = b->frames.nr, nr = read_count(c, SLICE_FRAMES_MAX - first);

	for (size_t i = 0; i < nr; i++)
		vec_push(&b->frames, (struct book_frame){ .name = read_name(b, c) });
	if (!c->is_bad)
		read_frame_texts(b, c, first);
}

static u32 read_new_callee(struct slice_book *b, struct cursor *firsts, u32 context)
{
	u64 ref = varint_read(firsts), frame = ref ? ref - 1 : b->fresh_frame;

	if (frame >= b->frames.nr)
		firsts->is_bad = true;
	if (firsts->is_bad)
		return 0;
	b->fresh_frame += !ref;
	while (b->contexts.nr <= context)
		vec_push(&b->contexts, (struct book_context){ 0 });
	vec_push(&b->contexts.at[context].callees, (u32)frame);
	return (u32)frame;
}

static u32 read_callee(struct slice_book *b, struct cursor *places, struct cursor *firsts,
		       u32 context)
{
	u64 place = varint_read(places);

	if (places->is_bad)
		return 0;
	if (!place)
		return read_new_callee(b, firsts, context);
	if (context >= b->contexts.nr || place > b->contexts.at[context].callees.nr) {
		places->is_bad = true;
		return 0;
	}
	return b->contexts.at[context].callees.at[place - 1];
}

/* Moves past `nr` varints. */
static void skip_varints(struct cursor *c, size_t nr)
{
	for (size_t i = 0; i < nr && !c->is_bad; i++)
		varint_read(c);
}

static void read_nodes(struct slice_book *b, struct cursor *c)
{
	if (!b->nodes.nr)
		vec_push(&b->nodes, (struct book_node){ 0 });

	size_t nr = read_count(c, SLICE_NODES_MAX - b->nodes.nr);
	struct cursor parents = *c, places = *c;
	skip_varints(&places, nr);
	*c = places;
	skip_varints(c, nr);
	c->is_bad |= places.is_bad;
	for (size_t i = 0; i < nr && !c->is_bad; i++) {
		u64 back = varint_read(&parents);
		if (back >= b->nodes.nr) {
			c->is_bad = true;
			return;
		}
		u32 parent = (u32)(b->nodes.nr - 1 - back);
		u32 context = parent ? b->nodes.at[parent].frame + 1 : 0;
		struct book_node n = { .parent = parent,
				       .frame = read_callee(b, &places, c, context),
				       .depth = b->nodes.at[parent].depth + 1,
				       .own = NODE_NONE };
		c->is_bad |= places.is_bad || n.depth > FORMAT_DEPTH_MAX;
		vec_push(&b->nodes, n);
	}
}

static void read_sets(struct slice_book *b, struct cursor *c)
{
	size_t first = b->sets.nr, nr = read_count(c, SLICE_SETS_MAX - first);
	u32 pid = 0;

	for (size_t i = 0; i < nr; i++) {
		pid = read_zigzag(c, pid);
		vec_push(&b->sets, (struct book_set){ .pid = pid });
	}
	for (size_t i = first; i < b->sets.nr; i++)
		b->sets.at[i].tid = read_zigzag(c, b->sets.at[i].pid);
	vec_each(dim, &b->dims) {
		for (size_t i = first; i < b->sets.nr && !c->is_bad; i++) {
			u32 text = read_optional_name(b, c);
			if (*dim >= 0)
				b->sets.at[i].text[*dim] = text;
		}
	}
}

static void read_facts(struct slice_book *b, struct cursor *c)
{
	b->rate_hz = (double)varint_read(c) / 1000;
	b->host = read_optional_name(b, c);
	b->target = read_optional_name(b, c);
	size_t nr = read_count(c, SLICE_NOTES_MAX);
	b->notes.nr = 0;
	for (size_t i = 0; i < nr; i++) {
		struct book_note n;
		n.key = read_name(b, c); /* one by one: an initializer has no order */
		n.text = read_optional_name(b, c);
		n.value = varint_read(c);
		vec_push(&b->notes, n);
	}
}

struct place {
	u32 set, node;
};

struct places {
	VEC(struct place) all;
};

static void read_places(struct slice_book *b, struct cursor *c, struct places *out)
{
	size_t nr_sets = read_count(c, b->sets.nr);
	struct cursor sets = *c, counts = *c;
	u64 set = 0;

	skip_varints(&counts, nr_sets);
	*c = counts;
	skip_varints(c, nr_sets);
	for (size_t i = 0; i < nr_sets && !c->is_bad; i++) {
		u64 delta = varint_read(&sets), node = 0;
		size_t nr = read_count(&counts, b->nodes.nr);
		set += delta;
		c->is_bad |= sets.is_bad || counts.is_bad || set >= b->sets.nr || (i && !delta) ||
			     nr > (u64)(c->end - c->at);
		for (size_t k = 0; k < nr && !c->is_bad; k++) {
			u64 step = varint_read(c);
			node += step;
			c->is_bad |= !step || node >= b->nodes.nr;
			vec_push(&out->all, (struct place){ (u32)set, (u32)node });
		}
	}
}

/* The weights of one type at all places. */
static void read_values(struct slice_book *b, struct cursor *c, const struct places *places)
{
	u64 type = varint_read(c), divisor = varint_read(c);

	c->is_bad |= type >= b->types.nr || !divisor;
	for (size_t i = 0; i < places->all.nr && !c->is_bad; i++) {
		u64 value = varint_read(c);
		c->is_bad |= value > VARINT_MAX / (divisor ?: 1);
		if (value && !c->is_bad)
			vec_push(&b->weights, (struct book_weight_read){
						      places->all.at[i].set, places->all.at[i].node,
						      (u32)type, value * divisor });
	}
}

static void read_weights(struct slice_book *b, struct cursor *c)
{
	struct places places = { 0 };

	b->weights.nr = 0;
	read_places(b, c, &places);
	size_t nr_types = read_count(c, b->types.nr);
	for (size_t i = 0; i < nr_types && !c->is_bad; i++)
		read_values(b, c, &places);
	vec_fini(&places.all);
}

int slice_book_read(struct slice_book *b, const u8 *body, size_t len)
{
	struct cursor c = { .at = body, .end = body + len };
	bool begins = b->nodes.nr == 0;

	read_names(b, &c);
	if (begins && !c.is_bad)
		read_dims(b, &c);
	static void (*const parts[])(struct slice_book * b,
				     struct cursor * c) = { read_types, read_frames, read_nodes,
							    read_sets,  read_facts,  read_weights };
	for (size_t i = 0; i < ARRAY_SIZE(parts) && !c.is_bad; i++)
		parts[i](b, &c);
	return c.is_bad || c.at != c.end ? -EINVAL : 0;
}
