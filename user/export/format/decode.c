/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the format of docs/profile-format.md. */
#include "export/format/decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/str.h"
#include "export/format/labelset.h"
#include "export/format/meta.h"
#include "export/format/section.h"
#include "export/format/varint.h"
#include "profile/profile.h"

#define NR_TIER_PARTS 3 /* interpreted, C1, inlined; C2 gets the rest */

/*
 * The path to the current node while a page is read. In the page all tiers of a method are one
 * node. This assigns weights to one tier after another until each has its part. The sums by method
 * and tier are then right, and so are merged stacks. Which tier called which callee is unknown.
 */
struct tierpath_step {
	frame_id frame, c2;
	node_id node; /* valid below nr_nodes */
	/* for each part, the value of the path's `sum` at the part's end */
	u64 ends[NR_TIER_PARTS];
	u8 part;       /* the current one; NR_TIER_PARTS: the rest, or no tiers */
	u64 first_end; /* the first end of any part on the path up to this step */
};

struct tierpath {
	struct profile *p;
	VEC(struct tierpath_step) steps; /* [0] is the root */
	size_t nr_nodes;                 /* number of steps whose node is known */
	u64 sum;                         /* of the weights so far */
	size_t nodes_max; /* limit of the profile; methods are not divided above it */
};

#define NEVER        UINT64_MAX
#define NODES_SPARE  1000000
#define NODES_FACTOR 4

static const enum frame_kind kinds[NR_TIER_PARTS] = { FRAME_INTERPRETED, FRAME_C1, FRAME_INLINED };

/*
 * Limits the number of nodes. The undivided nodes, and the path that reaches the limit, always have
 * room in `p`.
 */
/* Starts a path for `nr` nodes. It limits the number of nodes that tiers add. */
static void tierpath_init(struct tierpath *path, struct profile *p, size_t nr)
{
	size_t wanted = nr * NODES_FACTOR + NODES_SPARE, undivided = nr + FORMAT_DEPTH_MAX + 1;
	size_t room = p->nodes_max > p->nodes.nr ? p->nodes_max - p->nodes.nr : 0;
	size_t spare = room > undivided ? room - undivided : 0;

	*path = (struct tierpath){ .p = p, .nr_nodes = 1 };
	path->nodes_max = p->nodes.nr + (wanted < spare ? wanted : spare);
	vec_push(&path->steps, (struct tierpath_step){ .part = NR_TIER_PARTS, .first_end = NEVER });
}

static void tierpath_fini(struct tierpath *path)
{
	vec_fini(&path->steps);
}

static u64 own_end(const struct tierpath_step *s)
{
	return s->part < NR_TIER_PARTS ? s->ends[s->part] : NEVER;
}

static frame_id other_kind(struct tierpath *path, frame_id frame, enum frame_kind kind)
{
	const struct frame *f = frames_get(path->p->frames, frame);
	auto_free char *function = frame_function(f);

	return frames_intern_line(path->p->frames, kind, function, f->module,
				  (struct source_line){ f->file, f->line });
}

/* Switches to the part that the next weight belongs to. */
static void choose_part(struct tierpath *path, size_t i)
{
	struct tierpath_step *s = &path->steps.at[i];
	u8 old = s->part;

	while (s->part < NR_TIER_PARTS && s->ends[s->part] <= path->sum)
		s->part++;
	if (s->part == old)
		return;
	s->frame = s->part == NR_TIER_PARTS ? s->c2 : other_kind(path, s->c2, kinds[s->part]);
	if (path->nr_nodes > i)
		path->nr_nodes = i;
}

static void find_first_ends(struct tierpath *path, size_t from)
{
	for (size_t i = from; i < path->steps.nr; i++) {
		u64 above = path->steps.at[i - 1].first_end, own = own_end(&path->steps.at[i]);
		path->steps.at[i].first_end = own < above ? own : above;
	}
}

/* Called when some part is full. Updates all steps from the first full one on. */
static void cross(struct tierpath *path)
{
	size_t first = 1, last = path->steps.nr - 1;

	while (first < last) {
		size_t middle = (first + last) / 2;
		if (path->steps.at[middle].first_end <= path->sum)
			last = middle;
		else
			first = middle + 1;
	}
	for (size_t i = first; i < path->steps.nr; i++)
		choose_part(path, i);
	find_first_ends(path, first);
}

/*
 * Limits hostile files: dividing every step of a deep path would make a node per weight and step.
 */
static void stop_dividing(struct tierpath *path)
{
	for (size_t i = 1; i < path->steps.nr; i++) {
		path->steps.at[i].part = NR_TIER_PARTS;
		path->steps.at[i].first_end = NEVER;
	}
}

/*
 * Goes up until `depth` steps below the root are left. Returns false if a method has too little
 * weight for a part.
 */
static bool tierpath_up(struct tierpath *path, size_t depth)
{
	bool is_good = true;

	for (size_t i = depth + 1; i < path->steps.nr; i++)
		is_good &= path->steps.at[i].part == NR_TIER_PARTS;
	path->steps.nr = depth + 1;
	if (path->nr_nodes > path->steps.nr)
		path->nr_nodes = path->steps.nr;
	return is_good;
}

static void tierpath_down(struct tierpath *path, frame_id frame)
{
	u64 first_end = path->steps.at[path->steps.nr - 1].first_end;

	vec_push(&path->steps, (struct tierpath_step){ .frame = frame,
						       .c2 = frame,
						       .part = NR_TIER_PARTS,
						       .first_end = first_end });
}

/* Divides the method of the last step. Returns false if the parts are invalid. */
static bool tierpath_divide(struct tierpath *path, const u64 parts[NR_TIER_PARTS])
{
	struct tierpath_step *s = &path->steps.at[path->steps.nr - 1];
	u64 end = path->sum;

	if (path->p->nodes.nr >= path->nodes_max)
		return true;
	for (int i = 0; i < NR_TIER_PARTS; i++) {
		if (parts[i] > VARINT_MAX - end)
			return false;
		s->ends[i] = end += parts[i];
	}
	s->c2 = other_kind(path, s->frame, FRAME_C2);
	s->part = 0;
	s->frame = other_kind(path, s->c2, kinds[0]);
	choose_part(path, path->steps.nr - 1);
	find_first_ends(path, path->steps.nr - 1);
	return true;
}

/* The node for weights of other types. */
static node_id tierpath_node(struct tierpath *path)
{
	for (; path->nr_nodes < path->steps.nr; path->nr_nodes++) {
		struct tierpath_step *s = &path->steps.at[path->nr_nodes];
		s->node = profile_child(path->p, s[-1].node, s->frame);
	}
	return path->steps.at[path->steps.nr - 1].node;
}

/* Adds a weight of the type that has tiers. */
static void tierpath_add(struct tierpath *path, labels_id labels, u32 type, u64 value)
{
	while (value) {
		u64 room = path->steps.at[path->steps.nr - 1].first_end;
		room = room == NEVER ? value : room - path->sum;
		u64 part = value < room ? value : room;

		profile_add(path->p, tierpath_node(path), labels, type, part);
		value -= part;
		path->sum += part;
		if (path->p->nodes.nr >= path->nodes_max)
			stop_dividing(path);
		else if (path->steps.at[path->steps.nr - 1].first_end <= path->sum)
			cross(path);
	}
}

#define NAME_MAX_BYTES  65535
#define NAMES_MAX_BYTES (256u << 20) /* four bytes of a hostile file can name 64 KB */
#define TEXTS_MAX_BYTES (4ull << 30) /* of all label sets; each stores its own texts again */

/* The ranks of a caller's callees, in the order in which they appear. Most callers have few. */
struct callees {
	u32 nr, cap; /* cap 0: they are in `few` */
	union {
		u32 few[2];
		u32 *many; /* owned */
	};
};

struct name {
	text_id text;
	u32 len;
};

struct decoder {
	struct profile *p;
	struct str *why;
	struct cursor sections[NR_SECTIONS]; /* SELF: the section of the first type */
	VEC(struct cursor) self;
	VEC(u32) types; /* of the body -> of the profile */
	VEC(u64) room;  /* by type of the profile: the weight that may still be added */
	VEC(struct name) names;
	VEC(frame_id) frames; /* by rank */
	struct callees *callees;
	VEC(int) dims;         /* of label sets: enum label, -1 for an unknown one */
	VEC(labels_id) labels; /* by label set; empty without label sets */
	labels_id no_labels;   /* without label sets: those of all weights */
	struct tierpath path;
	u64 node, next_tiered; /* the current node, and the next one in TIERS */
	VEC(u32) path_context; /* by depth: rank of the frame + 1, 0 for the root */
};

static int damaged(struct decoder *d, const char *what)
{
	str_addf(d->why, "damaged data: %s", what);
	return -EINVAL;
}

struct piece {
	u64 id, len;
};

static int read_sections(struct decoder *d, const u8 *body, size_t len)
{
	struct cursor c = { body, body + len, false };
	VEC(struct piece) pieces = { 0 };
	u64 nr = varint_read(&c);

	for (int id = 0; id < NR_SECTIONS; id++)
		d->sections[id] = (struct cursor){ body, body, false };
	while (pieces.nr < nr && !c.is_bad) {
		u64 id = varint_read(&c);
		vec_push(&pieces, (struct piece){ id, varint_read(&c) });
	}
	vec_each(piece, &pieces) {
		const u8 *at = bytes_read(&c, piece->len);
		if (!at)
			break;
		struct cursor section = { at, at + piece->len, false };
		if (piece->id == SECTION_SELF)
			vec_push(&d->self, section);
		else if (piece->id < NR_SECTIONS)
			d->sections[piece->id] = section;
	}
	vec_fini(&pieces);
	return c.is_bad || c.at != c.end ? damaged(d, "its table of sections does not fit") : 0;
}

static u32 find_type(struct profile *p, const struct value_type *type)
{
	u32 index = profile_find_type(p, type->name, type->unit);

	p->types.at[index].role = type->role;
	return index;
}

static int read_meta(struct decoder *d)
{
	struct cursor *c = &d->sections[SECTION_META];
	struct meta_types types = { 0 };
	int err = meta_decode(d->p, (const char *)c->at, (size_t)(c->end - c->at), &types);

	if (!err && types.all.nr != d->self.nr)
		err = -EINVAL;
	vec_each(type, &types.all)
		if (!err)
			vec_push(&d->types, find_type(d->p, type));
	for (u32 type = 0; type < d->p->types.nr; type++) {
		u64 room = VARINT_MAX - profile_total(d->p, type);
		vec_push(&d->room, room);
	}
	vec_each(dim, &types.dims)
		vec_push(&d->dims, *dim);
	meta_types_free(&types);
	return err ? damaged(d, "its description is unreadable") : 0;
}

static int read_names(struct decoder *d)
{
	struct cursor *c = &d->sections[SECTION_NAMES];
	char last[NAME_MAX_BYTES + 1] = "";
	u64 nr = varint_read(c), last_len = 0, total = 0;
	u64 nul_at = UINT64_MAX; /* in `last`: a name ends there */
	text_id id = frames_text(d->p->frames, "");

	for (u64 i = 0; i < nr && !c->is_bad; i++) {
		u64 shared = varint_read(c), more = varint_read(c);
		const u8 *bytes = bytes_read(c, more);
		if (!bytes || shared > last_len || shared + more > NAME_MAX_BYTES ||
		    (total += shared + more) > NAMES_MAX_BYTES) {
			c->is_bad = true;
			break;
		}
		memcpy(last + shared, bytes, more);
		last_len = shared + more;
		last[last_len] = '\0';
		if (shared <= nul_at) {
			const char *nul = memchr(last + shared, '\0', more);
			nul_at = nul ? (u64)(nul - last) : UINT64_MAX;
		}
		id = frames_text_after(d->p->frames, id, last,
				       nul_at < last_len ? nul_at : last_len);
		vec_push(&d->names, (struct name){ id, (u32)last_len });
	}
	return c->is_bad || c->at != c->end ? damaged(d, "its names do not fit") : 0;
}

static const char *text_of(const struct decoder *d, text_id id)
{
	return frames_text_get(d->p->frames, id);
}

/* Reads an unknown kind as native, as docs/profile-format.md requires. */
static enum frame_kind kind_of(u8 byte)
{
	u8 kind = byte & 15;

	return kind < NR_FRAME_KINDS ? (enum frame_kind)kind : FRAME_NATIVE;
}

/* A frame's entry of LINES. */
struct line_entry {
	u64 rank, line, file; /* file: 1 + index into the names, 0 if unknown */
};

/* Moves to the next entry. After the last one, `rank` is no frame's. */
static void next_line(struct cursor *lines, struct line_entry *e)
{
	if (lines->at == lines->end) {
		e->rank = UINT64_MAX;
		return;
	}
	e->rank += varint_read(lines);
	e->line = varint_read(lines);
	e->file = varint_read(lines);
}

/* Adds the frame at `rank`. If it has a line, its name ends in that. */
static bool add_frame(struct decoder *d, enum frame_kind kind, text_id name_id, text_id module_id,
		      const struct line_entry *e)
{
	struct frames *frames = d->p->frames;

	if (!e) {
		vec_push(&d->frames, frames_intern_texts(frames, kind, name_id, module_id));
		return true;
	}
	const char *name = text_of(d, name_id), *module = text_of(d, module_id);
	if (!e->line || e->line > INT32_MAX || e->file > d->names.nr)
		return false;
	struct source_line source = { e->file ? text_of(d, d->names.at[e->file - 1].text) : "",
				      (u32)e->line };
	struct frame whole = { .name = name, .line = source.line };
	auto_free char *function = frame_function(&whole);
	vec_push(&d->frames, frames_intern_line(frames, kind, function, module, source));
	return true;
}

static int read_frames(struct decoder *d)
{
	struct cursor *lines = &d->sections[SECTION_LINES];
	struct line_entry entry = { 0 };

	struct cursor *c = &d->sections[SECTION_FRAMES], *modules = &d->sections[SECTION_MODULES];
	bool has_modules = modules->at < modules->end;
	struct cursor names = *c;
	u64 nr = varint_read(&names), name_bytes = 0;

	const struct name none = { .text = frames_text(d->p->frames, "") };

	*c = names;
	if (nr > (u64)(c->end - c->at))
		return damaged(d, "its frames do not fit");
	vec_reserve(&d->frames, nr);
	for (u64 i = 0; i < nr; i++)
		varint_read(c);
	const u8 *kinds = bytes_read(c, nr);
	if (!kinds || c->is_bad || c->at != c->end)
		return damaged(d, "its frames do not fit");
	next_line(lines, &entry);
	for (u64 i = 0; i < nr; i++) {
		u64 name = varint_read(&names);
		u64 module = has_modules ? varint_read(modules) : 0;
		bool has_line = entry.rank == i;
		if (name >= d->names.nr || module > d->names.nr || modules->is_bad)
			return damaged(d, "a frame has no name");
		const struct name *own = &d->names.at[name],
				  *of = module ? &d->names.at[module - 1] : &none;
		name_bytes += own->len + of->len;
		if (name_bytes > NAMES_MAX_BYTES)
			return damaged(d, "its frames have names of more than 256 MB");
		if (lines->is_bad ||
		    !add_frame(d, kind_of(kinds[i]), own->text, of->text, has_line ? &entry : NULL))
			return damaged(d, "its lines do not fit");
		if (has_line)
			next_line(lines, &entry);
	}
	return 0;
}

/* Splits "java-123" into name and number. The number is 0 if there is none. */
static char *split_number(const char *text, u32 *number)
{
	const char *dash = strrchr(text, '-');
	char *end;

	*number = 0;
	if (dash && !strcmp(dash, "-0"))
		return xstrndup(text, (size_t)(dash - text));
	if (!dash || dash[1] < '1' || dash[1] > '9')
		return xstrdup(text);
	unsigned long long value = strtoull(dash + 1, &end, 10);
	if (*end || value > UINT32_MAX)
		return xstrdup(text);
	*number = (u32)value;
	return xstrndup(text, (size_t)(dash - text));
}

struct values {
	VEC(char *) all;
};

static void values_fini(struct values *v)
{
	vec_each(text, &v->all)
		free(*text);
	vec_fini(&v->all);
}

static bool read_values(struct cursor *c, struct values *v)
{
	u64 nr = varint_read(c);

	for (u64 i = 0; i < nr && !c->is_bad; i++) {
		u64 len = varint_read(c);
		const u8 *bytes = bytes_read(c, len);
		if (!bytes || len > NAME_MAX_BYTES)
			return false;
		auto_free char *raw = xstrndup((const char *)bytes, len);
		struct str clean = { 0 };
		utf8_clean(&clean, raw, NAME_MAX_BYTES);
		vec_push(&v->all, str_take(&clean));
	}
	return !c->is_bad;
}

/* `own` holds the texts, by label, that differ from the dimension's text. */
static void set_label(struct labels *l, int label, const char *text, char *own[NR_LABELS])
{
	if (label < 0)
		return;
	if (label == LABEL_COMM || label == LABEL_THREAD) {
		free(own[label]);
		own[label] = split_number(text, label == LABEL_COMM ? &l->pid : &l->tid);
	}
	l->text[label] = own[label] ?: text;
}

static int add_labels(struct decoder *d, const struct values *dims, struct cursor *columns,
		      size_t nr_dims)
{
	struct labels labels = { 0 };
	char *own[NR_LABELS] = { 0 };
	int err = 0;

	for (size_t dim = 0; dim < nr_dims && !err; dim++) {
		u64 value = varint_read(&columns[dim]);
		if (columns[dim].is_bad || value >= dims[dim].all.nr)
			err = damaged(d, "its labels do not fit");
		else if (dim < d->dims.nr)
			set_label(&labels, d->dims.at[dim], dims[dim].all.at[value], own);
	}
	if (!err)
		vec_push(&d->labels, profile_intern_labels(d->p, &labels));
	for (size_t i = 0; i < NR_LABELS; i++)
		free(own[i]);
	return err;
}

#define DIMS_MAX 64 /* dimensions of a file, including unknown ones */

static int read_sets(struct decoder *d, struct cursor *c, const struct values *dims, size_t nr_dims)
{
	struct cursor columns[DIMS_MAX];
	u64 nr = varint_read(c), text_bytes = 0;
	int err = c->is_bad ? damaged(d, "its labels do not fit") : 0;

	for (size_t dim = 0; dim < nr_dims; dim++) {
		columns[dim] = *c;
		for (u64 i = 0; i < nr && !c->is_bad && text_bytes <= TEXTS_MAX_BYTES; i++) {
			u64 value = varint_read(c);
			text_bytes +=
				value < dims[dim].all.nr ? strlen(dims[dim].all.at[value]) : 0;
		}
	}
	if (!err && text_bytes > TEXTS_MAX_BYTES)
		err = damaged(d, "its labels are more than 4 GB");
	for (u64 i = 0; i < nr && !err; i++)
		err = add_labels(d, dims, columns, nr_dims);
	return err;
}

static int read_labelsets(struct decoder *d)
{
	struct cursor *c = &d->sections[SECTION_LABELSETS];
	struct values dims[DIMS_MAX] = { 0 };
	bool is_good = true;

	if (c->at == c->end)
		return 0;
	u64 nr_dims = varint_read(c);
	if (!nr_dims || nr_dims > DIMS_MAX)
		return damaged(d, "its labels do not fit");
	for (u64 dim = 0; dim < nr_dims && is_good; dim++)
		is_good = read_values(c, &dims[dim]);
	int err = is_good ? read_sets(d, c, dims, nr_dims) : damaged(d, "its labels do not fit");
	for (u64 dim = 0; dim < nr_dims; dim++)
		values_fini(&dims[dim]);
	return err;
}

/* Adds a weight to the current node. Only the first type has tiers. */
static void add_weight(struct decoder *d, size_t type, labels_id labels, u64 value)
{
	if (type == 0)
		tierpath_add(&d->path, labels, d->types.at[0], value);
	else
		profile_add(d->p, tierpath_node(&d->path), labels, d->types.at[type], value);
}

static int read_labelled(struct decoder *d, size_t type, u64 value)
{
	struct cursor *sets = &d->sections[SECTION_NODELABELS];
	struct cursor *parts = &d->sections[SECTION_LABELWEIGHTS];
	u64 nr = varint_read(sets), set = 0;

	for (u64 i = 0; i < nr; i++) {
		set += varint_read(sets) + (i > 0);
		u64 part = i + 1 < nr ? varint_read(parts) : value;
		if (part > value || set >= d->labels.nr || sets->is_bad || parts->is_bad)
			return damaged(d, "its label weights do not fit");
		value -= part;
		add_weight(d, type, d->labels.at[set], part);
	}
	return nr ? 0 : damaged(d, "a weight has no label");
}

static int read_weight(struct decoder *d)
{
	int err = 0;

	for (size_t type = 0; type < d->self.nr && !err; type++) {
		u64 value = varint_read(&d->self.at[type]), *room = &d->room.at[d->types.at[type]];
		if (value > *room) {
			str_add(d->why, "the weights add up to more than 2^53 - 1");
			return -EINVAL;
		}
		*room -= value;
		if (value && d->labels.nr)
			err = read_labelled(d, type, value);
		else if (value)
			add_weight(d, type, d->no_labels, value);
	}
	return err;
}

static void add_callee(struct callees *c, u32 rank)
{
	u32 room = c->cap ?: ARRAY_SIZE(c->few);

	if (c->nr == room) {
		u32 *many = xreallocarray(c->cap ? c->many : NULL, 4ul * room, sizeof(many[0]));
		if (!c->cap)
			memcpy(many, c->few, sizeof(c->few));
		c->many = many;
		c->cap = 4 * room;
	}
	(c->cap ? c->many : c->few)[c->nr++] = rank;
}

/* Returns the frame's rank, or -1. */
static s64 read_callee(struct decoder *d, u32 context)
{
	struct callees *c = &d->callees[context];
	u64 place = varint_read(&d->sections[SECTION_CALLEE]);

	if (place)
		return place <= c->nr ? (s64)(c->cap ? c->many : c->few)[place - 1] : -1;

	u64 rank = varint_read(&d->sections[SECTION_FIRST]);
	if (rank >= d->frames.nr)
		return -1;
	add_callee(c, (u32)rank);
	return (s64)rank;
}

/* Finds the number of the next node with tiers; UINT64_MAX if none is left. */
static void find_next_tiered(struct decoder *d)
{
	struct cursor *c = &d->sections[SECTION_TIERS];

	d->next_tiered = c->at < c->end ? d->next_tiered + varint_read(c) : UINT64_MAX;
}

static int read_tiers(struct decoder *d)
{
	struct cursor *c = &d->sections[SECTION_TIERS];
	u64 parts[NR_TIER_PARTS];

	if (d->node != d->next_tiered)
		return 0;
	for (int i = 0; i < NR_TIER_PARTS; i++)
		parts[i] = varint_read(c);
	if (c->is_bad || !tierpath_divide(&d->path, parts))
		return damaged(d, "its tiers do not fit");
	find_next_tiered(d);
	return 0;
}

static int read_node(struct decoder *d, u64 depth)
{
	s64 rank = read_callee(d, d->path_context.at[depth - 1]);

	if (rank < 0)
		return damaged(d, "a caller has no such callee");
	if (!tierpath_up(&d->path, depth - 1))
		return damaged(d, "its tiers do not fit");
	tierpath_down(&d->path, d->frames.at[rank]);
	d->path_context.nr = depth;
	vec_push(&d->path_context, (u32)rank + 1);
	d->node++;
	return read_tiers(d) ?: read_weight(d);
}

static int read_tree(struct decoder *d)
{
	struct cursor *pop = &d->sections[SECTION_POP];
	u64 depth = 0;

	tierpath_init(&d->path, d->p, (size_t)(pop->end - pop->at));
	vec_push(&d->path_context, 0);
	if (!d->labels.nr)
		d->no_labels = profile_intern_labels(d->p, &(struct labels){ 0 });
	find_next_tiered(d);
	int err = read_weight(d);
	while (!err && pop->at < pop->end && !d->p->is_full) {
		u64 up = varint_read(pop);
		if (up > depth || depth + 1 - up > FORMAT_DEPTH_MAX)
			return damaged(d, "its tree has an impossible depth");
		depth = depth + 1 - up;
		err = read_node(d, depth);
	}
	if (err)
		return err;
	if (d->p->is_full)
		return damaged(d, "it has more frames than its size allows");
	if (!tierpath_up(&d->path, 0))
		return damaged(d, "its tiers do not fit");

	bool is_bad = pop->is_bad || d->sections[SECTION_CALLEE].is_bad;
	vec_each(self, &d->self)
		is_bad |= self->is_bad || self->at != self->end;
	return is_bad ? damaged(d, "its tree and its weights differ in length") : 0;
}

static int read_hidden(struct decoder *d)
{
	struct cursor *c = &d->sections[SECTION_HIDDEN];

	while (c->at < c->end) {
		u64 rank = varint_read(c), type = varint_read(c), value = varint_read(c);
		if (c->is_bad || rank >= d->frames.nr || type >= d->types.nr)
			return damaged(d, "its hidden totals do not fit");
		const struct frame f = *frames_get(d->p->frames, d->frames.at[rank]);
		profile_hide(d->p, &f, d->types.at[type], value);
	}
	return 0;
}

static void decoder_fini(struct decoder *d)
{
	for (size_t i = 0; d->callees && i <= d->frames.nr; i++)
		if (d->callees[i].cap)
			free(d->callees[i].many);
	free(d->callees);
	vec_fini(&d->names);
	vec_fini(&d->self);
	vec_fini(&d->types);
	vec_fini(&d->room);
	vec_fini(&d->frames);
	vec_fini(&d->labels);
	tierpath_fini(&d->path);
	vec_fini(&d->dims);
	vec_fini(&d->path_context);
}

int body_decode(const u8 *body, size_t len, struct profile *p, struct str *why)
{
	struct decoder d = { .p = p, .why = why };
	int err = read_sections(&d, body, len) ?: read_meta(&d)	 ?: read_names(&d)
						 ?: read_frames(&d)
						 ?: read_labelsets(&d);

	if (!err) {
		d.callees = xcalloc(d.frames.nr + 1, sizeof(d.callees[0]));
		err = read_tree(&d) ?: read_hidden(&d);
	}
	decoder_fini(&d);
	return err;
}
