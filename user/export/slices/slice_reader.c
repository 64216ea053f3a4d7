/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the slices of a time range. */
#include "export/slices/slice_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "base/auto.h"
#include "base/time.h"
#include "export/format/varint.h"
#include "export/slices/slice_book.h"
#include "profile/count.h"
#include "profile/sealing.h"
#include "profile/selection.h"
#include "profile/slots.h"

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
	bool has_slot, goes_back; /* the clock was set back: slots are in no order */
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

/* Types of other events are left out: "alloc" takes "alloc" and "alloc-samples". */
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

/* Call it after the weights of the slice were added. */
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
		/* A cut-off frame makes no progress any more. */
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
