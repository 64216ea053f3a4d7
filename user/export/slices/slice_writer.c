/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes the slices of continuous profiling. */
#include "export/slices/slice_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/dict.h"
#include "base/str.h"
#include "base/time.h"
#include "export/format/section.h"
#include "export/format/varint.h"
#include "export/slices/slice_record.h"

#define HOUR_NS (3600 * NS_PER_SEC)

/* How much of the book's dictionary is already in the records written so far. */
struct written {
	u32 frames, types;
	size_t nodes, sets;
};

struct slice_writer {
	struct profile *book; /* the dictionary: types, frames, nodes, label sets; no weights */
	struct written written;
	VEC(char *) names;
	struct dict name_of; /* hash -> index + 1; equal hashes probe on */
	size_t name_bytes;
	VEC(u32) nr_callees; /* by context: frame of the parent + 1, 0 at the root */
	struct dict callees; /* (context << 32 | frame) -> its place, from 1 on */
	u32 number;          /* of the next record; 0 begins a book */
	u32 id;
	u64 hour;
};

/* A weight of the slice in the book's numbers. */
struct book_weight {
	labels_id set;
	node_id node;
	u32 type;
	u64 value;
};

struct book_weights {
	VEC(struct book_weight) all;
};

static void end_book(struct slice_writer *w)
{
	profile_free(w->book);
	vec_each(name, &w->names)
		free(*name);
	vec_fini(&w->names);
	dict_fini(&w->name_of);
	vec_fini(&w->nr_callees);
	dict_fini(&w->callees);
}

static void begin_book(struct slice_writer *w)
{
	*w = (struct slice_writer){ .book = profile_new(), .hour = w->hour, .id = w->id };
	frames_keep_lines(w->book->frames);
	w->written.nodes = 1; /* the root */
}

struct slice_writer *slice_writer_new(void)
{
	struct slice_writer *w = xcalloc(1, sizeof(*w));

	begin_book(w);
	return w;
}

void slice_writer_free(struct slice_writer *w)
{
	if (!w)
		return;
	end_book(w);
	free(w);
}

void slice_writer_begin(struct slice_writer *w)
{
	end_book(w);
	begin_book(w);
}

size_t slice_writer_bytes(const struct slice_writer *w)
{
	return profile_bytes(w->book) + w->name_bytes + w->names.cap * sizeof(w->names.at[0]) +
	       dict_bytes(&w->name_of) + w->nr_callees.cap * sizeof(w->nr_callees.at[0]) +
	       dict_bytes(&w->callees);
}

size_t slice_writer_nr(const struct slice_writer *w)
{
	return w->book->nodes.nr + w->book->labels.nr;
}

/* A reference to a name: 0 is the next name that was never referred to. */
static u64 name_ref(struct slice_writer *w, const char *raw)
{
	auto_str struct str storage = { 0 };
	const char *text = utf8_cleaned(raw, SIZE_MAX, &storage);
	size_t len = strlen(text);
	u64 key = hash_keyed(text, len), *at;

	for (; *(at = dict_add(&w->name_of, key)); key++)
		if (!strcmp(w->names.at[*at - 1], text))
			return *at;
	vec_push(&w->names, xstrdup(text));
	w->name_bytes += len;
	*at = w->names.nr;
	return 0;
}

static void add_name(struct slice_writer *w, const char *text, struct str *out)
{
	varint_add(out, name_ref(w, text));
}

/* 0 is the empty text. */
static void add_optional_name(struct slice_writer *w, const char *text, struct str *out)
{
	varint_add(out, text && *text ? 1 + name_ref(w, text) : 0);
}

static u64 zigzag(u32 value, u32 before)
{
	s64 delta = (s64)value - before;

	return delta < 0 ? (u64)-delta * 2 - 1 : (u64)delta * 2;
}

static void write_names(const struct slice_writer *w, size_t first, struct str *out)
{
	varint_add(out, w->names.nr - first);
	for (size_t i = first; i < w->names.nr; i++)
		varint_add(out, strlen(w->names.at[i]));
	for (size_t i = first; i < w->names.nr; i++)
		str_add(out, w->names.at[i]);
}

/* The label dimensions, in the book's first record. */
static void write_dims(struct slice_writer *w, struct str *out)
{
	varint_add(out, NR_LABELS);
	for (int i = 0; i < NR_LABELS; i++)
		add_name(w, label_names[i].key, out);
}

static void write_types(struct slice_writer *w, struct str *out)
{
	const struct profile *book = w->book;

	varint_add(out, book->types.nr - w->written.types);
	for (size_t i = w->written.types; i < book->types.nr; i++) {
		add_name(w, book->types.at[i].name, out);
		add_name(w, book->types.at[i].unit, out);
		varint_add(out, book->types.at[i].role);
	}
}

static void write_frames(struct slice_writer *w, struct str *out)
{
	const struct frames *frames = w->book->frames;
	u32 first = w->written.frames, nr = frames_nr(frames);

	varint_add(out, nr - first);
	for (u32 i = first; i < nr; i++)
		add_name(w, frames_get(frames, i)->name, out);
	for (u32 i = first; i < nr; i++) {
		const struct frame *f = frames_get(frames, i);
		str_add_char(out, (char)(f->kind | f->is_inlined << 4 | (f->line > 0) << 5));
	}
	for (u32 i = first; i < nr; i++)
		add_optional_name(w, frames_get(frames, i)->module, out);
	for (u32 i = first; i < nr; i++) {
		const struct frame *f = frames_get(frames, i);
		if (!f->line)
			continue;
		varint_add(out, f->line);
		add_optional_name(w, f->file, out);
	}
}

/* The frame's place in the list of callees of its context. 0 if it was just added. */
static u64 callee_place(struct slice_writer *w, u32 context, frame_id frame)
{
	u64 *place = dict_add(&w->callees, (u64)context << 32 | frame);

	if (*place)
		return *place;
	while (w->nr_callees.nr <= context)
		vec_push(&w->nr_callees, 0);
	*place = ++w->nr_callees.at[context];
	return 0;
}

static void write_nodes(struct slice_writer *w, struct str *out)
{
	const struct profile *book = w->book;
	auto_str struct str places = { 0 }, firsts = { 0 };
	u32 fresh = w->written.frames;

	varint_add(out, book->nodes.nr - w->written.nodes);
	for (size_t i = w->written.nodes; i < book->nodes.nr; i++) {
		const struct profile_node *n = &book->nodes.at[i];
		u32 context = n->parent ? book->nodes.at[n->parent].frame + 1 : 0;
		u64 place = callee_place(w, context, n->frame);

		varint_add(out, i - 1 - n->parent);
		varint_add(&places, place);
		if (place)
			continue;
		varint_add(&firsts, n->frame == fresh ? 0 : 1 + (u64)n->frame);
		fresh += n->frame == fresh;
	}
	str_add_bytes(out, places.at, places.len);
	str_add_bytes(out, firsts.at, firsts.len);
}

static void write_sets(struct slice_writer *w, struct str *out)
{
	const struct labels *all = w->book->labels.at;
	size_t first = w->written.sets, nr = w->book->labels.nr;

	varint_add(out, nr - first);
	for (size_t i = first; i < nr; i++)
		varint_add(out, zigzag(all[i].pid, i > first ? all[i - 1].pid : 0));
	for (size_t i = first; i < nr; i++)
		varint_add(out, zigzag(all[i].tid, all[i].pid));
	for (int label = 0; label < NR_LABELS; label++)
		for (size_t i = first; i < nr; i++)
			add_optional_name(w, all[i].text[label], out);
}

static void write_note(struct slice_writer *w, const char *key, const char *text, u64 value,
		       struct str *out)
{
	add_name(w, key, out);
	add_optional_name(w, text, out);
	varint_add(out, value < VARINT_MAX ? value : VARINT_MAX);
}

static void write_facts(struct slice_writer *w, const struct profile *p, struct str *out)
{
	bool has_gaps = p->covered_ns && p->covered_ns != p->duration_ns;
	size_t nr_notes = p->notes.nr < SLICE_NOTES_MAX ? p->notes.nr : SLICE_NOTES_MAX;

	varint_add(out, p->rate_hz > 0 && p->rate_hz < 1e9 ? (u64)(p->rate_hz * 1000 + 0.5) : 0);
	add_optional_name(w, p->host, out);
	add_optional_name(w, p->target, out);
	nr_notes -= has_gaps && nr_notes == SLICE_NOTES_MAX;
	varint_add(out, nr_notes + has_gaps);
	if (has_gaps)
		write_note(w, SLICE_COVERED, "", p->covered_ns, out);
	for (size_t i = 0; i < nr_notes; i++) {
		const struct note *n = &p->notes.at[i];
		write_note(w, n->key, n->text, n->value, out);
	}
}

static int by_place(const void *a, const void *b)
{
	const struct book_weight *x = a, *y = b;

	if (x->set != y->set)
		return x->set < y->set ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->type < y->type ? -1 : x->type > y->type;
}

static bool is_same_place(const struct book_weight *a, const struct book_weight *b)
{
	return a->set == b->set && a->node == b->node;
}

static u64 common_divisor(u64 a, u64 b)
{
	while (b) {
		u64 rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* The values of a type at all places, divided by their common divisor. */
static void write_values(const struct book_weights *weights, u32 type, struct str *out)
{
	u64 divisor = 0, value = 0;

	vec_each(one, &weights->all)
		if (one->type == type)
			divisor = common_divisor(divisor, one->value);
	varint_add(out, type);
	varint_add(out, divisor);
	for (size_t i = 0; i < weights->all.nr; i++) {
		const struct book_weight *one = &weights->all.at[i];
		if (one->type == type)
			value += one->value;
		if (i + 1 < weights->all.nr && is_same_place(one, one + 1))
			continue;
		varint_add(out, value / divisor);
		value = 0;
	}
}

/* The sets with the numbers of their places, and the nodes of the places. */
static void write_places(const struct book_weights *weights, struct str *out)
{
	auto_str struct str sets = { 0 }, counts = { 0 }, nodes = { 0 };
	const struct book_weight *end = weights->all.at + weights->all.nr;
	u64 nr_sets = 0, set_before = 0;

	for (const struct book_weight *at = weights->all.at; at < end;) {
		u64 nr = 0, node_before = 0;
		labels_id set = at->set;
		for (; at < end && at->set == set; at++) {
			if (nr && is_same_place(at - 1, at))
				continue;
			varint_add(&nodes, at->node - node_before);
			node_before = at->node;
			nr++;
		}
		varint_add(&sets, set - set_before);
		varint_add(&counts, nr);
		set_before = set;
		nr_sets++;
	}
	varint_add(out, nr_sets);
	str_add_bytes(out, sets.at, sets.len);
	str_add_bytes(out, counts.at, counts.len);
	str_add_bytes(out, nodes.at, nodes.len);
}

static void write_weights(const struct slice_writer *w, struct book_weights *weights,
			  struct str *out)
{
	u8 *is_used = xcalloc(w->book->types.nr + 1, 1);
	u64 nr_types = 0;

	if (weights->all.nr)
		qsort(weights->all.at, weights->all.nr, sizeof(weights->all.at[0]), by_place);
	write_places(weights, out);
	vec_each(one, &weights->all) {
		nr_types += !is_used[one->type];
		is_used[one->type] = 1;
	}
	varint_add(out, nr_types);
	for (u32 type = 0; type < w->book->types.nr; type++)
		if (is_used[type])
			write_values(weights, type, out);
	free(is_used);
}

static int check_sums(const struct profile *p)
{
	u64 *sums = xcalloc(p->types.nr + 1, sizeof(sums[0]));
	int err = 0;

	vec_each(one, &p->weights) {
		if (one->value > VARINT_MAX - sums[one->type])
			err = -EOVERFLOW;
		else
			sums[one->type] += one->value;
	}
	free(sums);
	return err;
}

/* Adds the nodes that have weights, and their callers. at[n] gets the book's node of node n. */
static int merge_nodes(struct slice_writer *w, const struct profile *p, node_id *at)
{
	u32 *depths = xcalloc(p->nodes.nr, sizeof(depths[0]));
	u32 *frames = xcalloc((size_t)frames_nr(p->frames) + 1, sizeof(frames[0])); /* id + 1 */
	u8 *is_used = xcalloc(p->nodes.nr, 1);
	u32 deepest = 0;

	vec_each(one, &p->weights)
		is_used[one->node] |= one->value > 0;
	for (size_t i = p->nodes.nr - 1; i > 0; i--)
		is_used[p->nodes.at[i].parent] |= is_used[i];
	for (size_t i = 1; i < p->nodes.nr; i++) {
		const struct profile_node *n = &p->nodes.at[i];
		if (!is_used[i])
			continue;
		u32 *frame = &frames[n->frame];
		if (!*frame)
			*frame = 1 + frames_copy(w->book->frames, frames_get(p->frames, n->frame));
		depths[i] = depths[n->parent] + 1;
		deepest = deepest > depths[i] ? deepest : depths[i];
		at[i] = profile_child(w->book, at[n->parent], *frame - 1);
	}
	free(depths);
	free(frames);
	free(is_used);
	return deepest > FORMAT_DEPTH_MAX ? -EOVERFLOW : 0;
}

static u32 merge_type(struct slice_writer *w, const struct value_type *t)
{
	u32 type = profile_find_type(w->book, t->name, t->unit);

	w->book->types.at[type].role = t->role;
	return type;
}

static labels_id merge_labels(struct slice_writer *w, const struct labels *labels)
{
	struct labels own = *labels;

	own.time = NULL; /* counts from the begin of `p` */
	return profile_intern_labels(w->book, &own);
}

static int merge_weights(struct slice_writer *w, const struct profile *p, struct book_weights *out)
{
	node_id *nodes = xcalloc(p->nodes.nr, sizeof(nodes[0]));
	u64 *sets = xcalloc(p->labels.nr + 1, sizeof(sets[0]));  /* id + 1 */
	u64 *types = xcalloc(p->types.nr + 1, sizeof(types[0])); /* index + 1 */
	int err = merge_nodes(w, p, nodes);

	vec_each(one, &p->weights) {
		if (!one->value)
			continue;
		u64 *set = &sets[one->labels], *type = &types[one->type];
		if (!*set)
			*set = 1 + (u64)merge_labels(w, &p->labels.at[one->labels]);
		if (!*type)
			*type = 1 + (u64)merge_type(w, &p->types.at[one->type]);
		vec_push(&out->all, (struct book_weight){ (labels_id)*set - 1, nodes[one->node],
							  (u32)*type - 1, one->value });
	}
	free(nodes);
	free(sets);
	free(types);
	return err;
}

static bool is_too_large(const struct slice_writer *w)
{
	const struct profile *book = w->book;

	return book->nodes.nr > SLICE_NODES_MAX || frames_nr(book->frames) > SLICE_FRAMES_MAX ||
	       book->labels.nr > SLICE_SETS_MAX || book->types.nr > SLICE_TYPES_MAX ||
	       w->names.nr > SLICE_NAMES_MAX || w->name_bytes > SLICE_NAME_BYTES_MAX;
}

static void write_body(struct slice_writer *w, const struct profile *p,
		       struct book_weights *weights, struct str *out)
{
	auto_str struct str rest = { 0 };
	size_t first_name = w->names.nr;

	if (!w->number)
		write_dims(w, &rest);
	write_types(w, &rest);
	write_frames(w, &rest);
	write_nodes(w, &rest);
	write_sets(w, &rest);
	write_facts(w, p, &rest);
	write_weights(w, weights, &rest);
	write_names(w, first_name, out);
	str_add_bytes(out, rest.at, rest.len);
	w->written = (struct written){ .frames = frames_nr(w->book->frames),
				       .types = (u32)w->book->types.nr,
				       .nodes = w->book->nodes.nr,
				       .sets = w->book->labels.nr };
}

static int write_record(struct slice_writer *w, const struct profile *p, struct slice_head *head,
			struct str *out)
{
	static const u8 empty[SLICE_HEAD_BYTES];
	struct book_weights weights = { 0 };
	size_t start = out->len;
	int err = merge_weights(w, p, &weights);

	str_add_bytes(out, empty, sizeof(empty));
	if (!err)
		write_body(w, p, &weights, out);
	vec_fini(&weights.all);
	if (err || is_too_large(w) || out->len - start > SLICE_RECORD_MAX) {
		out->len = start;
		out->at[start] = '\0';
		return -EOVERFLOW;
	}
	head->len = (u32)(out->len - start);
	slice_head_write(head, (u8 *)out->at + start);
	return 0;
}

/* Ends a book that is large, and one of another hour. */
static void turn_page(struct slice_writer *w, u64 begin_wall_ns)
{
	u64 hour = begin_wall_ns / HOUR_NS;
	const u64 seed[] = { begin_wall_ns, w->id, (uintptr_t)w };

	if (w->number && (hour != w->hour || slice_writer_bytes(w) > SLICE_BOOK_BYTES))
		slice_writer_begin(w);
	if (!w->number)
		w->id = (u32)hash_keyed(seed, sizeof(seed));
	w->hour = hour;
}

int slice_writer_add(struct slice_writer *w, const struct profile *p, u64 begin_wall_ns,
		     u64 end_wall_ns, struct str *out, bool *begins)
{
	int err = check_sums(p);

	if (err)
		return err;
	turn_page(w, begin_wall_ns);
	struct slice_head head = { .begin_wall_ns = begin_wall_ns,
				   .end_wall_ns = end_wall_ns > begin_wall_ns ? end_wall_ns
									      : begin_wall_ns,
				   .book = w->id,
				   .number = w->number };
	err = write_record(w, p, &head, out);
	if (err) {
		slice_writer_begin(w); /* the dictionary has parts that no record contains */
		return err;
	}
	*begins = head.number == 0;
	w->number++;
	return 0;
}
