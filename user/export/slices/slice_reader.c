/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the slices of a time range. A book decodes their records, which may be hostile, and keeps
 * their dictionary.
 */
#include "export/slices/slice_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/auto.h"
#include "base/str.h"
#include "base/time.h"
#include "base/types.h"
#include "base/vec.h"
#include "export/format/section.h"
#include "export/format/varint.h"
#include "export/slices/slice_record.h"
#include "profile/count.h"
#include "profile/labels.h"
#include "profile/profile.h"
#include "profile/selection.h"
#include "profile/slots.h"

struct book_type {
	u32 name, unit; /* index into the names */
	enum value_role role;
	u32 own; /* index + 1 in the profile; 0 if not yet there */
};

struct book_frame {
	u32 name, module, file; /* module and file: index + 1, or 0 */
	u32 line;
	u8 kind;
	bool is_inlined;
	u32 own; /* id + 1 in the profile; 0 if not yet there */
};

struct book_node {
	u32 parent, frame;
	u32 depth;
	node_id own; /* in the profile; NODE_NONE if not yet there */
};

struct book_set {
	u32 pid, tid;
	u32 text[NR_LABELS]; /* index + 1, or 0 */
	bool is_known, is_wanted;
	labels_id own; /* in the profile, for the time slot `own_slot`, if is_known */
	u64 own_slot;
};

struct book_note {
	u32 key, text; /* text: index + 1, or 0 */
	u64 value;
};

/* The callees of a context: the frame of the parent, or the root. */
struct book_context {
	VEC(u32) callees; /* frames in the order of their places */
};

/* A weight in the book's numbers. */
struct book_weight_read {
	u32 set, node, type;
	u64 value;
};

struct slice_book {
	struct str texts; /* the names, each with a NUL at its end */
	VEC(u32) names;   /* offset in `texts` */
	VEC(int) dims;    /* enum label of each dimension; -1: unknown */
	VEC(struct book_type) types;
	VEC(struct book_frame) frames;
	VEC(struct book_node) nodes; /* [0] is the root */
	VEC(struct book_set) sets;
	VEC(struct book_context) contexts; /* by frame of the parent + 1; [0] is the root's */
	u32 fresh_name, fresh_frame;

	/* Of the last record. */
	double rate_hz;
	u32 host, target; /* index + 1, or 0 */
	VEC(struct book_note) notes;
	VEC(struct book_weight_read) weights;
};

#define DIMS_MAX 64

static void slice_book_fini(struct slice_book *b)
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

/* Valid until the next record. */
static const char *slice_book_name(const struct slice_book *b, u32 index)
{
	return b->texts.at + b->names.at[index];
}

/* The text of an optional name, "" for 0. */
static const char *slice_book_text(const struct slice_book *b, u32 index_plus_one)
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

/*
 * Decodes a record after its head. The first one of a book needs an empty `b`. -EINVAL if it is
 * damaged; the book is then of no more use.
 */
static int slice_book_read(struct slice_book *b, const u8 *body, size_t len)
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

#define BYTES_MAX      (256u << 20)
#define WINDOW_LOG_MAX 26
#define WEIGHTS_MAX    (8u << 20)
#define SETS_MAX       (2u << 20)
#define SEARCH_FACTOR  4 /* bytes to read while searching for a record, per byte of the file */

static const u8 zstd_magic[4] = { 0x28, 0xb5, 0x2f, 0xfd };

struct slice_reading {
	const struct slice_query *q;
	struct profile *p;
	slice_fn before; /* may be NULL */
	void *ctx;
	struct str *why;
	struct slice_book book;
	bool has_book;
	u32 book_id, next_number;
	u64 nr_read, nr_lost;
	u64 slot;                 /* of the last slice, if has_slot */
	bool has_slot, goes_back; /* the clock was set back, so slots are not in order */
	u64 *sums;                /* by type of the profile; SLICE_TYPES_MAX of them */
};

static bool is_text(const char *wanted, const char *text)
{
	return !wanted || !strcmp(wanted, text);
}

static bool is_wanted(const struct slice_query *q, const struct labels *l)
{
	return (!q->pid || q->pid == l->pid) && is_text(q->comm, l->comm) &&
	       is_text(q->pod, l->pod) &&
	       (is_text(q->container, l->container) || is_text(q->container, l->container_id)) &&
	       is_text(q->service, l->service);
}

/* The labels of a set; texts are the book's. */
static struct labels labels_of(const struct slice_book *b, const struct book_set *set)
{
	struct labels l = { .pid = set->pid, .tid = set->tid };

	for (int i = 0; i < NR_LABELS; i++)
		l.text[i] = slice_book_text(b, set->text[i]);
	l.time = "";
	return l;
}

/* The profile's label set of a set of the book, with the slice's time. */
static void know_set(struct slice_reading *r, struct book_set *set, const struct slots *slots)
{
	char time[SLOTS_TEXT_BYTES];

	if (set->is_known && set->own_slot == slots->first)
		return;
	struct labels l = labels_of(&r->book, set);
	set->is_wanted = is_wanted(r->q, &l);
	set->is_known = true;
	set->own_slot = slots->first;
	if (r->p->slot_ns) {
		slots_text(slots, time);
		l.time = time;
	}
	if (set->is_wanted)
		set->own = profile_intern_labels(r->p, &l);
}

static u32 own_type(struct slice_reading *r, u32 type)
{
	struct book_type *t = &r->book.types.at[type];

	if (!t->own) {
		t->own = 1 + profile_find_type(r->p, slice_book_name(&r->book, t->name),
					       slice_book_name(&r->book, t->unit));
		r->p->types.at[t->own - 1].role = t->role;
	}
	return t->own - 1;
}

static frame_id own_frame(struct slice_reading *r, u32 frame)
{
	struct book_frame *f = &r->book.frames.at[frame];

	if (!f->own) {
		const struct frame copy = { .name = slice_book_name(&r->book, f->name),
					    .module = slice_book_text(&r->book, f->module),
					    .file = slice_book_text(&r->book, f->file),
					    .kind = f->kind,
					    .is_inlined = f->is_inlined,
					    .line = f->line };
		f->own = 1 + frames_copy(r->p->frames, &copy);
	}
	return f->own - 1;
}

/* Adds the node and its callers to the profile. */
static node_id own_node(struct slice_reading *r, u32 node)
{
	struct book_node *nodes = r->book.nodes.at;
	VEC(u32) path = { 0 };

	for (u32 at = node; nodes[at].own == NODE_NONE; at = nodes[at].parent)
		vec_push(&path, at);
	while (path.nr) {
		struct book_node *n = &nodes[path.at[--path.nr]];
		n->own = profile_child(r->p, nodes[n->parent].own, own_frame(r, n->frame));
	}
	vec_fini(&path);
	return nodes[node].own;
}

/* Whether the type belongs to the wanted event: "alloc" has "alloc" and "alloc-samples". */
static bool is_wanted_type(const struct slice_reading *r, u32 type)
{
	const char *name = slice_book_name(&r->book, r->book.types.at[type].name);
	size_t len = r->q->event ? strlen(r->q->event) : 0;

	return !len || (!strncmp(name, r->q->event, len) && (!name[len] || name[len] == '-'));
}

static int add_weight(struct slice_reading *r, const struct book_weight_read *w)
{
	u32 type = own_type(r, w->type);

	if (type >= SLICE_TYPES_MAX || r->p->weights.nr >= WEIGHTS_MAX ||
	    r->p->labels.nr >= SETS_MAX) {
		str_add(r->why, "the slices have too many stacks or labels; choose a shorter time");
		return -E2BIG;
	}
	if (w->value > UINT64_MAX - r->sums[type]) {
		str_add(r->why, "the weights add up to more than 2^64 - 1; choose a shorter time");
		return -EOVERFLOW;
	}
	r->sums[type] += w->value;
	profile_add(r->p, own_node(r, w->node), r->book.sets.at[w->set].own, type, w->value);
	return 0;
}

static int add_weights(struct slice_reading *r, const struct slots *slots)
{
	vec_each(w, &r->book.weights) {
		struct book_set *set = &r->book.sets.at[w->set];
		know_set(r, set, slots);
		bool is_wanted = set->is_wanted && is_wanted_type(r, w->type);
		int err = is_wanted ? add_weight(r, w) : 0;
		if (err)
			return err;
	}
	return 0;
}

static void add_note(struct profile *p, const char *key, const char *text, u64 value)
{
	const struct note *old = profile_find_note(p, key);
	u64 before = old ? old->value : 0;

	profile_note(p, key, text, value > VARINT_MAX - before ? VARINT_MAX : before + value);
}

static bool is_selective(const struct slice_query *q)
{
	return q->pid || q->comm || q->pod || q->container || q->service;
}

static bool has_dim(const struct slice_book *b, int label)
{
	vec_each(dim, &b->dims)
		if (*dim == label)
			return true;
	return false;
}

static void count_selection(struct slice_reading *r, struct selection *s)
{
	const struct slice_book *b = &r->book;

	vec_each(w, &b->weights) {
		const struct book_set *set = &b->sets.at[w->set];
		const struct labels l = labels_of(b, set);
		if (set->is_wanted && is_wanted_type(r, w->type))
			selection_count(s, &l,
					count_of(r->p, own_type(r, w->type), w->value, b->rate_hz));
	}
}

/* Adds the notes of the slice. Call it after the slice's weights were added. */
static void add_notes(struct slice_reading *r)
{
	const struct slice_book *b = &r->book;
	struct selection s = { .knows_samples = b->rate_hz > 0,
			       .knows_stacks = has_dim(b, LABEL_STACK) };
	bool is_selection = is_selective(r->q);

	if (is_selection)
		count_selection(r, &s);
	vec_each(n, &b->notes) {
		const struct note note = { (char *)slice_book_name(b, n->key),
					   (char *)slice_book_text(b, n->text), n->value };
		if (!strcmp(note.key, SLICE_COVERED))
			continue;
		if (is_selection)
			selection_note(&s, r->p, &note);
		else
			add_note(r->p, note.key, note.text, note.value);
	}
	selection_fini(&s);
}

static void set_text(char **field, const char *text)
{
	if (**field || !*text)
		return;
	free(*field);
	*field = xstrdup(text);
}

/* A slice that was made of several has the sum of their times as a note. */
static u64 covered_ns(const struct slice_book *b, const struct slice_head *head)
{
	vec_each(n, &b->notes)
		if (!strcmp(slice_book_name(b, n->key), SLICE_COVERED))
			return n->value;
	return head->end_wall_ns - head->begin_wall_ns;
}

/* Extends the profile's time span by the slice. The last one ends a little late: it is cut. */
static void add_times(const struct slice_reading *r, const struct slice_head *head)
{
	struct profile *p = r->p;
	u64 end = p->start_wall_ns + p->duration_ns;
	u64 own_end = head->end_wall_ns < r->q->to_wall_ns ? head->end_wall_ns : r->q->to_wall_ns;
	bool is_first = !p->start_wall_ns;
	u64 begin = p->slot_ns ? r->q->from_wall_ns : head->begin_wall_ns;

	p->rate_hz = is_first || p->rate_hz == r->book.rate_hz ? r->book.rate_hz : 0;
	if (is_first || begin < p->start_wall_ns)
		p->start_wall_ns = begin;
	if (is_first || own_end > end)
		end = own_end;
	p->duration_ns = end - p->start_wall_ns;
	p->covered_ns += covered_ns(&r->book, head);
}

/*
 * Weights of different slots have different labels. The profile need not search among those of
 * earlier slots, which are most of a long range.
 */
static void enter_slot(struct slice_reading *r, u64 slot)
{
	if (r->has_slot && slot < r->slot) {
		r->goes_back = true;
		profile_open_weights(r->p);
	}
	if (r->has_slot && slot > r->slot && !r->goes_back)
		profile_seal_weights(r->p);
	r->has_slot = true;
	r->slot = slot;
}

static int add_slice(struct slice_reading *r, const struct slice_head *head)
{
	const struct slice_book *b = &r->book;
	struct slots slots = { 0, 1 };

	if (head->begin_wall_ns < r->q->from_wall_ns || head->begin_wall_ns >= r->q->to_wall_ns)
		return 0;
	int err = r->before ? r->before(head, r->ctx) : 0;
	if (err)
		return err;
	add_times(r, head);
	set_text(&r->p->host, slice_book_text(b, b->host));
	set_text(&r->p->target, slice_book_text(b, b->target));
	if (r->p->slot_ns) {
		slots.first = (head->begin_wall_ns - r->q->from_wall_ns) / r->p->slot_ns;
		slots.end = (head->end_wall_ns - r->q->from_wall_ns) / r->p->slot_ns;
		slots.end = slots.end > slots.first ? slots.end : slots.first + 1;
		enter_slot(r, slots.first);
	}
	err = add_weights(r, &slots);
	if (!err)
		add_notes(r);
	return err;
}

static int read_record(struct slice_reading *r, const u8 *at, const struct slice_head *head)
{
	if (head->begins) {
		slice_book_fini(&r->book);
		r->has_book = true;
	} else if (!r->has_book || head->book != r->book_id || head->number != r->next_number) {
		r->has_book = false;
		r->nr_lost++;
		return 0;
	}
	r->book_id = head->book;
	r->next_number = head->number + 1;
	if (slice_book_read(&r->book, at + SLICE_HEAD_BYTES, head->len - SLICE_HEAD_BYTES)) {
		r->has_book = false;
		r->nr_lost++;
		return 0;
	}
	r->nr_read++;
	return add_slice(r, head);
}

static int read_records(struct slice_reading *r, const u8 *at, size_t len)
{
	u64 budget = (u64)len * SEARCH_FACTOR;
	struct slice_head head;
	int err = 0;

	for (size_t i = 0; i < len && !err;) {
		if (!slice_head_read(at + i, len - i, &head)) {
			err = read_record(r, at + i, &head);
			i += head.len;
			continue;
		}
		r->nr_lost++;
		i++;
		i += slice_find(at + i, len - i, &budget);
	}
	return err;
}

/* Appends the contents of the frames at the begin. *nr_in gets the bytes that they take. */
static int expand(const u8 *bytes, size_t len, struct str *out, size_t *nr_in)
{
	u8 chunk[1 << 16];
	ZSTD_inBuffer in = { bytes, len, 0 };
	ZSTD_DStream *z = ZSTD_createDStream();
	size_t more = 0;

	ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	do {
		if (!more && (len - in.pos < sizeof(zstd_magic) ||
			      memcmp(bytes + in.pos, zstd_magic, sizeof(zstd_magic)) != 0))
			break;
		ZSTD_outBuffer part = { chunk, sizeof(chunk), 0 };
		more = ZSTD_decompressStream(z, &part, &in);
		if (ZSTD_isError(more)) {
			in.pos = len;
			break;
		}
		str_add_bytes(out, chunk, part.pos);
		/* No progress was made: the frame is cut off. */
		if (more && in.pos == len && part.pos < sizeof(chunk))
			break;
	} while (out->len <= BYTES_MAX);
	ZSTD_freeDStream(z);
	*nr_in = in.pos;
	return out->len > BYTES_MAX ? -EFBIG : more ? -EBADMSG : 0;
}

static int read_all(struct slice_reading *r, const u8 *bytes, size_t len)
{
	auto_str struct str content = { 0 };
	size_t nr_in = 0;
	int err = 0;

	if (len > BYTES_MAX)
		err = -EFBIG;
	else if (len >= sizeof(zstd_magic) && !memcmp(bytes, zstd_magic, sizeof(zstd_magic)))
		err = expand(bytes, len, &content, &nr_in);
	if (err == -EFBIG || len - nr_in > BYTES_MAX - content.len) {
		str_add(r->why, "the slices take more than 256 MB");
		return -EINVAL;
	}
	if (!nr_in)
		return read_records(r, bytes, len);
	r->nr_lost += err != 0;
	str_add_bytes(&content, bytes + nr_in, len - nr_in);
	return read_records(r, (const u8 *)content.at, content.len);
}

/* Adds the weights of each of the first `nr` types to its sum. */
static void sum_types(const struct profile *p, u64 *sums, u32 nr)
{
	vec_each(w, &p->weights)
		if (w->type < nr)
			sums[w->type] += w->value;
}

u32 slices_drop_large_types(struct profile *p)
{
	u32 nr_types = (u32)p->types.nr;
	auto_free u64 *sums = xcalloc(nr_types, sizeof(sums[0]));

	sum_types(p, sums, nr_types);
	for (u32 type = nr_types; type-- > 0;) {
		const struct value_type *t = &p->types.at[type];
		if (sums[type] <= VARINT_MAX)
			continue;
		auto_free char *key = xasprintf(NOTE_INCOMPLETE "large-%s-%s", t->name, t->unit);
		auto_free char *text = xasprintf(
			"type of value left out: %s adds up to more than 2^53 - 1 %s; choose a "
			"shorter time",
			t->name, t->unit);
		profile_note(p, key, text, 1);
		profile_drop_type(p, type);
	}
	return nr_types - (u32)p->types.nr;
}

int slices_visit(const u8 *bytes, size_t len, const struct slice_query *q, struct profile *p,
		 slice_fn before, void *ctx, struct str *why)
{
	struct slice_reading r = { .q = q, .p = p, .before = before, .ctx = ctx, .why = why };

	auto_free u64 *sums = r.sums = xcalloc(SLICE_TYPES_MAX, sizeof(sums[0]));
	sum_types(p, sums, SLICE_TYPES_MAX);
	int err = read_all(&r, bytes, len);
	slice_book_fini(&r.book);
	if (r.nr_lost)
		add_note(p, "slices_lost", "slices left out: the file is damaged", r.nr_lost);
	if (err)
		return err;
	if (!r.nr_read || (r.nr_lost && q->refuses_damage)) {
		str_add(why, r.nr_read ? "parts of the file are damaged"
				       : "the file has no slices, or is damaged");
		return -EINVAL;
	}
	return 0;
}

int slices_read(const u8 *bytes, size_t len, const struct slice_query *q, struct profile *p,
		struct str *why)
{
	return slices_visit(bytes, len, q, p, NULL, NULL, why);
}
