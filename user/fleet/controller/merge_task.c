/* SPDX-License-Identifier: Apache-2.0 */
/* Merges a spool, in a worker. Part of fleet/controller/merge.h. */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/dict.h"
#include "base/opt.h"
#include "base/types.h"
#include "base/vec.h"
#include "export/format/sflm.h"
#include "export/format/varint.h"
#include "export/interchange/named_label.h"
#include "export/interchange/pb.h"
#include "export/interchange/tags.h"
#include "export/merge.h"
#include "export/read.h"
#include "fleet/controller/estimate.h"
#include "fleet/controller/merge.h"
#include "fleet/controller/node_table.h"
#include "fleet/wire/selector.h"
#include "profile/names.h"
#include "profile/selection.h"

#define RAW_BYTES     (16u << 20)
#define KEPT_BYTES    (32 << 20) /* kept free by malloc: the next result needs about as much */
#define CUT_NOTE      "cut-stacks"
#define ESTIMATE_ROOM 16 /* nodes that fail, and small ones that were drawn, raise an estimate */
/* nodes of the tree beyond which the lightest stacks are folded before the merge ends */
#define PRUNE_NODES     500000
#define SPOOL_BYTES_MAX (64u << 20)

/* The label set's service as a number. */
static u32 *number_services(const struct profile *p)
{
	u32 *number = xcalloc(p->labels.nr + 1, sizeof(number[0]));
	VEC(const char *) names = { 0 };

	for (labels_id l = 0; l < p->labels.nr; l++) {
		const char *name = p->labels.at[l].service ?: "";
		u32 i = 0;
		while (i < names.nr && strcmp(names.at[i], name) != 0)
			i++;
		if (i == names.nr)
			vec_push(&names, name);
		number[l] = i;
	}
	vec_fini(&names);
	return number;
}

struct stack {
	u32 service;
	node_id node, to; /* `to`: in the profile that is cut */
	node_id caller;   /* of a cut stack: the last of its callers that stays, 0 for none */
	bool is_cut, has_leaf;
	double share;
	u64 value; /* of the first type */
};

static int by_stack(const void *a, const void *b)
{
	const struct stack *x = a, *y = b;

	if (x->service != y->service)
		return x->service < y->service ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

static int by_share(const void *a, const void *b)
{
	const struct stack *x = a, *y = b;

	if (x->service != y->service)
		return x->service < y->service ? -1 : 1;
	if (x->share != y->share)
		return x->share > y->share ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

/* All stacks with their shares, those of a service one behind the other, the heaviest first. */
static size_t list_stacks(const struct profile *p, const u32 *services, struct stack *all)
{
	double *totals = xcalloc(p->types.nr + 1, sizeof(totals[0]));
	size_t nr = 0;

	vec_each(w, &p->weights)
		totals[w->type] += (double)w->value;
	vec_each(w, &p->weights)
		all[nr++] = (struct stack){
			.service = services[w->labels],
			.node = w->node,
			.share = totals[w->type] > 0 ? (double)w->value / totals[w->type] : 0,
			.value = w->type ? 0 : w->value,
		};
	free(totals);
	qsort(all, nr, sizeof(all[0]), by_stack);
	size_t kept = 0;
	for (size_t i = 0; i < nr; i++) {
		if (kept && all[kept - 1].service == all[i].service &&
		    all[kept - 1].node == all[i].node) {
			all[kept - 1].share += all[i].share;
			all[kept - 1].value += all[i].value;
		} else {
			all[kept++] = all[i];
		}
	}
	qsort(all, kept, sizeof(all[0]), by_share);
	return kept;
}

/* Moves the stacks beyond `max` of every service to the end of `all`. Returns the number kept. */
static size_t choose(struct stack *all, size_t nr, u32 max)
{
	struct stack *rest = xcalloc(nr + 1, sizeof(rest[0]));
	size_t kept = 0, nr_rest = 0, of_service = 0;
	u32 service = UINT32_MAX;

	for (size_t i = 0; i < nr; i++) {
		struct stack one = all[i];
		of_service = one.service == service ? of_service + 1 : 0;
		service = one.service;
		*(of_service < max ? &all[kept++] : &rest[nr_rest++]) = one;
	}
	memcpy(&all[kept], rest, nr_rest * sizeof(rest[0]));
	free(rest);
	return kept;
}

static node_id copy_node(const struct profile *p, struct profile *out, node_id *map, node_id n)
{
	node_id chain[1 << 10], at = n;
	u32 nr = 0;

	while (at && map[at] == NODE_NONE && nr < ARRAY_SIZE(chain)) {
		chain[nr++] = at;
		at = p->nodes.at[at].parent;
	}
	if (at && map[at] == NODE_NONE)
		copy_node(p, out, map, at);
	while (nr--) {
		node_id node = chain[nr], parent = p->nodes.at[node].parent;
		frame_id f =
			frames_copy(out->frames, frames_get(p->frames, p->nodes.at[node].frame));
		map[node] = profile_child(out, parent ? map[parent] : 0, f);
	}
	return n ? map[n] : 0;
}

static bool is_prune_frame(const struct profile *p, node_id n)
{
	const struct frame *f = frames_get(p->frames, p->nodes.at[n].frame);

	return f->kind == FRAME_GROUP && !strcmp(f->name, PRUNE_FRAME);
}

/* A profile that is cut: stacks that are not kept become shorter ones. */
struct pruning {
	const struct profile *p;
	struct profile *out;
	node_id *map; /* from nodes of `p` to those of `out`; NODE_NONE */
	node_id *kept_callers;
	/* nodes of `out`: those of kept stacks; the limit, of which folded stacks may use half */
	size_t nr_kept, room;
};

/*
 * By node: the deepest caller that is kept; 0: none. Callers below a "[truncated]" of an earlier
 * merge do not count: a stack has that frame once.
 */
static node_id *kept_callers(const struct pruning *k)
{
	node_id *kept = xcalloc(k->p->nodes.nr, sizeof(kept[0]));
	bool *is_below = xcalloc(k->p->nodes.nr, sizeof(is_below[0]));

	for (node_id n = 1; n < k->p->nodes.nr; n++) {
		node_id parent = k->p->nodes.at[n].parent;
		is_below[n] = is_below[parent] || is_prune_frame(k->p, n);
		kept[n] = !is_below[n] && k->map[n] != NODE_NONE ? n : kept[parent];
	}
	free(is_below);
	return kept;
}

/*
 * "kept callers;[truncated];leaf": the self values of all methods stay exact. Hostile nodes invent
 * stacks without end: first the kept callers go, then the leaf.
 */
static void fold(const struct pruning *k, struct stack *s)
{
	size_t used = k->out->nodes.nr - k->nr_kept;
	node_id n = s->node;

	s->caller = used < k->room ? k->kept_callers[n] : 0;
	if (s->caller == n && n) {
		s->to = k->map[n];
		return;
	}
	s->is_cut = true;
	s->to = profile_child(k->out, s->caller ? k->map[s->caller] : 0,
			      frames_intern(k->out->frames, FRAME_GROUP, PRUNE_FRAME, ""));
	s->has_leaf = n && !is_prune_frame(k->p, n) && used < 2 * k->room;
	if (!s->has_leaf)
		return;
	const struct frame *leaf = frames_get(k->p->frames, k->p->nodes.at[n].frame);
	s->to = profile_child(k->out, s->to, frames_copy(k->out->frames, leaf));
}

/* Returns the largest value of a stack that was cut. */
static u64 place_stacks(struct pruning *k, struct stack *all, size_t nr, size_t nr_kept)
{
	u64 largest = 0;

	for (size_t i = 0; i < nr_kept; i++)
		all[i].to = copy_node(k->p, k->out, k->map, all[i].node);
	k->nr_kept = k->out->nodes.nr;
	k->kept_callers = kept_callers(k);
	for (size_t i = nr_kept; i < nr; i++) {
		fold(k, &all[i]);
		if (all[i].is_cut && all[i].value > largest)
			largest = all[i].value;
	}
	free(k->kept_callers);
	return largest;
}

static void copy_types_and_labels(const struct profile *p, struct profile *out, labels_id *labels)
{
	for (u32 t = 0; t < p->types.nr; t++) {
		u32 type = profile_find_type(out, p->types.at[t].name, p->types.at[t].unit);
		out->types.at[type].role = p->types.at[t].role;
	}
	for (labels_id l = 0; l < p->labels.nr; l++)
		labels[l] = profile_intern_labels(out, &p->labels.at[l]);
}

/* Most methods with a hidden total, and most frames of cut stacks that are looked at for it. */
#define HIDDEN_MAX  (1u << 16)
#define HIDING_WORK (1ull << 28)

/* What the totals of methods lack in `out`. */
struct hiding {
	const struct profile *p;
	struct profile *out;
	u32 *last;        /* by name: the last stack that has it */
	u32 nr_stacks;    /* so far */
	u64 work;         /* frames that were looked at */
	u64 nr_left_out;  /* stacks and methods beyond the limits */
	struct dict lost; /* frame << 32 | type -> value; the frame has the method's name */
	frame_id *first;  /* by name: its frame in `lost` */
};

static bool is_new(struct hiding *h, frame_id frame)
{
	u32 *last = &h->last[frames_name(h->p->frames, frame)];
	bool is_first = *last != h->nr_stacks;

	*last = h->nr_stacks;
	h->work++;
	return is_first;
}

/* Adds the value of a cut stack to the methods that its folded stack lacks. */
static void hide(struct hiding *h, const struct stack *s, const struct weight *w)
{
	const struct profile_node *nodes = h->p->nodes.at;

	h->nr_left_out += s->is_cut && h->work > HIDING_WORK;
	if (!s->is_cut || h->work > HIDING_WORK)
		return;
	h->nr_stacks++;
	for (node_id n = s->caller; n; n = nodes[n].parent)
		is_new(h, nodes[n].frame);
	if (s->has_leaf)
		is_new(h, nodes[s->node].frame);
	for (node_id n = s->node; n != s->caller; n = nodes[n].parent) {
		frame_id f = nodes[n].frame, *first = &h->first[frames_name(h->p->frames, f)];
		if (!is_new(h, f) || frames_get(h->p->frames, f)->kind == FRAME_GROUP)
			continue;
		*first = *first ?: f + 1;
		*dict_add(&h->lost, (u64)(*first - 1) << 32 | w->type) += w->value;
	}
}

static int by_value(const void *a, const void *b)
{
	const struct dict_slot *x = a, *y = b;

	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

/* Of an attacker's endless methods only the heaviest are kept. */
static void hiding_end(struct hiding *h)
{
	VEC(struct dict_slot) all = { 0 };

	dict_each(slot, &h->lost)
		vec_push(&all, *slot);
	if (all.nr)
		qsort(all.at, all.nr, sizeof(all.at[0]), by_value);
	vec_each(t, &h->p->hidden) {
		const struct frame f = { .name = t->name, .module = t->module, .kind = t->kind };
		profile_hide(h->out, &f, t->type, t->value);
	}
	for (size_t i = 0; i < all.nr; i++)
		if (h->out->hidden.nr < HIDDEN_MAX)
			profile_hide(h->out,
				     frames_get(h->p->frames, (frame_id)(all.at[i].key >> 32)),
				     (u32)all.at[i].key, all.at[i].value);
		else
			h->nr_left_out++;
	vec_fini(&all);
	dict_fini(&h->lost);
	free(h->last);
	free(h->first);
}

/* `all`: stacks, of which the first are kept. Returns as place_stacks does. */
static u64 copy_stacks(const struct profile *p, struct profile *out, const u32 *services,
		       struct stack *all, size_t nr, size_t nr_kept, u64 *nr_left_out)
{
	struct pruning k = {
		.p = p, .out = out, .map = xcalloc(p->nodes.nr, sizeof(k.map[0])), .room = nr_kept
	};
	labels_id *labels = xcalloc(p->labels.nr + 1, sizeof(labels[0]));

	memset(k.map, 0xff, p->nodes.nr * sizeof(k.map[0]));
	copy_types_and_labels(p, out, labels);
	u64 largest = place_stacks(&k, all, nr, nr_kept);
	qsort(all, nr, sizeof(all[0]), by_stack);
	u32 nr_texts = frames_nr_texts(p->frames);
	struct hiding h = { .p = p,
			    .out = out,
			    .last = xcalloc((size_t)nr_texts + 1, sizeof(h.last[0])),
			    .first = xcalloc((size_t)nr_texts + 1, sizeof(h.first[0])) };
	vec_each(w, &p->weights) {
		const struct stack key = { .service = services[w->labels], .node = w->node };
		const struct stack *of = bsearch(&key, all, nr, sizeof(key), by_stack);
		profile_add(out, of->to, labels[w->labels], w->type, w->value);
		hide(&h, of, w);
	}
	hiding_end(&h);
	*nr_left_out = h.nr_left_out;
	free(k.map);
	free(labels);
	return largest;
}

static void note_totals(struct profile *p, u64 nr_left_out)
{
	const char *key = NOTE_INCOMPLETE "totals";
	const struct note *old = profile_find_note(p, key);

	if (nr_left_out)
		profile_note(p, key,
			     "stacks and methods were too many for exact totals of methods: totals "
			     "are too small",
			     nr_left_out + (old ? old->value : 0));
}

u64 prune_stacks(struct profile *p, u32 max)
{
	if (p->nodes.nr <= max)
		return 0;
	u32 *services = number_services(p);
	struct stack *all = xcalloc(p->weights.nr + 1, sizeof(all[0]));
	size_t nr = list_stacks(p, services, all), kept = choose(all, nr, max);
	u64 largest = 0, nr_left_out;

	if (kept < nr) {
		struct profile *out = profile_new();
		if (frames_keeps_lines(p->frames))
			frames_keep_lines(out->frames);
		largest = copy_stacks(p, out, services, all, nr, kept, &nr_left_out);
		profile_swap_stacks(p, out);
		note_totals(p, nr_left_out);
		profile_free(out);
	}
	free(services);
	free(all);
	return largest;
}

/* The profile that all results are added to. */
struct merging {
	struct spool_params params;
	struct profile *p;
	struct frames *raw;   /* frames of results as they came: those of most nodes are alike */
	struct naming *names; /* from frames of `raw` to frames of `p` */
	VEC(u64) sums;        /* by value type of `p` */
	VEC(struct merge_total) totals;
	struct node_table table;
	u32 nr_results;            /* of the spool, so far */
	double carry[SCALE_TYPES]; /* of rounding */
	size_t prune_at;           /* nodes of `p` */
	u32 nr_partials;           /* of the spool, so far */
	u64 nr_bad, cut;           /* `cut`: the largest value that a cut stack can have had */
};

/* An entry of the spool. */
struct spooled {
	struct spool_entry head;
	char first[SPOOL_TEXT_MAX + 1], second[SPOOL_TEXT_MAX + 1];
	u8 *bytes; /* owned */
};

static int read_at(int fd, u64 *at, void *bytes, size_t len)
{
	ssize_t got;

	for (char *to = bytes; len; to += got, *at += (u64)got, len -= (size_t)got) {
		got = pread(fd, to, len, (off_t)*at);
		if (got <= 0)
			return got ? -errno : -EBADMSG;
	}
	return 0;
}

static int read_head(int fd, u64 *at, struct spool_entry *head)
{
	int err = read_at(fd, at, head, sizeof(*head));

	if (err)
		return err;
	return head->first_len > SPOOL_TEXT_MAX || head->second_len > SPOOL_TEXT_MAX ||
			       head->len > SPOOL_BYTES_MAX
		       ? -EBADMSG
		       : 0;
}

static int read_rest(int fd, u64 at, struct spooled *e)
{
	e->first[e->head.first_len] = e->second[e->head.second_len] = '\0';
	e->bytes = xmalloc(e->head.len + 1u);
	int err = read_at(fd, &at, e->first, e->head.first_len);
	err = err ?: read_at(fd, &at, e->second, e->head.second_len);
	return err ?: read_at(fd, &at, e->bytes, e->head.len);
}

struct marking {
	const char *node, *node_labels;
	bool tags_nodes, is_stored;
	VEC(char *) texts; /* tags of label sets; owned */
};

/*
 * Whether a label or tag must not come from a node: a node must not name other nodes, neither in
 * its labels nor in its samples.
 */
static bool is_name(const char *key)
{
	return !strcmp(key, "node");
}

static void add_node_tags(struct tags *all, const struct marking *m)
{
	auto_free char *copy = xstrdup(m->node_labels);
	char *rest = copy, *key, *value;

	if (m->tags_nodes)
		tags_add_text(all, "node", m->node);
	while (all->all.nr < TAGS_MAX && node_labels_next(&rest, &key, &value))
		if (!is_name(key))
			tags_add_text(all, key, value);
}

/* A merge_label_fn. */
static void mark(struct labels *l, void *ctx)
{
	struct marking *m = ctx;
	const char *at = l->tags ?: "";
	struct tags all = { 0 };
	struct tag tag;

	for (u32 nr = 0; nr < TAGS_MAX / 2 && tag_next(&at, &tag); nr++) {
		bool is_own = !is_name(tag.key);
		if (is_own && tag.is_number)
			tags_add_number(&all, tag.key, tag.number, tag.unit);
		else if (is_own)
			tags_add_text(&all, tag.key, tag.text);
		tag_fini(&tag);
	}
	add_node_tags(&all, m);
	l->tags = tags_take(&all);
	vec_push(&m->texts, (char *)l->tags);
	l->pid = l->tid = 0;
	l->container_id = l->pod_uid = "";
	l->trace = l->span = ""; /* nearly every sample has a trace of its own */
	if (!m->tags_nodes)
		l->thread = l->pod = "";
	char service[128];
	if (!m->is_stored || !labels_find(m->node_labels, "service", service, sizeof(service)))
		return;
	vec_push(&m->texts, xstrdup(service));
	l->service = m->texts.at[m->texts.nr - 1];
}

static void marking_fini(struct marking *m)
{
	vec_each(t, &m->texts)
		free(*t);
	vec_fini(&m->texts);
}

/*
 * -EOVERFLOW if a sum would exceed what every format holds; nothing has changed then. Sums of
 * estimates get a lower limit, because the last merge multiplies them.
 */
static int add_sums(struct merging *m, const struct profile *file)
{
	const struct merge_order *o = &m->params.order;
	const u64 most = o->scales && !o->is_last ? VARINT_MAX / ESTIMATE_ROOM : VARINT_MAX;
	u64 *sums = xcalloc(file->types.nr + 1, sizeof(sums[0]));
	int err = 0;

	vec_each(w, &file->weights) {
		if (w->value > most || sums[w->type] > most - w->value)
			err = -EOVERFLOW;
		else
			sums[w->type] += w->value;
	}
	for (u32 t = 0; !err && t < file->types.nr; t++) {
		u32 of = profile_find_type(m->p, file->types.at[t].name, file->types.at[t].unit);
		while (m->sums.nr <= of)
			vec_push(&m->sums, 0);
		if (m->sums.at[of] > most - sums[t])
			err = -EOVERFLOW;
	}
	for (u32 t = 0; !err && t < file->types.nr; t++)
		m->sums.at[profile_find_type(m->p, file->types.at[t].name,
					     file->types.at[t].unit)] += sums[t];
	free(sums);
	return err;
}

/* Whether the note is one of the coverage, which only the controller writes. */
static bool is_of_fleet(const struct note *n)
{
	size_t len = strlen(NOTE_INCOMPLETE);
	const char *key = n->key + (strncmp(n->key, NOTE_INCOMPLETE, len) ? 0 : len);

	return !strncmp(key, "fleet-", strlen("fleet-"));
}

/* Partial results have notes of the fleet, results of nodes have none. */
static void add_facts(struct profile *p, const struct profile *file, bool is_partial)
{
	bool is_first = !p->start_wall_ns && !p->duration_ns;

	if (is_first)
		p->rate_hz = file->rate_hz;
	else if (p->rate_hz != file->rate_hz)
		p->rate_hz = 0;
	if (file->start_wall_ns && (!p->start_wall_ns || file->start_wall_ns < p->start_wall_ns))
		p->start_wall_ns = file->start_wall_ns;
	if (file->duration_ns > p->duration_ns)
		p->duration_ns = file->duration_ns;
	vec_each(n, &file->notes) {
		if (!is_partial && is_of_fleet(n))
			continue;
		const struct note *old = profile_find_note(p, n->key);
		u64 before = old ? old->value : 0;
		profile_note(p, n->key, n->text,
			     n->value > INT64_MAX - before ? INT64_MAX : before + n->value);
	}
}

/* Not a text, which a store may send by mistake: readers take any text for stacks. */
static bool is_pprof(const struct spooled *e)
{
	struct pb_reader r = pb_read(e->bytes, e->head.len);
	struct pb_field f;
	int more = 0;

	if (e->head.len > 2 && e->bytes[0] == 0x1f && e->bytes[1] == 0x8b)
		return true;
	while ((more = pb_next(&r, &f)) > 0 && f.number < 16)
		;
	return !more;
}

/* Names the only type of a profile of a store. */
static int name_type(struct profile *p, const struct merge_order *o)
{
	if (p->types.nr != 1 || strcmp(p->types.at[0].unit, o->unit) != 0)
		return -EPROTO;
	free(p->types.at[0].name);
	p->types.at[0].name = xstrdup(o->event);
	return 0;
}

static int read_profile(const struct spooled *e, struct profile *out)
{
	auto_str struct str why = { 0 };
	FILE *f = e->head.len ? fmemopen(e->bytes, e->head.len, "r") : NULL;

	if (!f)
		return -EBADMSG;
	int err = profile_read(f, out, &why);
	fclose(f);
	return err;
}

static bool is_text(const char *wanted, const char *text)
{
	return !*wanted || !strcmp(wanted, text ?: "");
}

/* A labels_keep_fn: as a node filters by the selector (user/web/jobs/jobs_task.c). */
static bool is_wanted(const struct labels *l, const void *ctx)
{
	const char(*wanted)[128] = ctx;
	const char *label = wanted[SELECTOR_LABEL];

	return is_text(wanted[SELECTOR_SERVICE], l->service) &&
	       is_text(wanted[SELECTOR_POD], l->pod) &&
	       is_text(wanted[SELECTOR_NAMESPACE], l->namespace) &&
	       (is_text(wanted[SELECTOR_CONTAINER], l->container) ||
		is_text(wanted[SELECTOR_CONTAINER], l->container_id)) &&
	       (!*label || named_labels_match(l, &(struct opt_list){ &label, 1, 1 }));
}

static bool has_filter(const struct merging *m)
{
	for (int i = 0; i < NR_SELECTOR_PROCESS; i++)
		if (*m->params.order.wanted[i])
			return true;
	return false;
}

static void forget_names(struct merging *m)
{
	naming_free(take(m->names));
	frames_free(take(m->raw));
}

/*
 * The names of most nodes overlap. Hostile nodes may send ever new names, so the table is dropped
 * at a limit.
 */
static struct frames *raw_frames(struct merging *m)
{
	if (m->raw && frames_bytes(m->raw) > RAW_BYTES)
		forget_names(m);
	if (!m->raw) {
		m->raw = frames_new();
		m->names = naming_new(m->raw, m->p->frames, NAMES_WITHOUT_IDS);
	}
	return m->raw;
}

/* A reader may have exchanged the frames: profiles with slots get new ones. */
static struct naming *naming_of(struct merging *m, const struct profile *file)
{
	if (file->frames != m->raw)
		return naming_new(file->frames, m->p->frames, NAMES_WITHOUT_IDS);
	return m->names;
}

/* UINT64_MAX: there is no bound for this unit. */
static u64 most_of(const struct spool_entry *e, const char *unit)
{
	u64 most = !strcmp(unit, "samples") ? e->most_samples
		   : !strcmp(unit, "ns")    ? e->most_ns
					    : 0;

	return most ?: UINT64_MAX;
}

/* `file` has samples, and the node stands for others as well: its values become estimates. */
static void scale_result(struct merging *m, const struct spool_entry *e, struct profile *file)
{
	double chance = estimate_chance((double)e->chance_ppb / FLEET_PPB, m->params.order.reach);

	profile_scale(file, (double)e->weight_ppm / 1e6 / chance, m->carry);
}

static int add_stacks(struct merging *m, const struct spooled *e, struct profile *file,
		      struct naming *names, struct merge_total *total)
{
	struct marking marking = { .node = e->first,
				   .node_labels = e->second,
				   .tags_nodes = m->params.order.tags_nodes,
				   .is_stored = *m->params.order.event };

	total->raw = total->value = profile_total(file, 0);
	if (m->params.order.lists_nodes)
		node_table_add(&m->table, m->nr_results - 1, file, names);
	if (m->params.order.scales) {
		scale_result(m, &e->head, file);
		total->value = profile_total(file, 0);
	}
	int err = add_sums(m, file);
	if (err) {
		node_table_drop(&m->table, m->nr_results - 1);
		return err;
	}
	merge_stacks(m->p, file, names, mark, &marking);
	marking_fini(&marking);
	add_facts(m->p, file, false);
	return 0;
}

static int add_result(struct merging *m, const struct spooled *e, struct merge_total *total)
{
	const struct merge_order *o = &m->params.order;
	auto_profile struct profile *file = profile_new_sharing(raw_frames(m));
	int err = *o->event && !is_pprof(e) ? -EBADMSG : read_profile(e, file);

	if (*o->event && !err && file->weights.nr)
		err = name_type(file, o);
	if (err)
		return err;
	profile_forget_hidden(file); /* only partial results have them */
	if (has_filter(m))
		profile_select(file, is_wanted, m->params.order.wanted);
	if (!file->weights.nr)
		return add_sums(m, file)
			       /*
				* the partial result stays readable with the types that were added
				*/
			       ?: -ENODATA;
	for (u32 i = 0; i < file->types.nr; i++)
		if (profile_total(file, i) > most_of(&e->head, file->types.at[i].unit))
			return -ERANGE;
	struct naming *names = naming_of(m, file);
	err = add_stacks(m, e, file, names, total);
	if (names != m->names)
		naming_free(names);
	return err;
}

/* The last merge has one partial result: without it nothing is left. */
static int add_merged(struct merging *m, const struct spooled *e)
{
	auto_profile struct profile *file = profile_new();
	int err = read_profile(e, file);

	if (!err && m->params.order.factor > 0)
		profile_scale(file, m->params.order.factor, m->carry);
	err = err ?: add_sums(m, file);
	const struct merge_total lost = { .raw = m->nr_partials++, .err = (u32)-err };

	if (err) {
		vec_push(&m->totals, lost);
		m->nr_bad += e->head.weight_ppm;
		return m->params.order.is_last ? err : 0;
	}
	merge_stacks(m->p, file, NULL, NULL, NULL);
	const struct note *cut =
		m->params.order.factor > 0 ? profile_find_note(file, CUT_NOTE) : NULL;
	if (cut)
		profile_note(file, CUT_NOTE, cut->text,
			     (u64)((double)cut->value * m->params.order.factor));
	add_facts(m->p, file, true);
	return 0;
}

static int add_entry(struct merging *m, const struct spooled *e)
{
	struct merge_total total = { 0 };
	int err;

	switch (e->head.kind) {
	case SPOOL_RESULT:
		copy_text(total.node, sizeof(total.node), e->first);
		m->nr_results++;
		err = add_result(m, e, &total);
		total.err = (u32)-err;
		if (err)
			total.raw = total.value = 0;
		vec_push(&m->totals, total);
		m->nr_bad += err && err != -ENODATA;
		return 0;
	case SPOOL_MERGED:
		return add_merged(m, e);
	case SPOOL_NOTE:
		if (*e->first) {
			profile_note(m->p, e->first, e->second, e->head.weight_ppm);
		} else {
			free(m->p->title);
			m->p->title = xstrdup(e->second);
		}
		return 0;
	default:
		return -EBADMSG;
	}
}

/* Prunes a large tree: hostile nodes may send ever new stacks, too. */
static void limit_tree(struct merging *m)
{
	if (m->p->nodes.nr < m->prune_at)
		return;
	forget_names(m); /* they lead to frames that are freed */
	m->cut += prune_stacks(m->p, MERGE_STACKS_MERGING);
	m->prune_at = 2 * m->p->nodes.nr;
	m->prune_at = m->prune_at > PRUNE_NODES ? m->prune_at : PRUNE_NODES;
}

static int merge_some(struct merging *m, int fd, bool are_partials)
{
	u64 at = 0;
	int err = 0;

	for (u32 i = 0; !err && i < m->params.nr; i++) {
		struct spooled e = { 0 };
		err = read_head(fd, &at, &e.head);
		if (!err && (e.head.kind == SPOOL_MERGED) == are_partials)
			err = read_rest(fd, at, &e) ?: add_entry(m, &e);
		at += (u64)e.head.first_len + e.head.second_len + e.head.len;
		free(e.bytes);
		limit_tree(m);
	}
	return err;
}

/*
 * Results that do not fit any more are left out one by one. A partial result that does not fit
 * takes all of its nodes with it.
 */
static int merge_all(struct merging *m, int fd)
{
	return merge_some(m, fd, true) ?: merge_some(m, fd, false);
}

static void note_bad(struct merging *m)
{
	const struct note *old = profile_find_note(m->p, NOTE_INCOMPLETE "fleet-unreadable");
	u64 nr = m->nr_bad + (old ? old->value : 0);

	if (nr)
		profile_note(m->p, NOTE_INCOMPLETE "fleet-unreadable",
			     "results of nodes could not be read, or are too large to be added, "
			     "and are left out",
			     nr);
}

/* A stack can be cut in several merges. */
static void note_cut(struct merging *m)
{
	const struct note *old = profile_find_note(m->p, CUT_NOTE);
	u64 most = m->cut + (old ? old->value : 0);

	if (most)
		profile_note(m->p, CUT_NOTE,
			     "is the largest value that a stack can have of which " PRUNE_FRAME
			     " stands for the middle; self values and totals of methods are exact",
			     most);
}

static int put_partial(struct worker_io *io, const struct merging *m, const struct str *profile)
{
	auto_str struct str table = { 0 };

	node_table_encode(&m->table, &table);
	const struct partial_head head = { PARTIAL_MAGIC, (u32)m->totals.nr, (u32)table.len };
	return worker_put(io, &head, sizeof(head))
		       ?: worker_put(io, m->totals.at, m->totals.nr * sizeof(m->totals.at[0]))
		       ?: worker_put(io, table.at, table.len)
		       ?: worker_put(io, profile->at, profile->len);
}

int merge_task(struct worker_io *io, const int *fds, const void *params, size_t len)
{
	auto_profile struct profile *p = profile_new();
	auto_str struct str out = { 0 };
	struct merging m = { .p = p, .prune_at = PRUNE_NODES };

	if (len != sizeof(m.params))
		return -EINVAL;
	mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
	mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
	memcpy(&m.params, params, sizeof(m.params));
	int err = merge_all(&m, fds[0]);
	forget_names(&m);
	m.cut += prune_stacks(p, m.params.order.is_last ? MERGE_STACKS : MERGE_STACKS_MERGING);
	note_bad(&m);
	note_cut(&m);
	err = err ?: sflm_write(p, &out) ?: put_partial(io, &m, &out);
	vec_fini(&m.totals);
	vec_fini(&m.sums);
	node_table_fini(&m.table);
	return err;
}
