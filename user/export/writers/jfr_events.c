/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a JFR recording. Part of export/writers/jfr_parts.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "export/interchange/jfr.h"
#include "export/writers/jfr_parts.h"
#include "export/writers/jfr_words.h"
#include "profile/slots.h"

#define EVENTS_MAX (64u << 20)

/* The golden ratio in 1/65536: spreads the events of few samples over all of the time. */
#define PHASE_STEP 40503u

/* A type of the profile that has events of its own. The others become JFR_SAMPLE. */
struct column {
	enum jfr_type event;
	u32 count; /* the type that counts its samples; NO_TYPE: it counts samples itself, or none
		    */
	/* counts the samples of another type, whose events already have that number */
	bool is_count;
};

#define NO_TYPE UINT32_MAX

struct item {
	u32 weight;    /* index */
	labels_id who; /* see struct writing */
};

struct writing {
	const struct profile *p;
	struct jfr_pools *pools;
	FILE *out;
	struct column *columns; /* one for each type of the profile */
	labels_id *who; /* for each label set: the first one that differs from it in time only */
	struct str body, event;
	u64 bytes, nr_events;
	u32 phase;
};

/* A type of the profile whose event other readers know. */
struct known_type {
	const char *name, *unit;
	enum jfr_type event;
};

static const struct known_type known[] = {
	{ "cpu", "samples", JFR_EXECUTION },     { "samples", "samples", JFR_EXECUTION },
	{ "cpu-time", "samples", JFR_CPU_TIME }, { "native", "samples", JFR_NATIVE },
	{ "wall", "samples", JFR_WALL },         { "wall", "ns", JFR_WALL },
	{ "alloc", "bytes", JFR_ALLOCATION },    { "live", "bytes", JFR_LIVE },
	{ "nativemem", "bytes", JFR_MALLOC },    { "lock", "ns", JFR_MONITOR },
	{ "nativelock", "ns", JFR_NATIVE_LOCK },
};

static bool is_taken(const struct writing *w, u32 nr, enum jfr_type event)
{
	for (u32 i = 0; i < nr; i++)
		if (w->columns[i].event == event)
			return true;
	return false;
}

static u32 count_of(const struct profile *p, u32 type)
{
	auto_free char *name = xasprintf("%s-samples", p->types.at[type].name);

	for (u32 i = 0; i < p->types.nr; i++)
		if (!strcmp(p->types.at[i].name, name) && !strcmp(p->types.at[i].unit, "samples"))
			return i;
	return NO_TYPE;
}

static void choose_columns(struct writing *w)
{
	const struct profile *p = w->p;

	for (u32 t = 0; t < p->types.nr; t++) {
		const struct value_type *v = &p->types.at[t];
		w->columns[t] = (struct column){ JFR_SAMPLE, NO_TYPE, false };
		for (size_t i = 0; i < ARRAY_SIZE(known); i++)
			if (!strcmp(v->name, known[i].name) && !strcmp(v->unit, known[i].unit) &&
			    !is_taken(w, t, known[i].event))
				w->columns[t].event = known[i].event;
	}
	for (u32 t = 0; t < p->types.nr; t++) {
		struct column *c = &w->columns[t];
		if (c->event == JFR_SAMPLE || !strcmp(p->types.at[t].unit, "samples"))
			continue;
		c->count = count_of(p, t);
		if (c->count != NO_TYPE)
			w->columns[c->count].is_count = true;
	}
}

/*
 * Finds, for each label set, the one without its time: slots of time split the weights of a stack.
 */
static void find_who(struct writing *w)
{
	struct dict known_as = { 0 };
	auto_str struct str text = { 0 };

	for (labels_id id = 0; id < w->p->labels.nr; id++) {
		const struct labels *l = &w->p->labels.at[id];
		str_clear(&text);
		str_addf(&text, "%u %u", l->pid, l->tid);
		for (enum label i = 0; i < NR_LABELS; i++)
			if (i != LABEL_TIME)
				str_addf(&text, "%c%s", 0, l->text[i] ?: "");
		u64 *as = dict_add(&known_as, hash_keyed(text.at, text.len));
		if (!*as)
			*as = id + 1ull;
		w->who[id] = (labels_id)(*as - 1);
	}
	dict_fini(&known_as);
}

static int by_stack(const void *a, const void *b, void *ctx)
{
	const struct profile *p = ctx;
	const struct item *i = a, *k = b;
	const struct weight *v = &p->weights.at[i->weight], *w = &p->weights.at[k->weight];

	if (i->who != k->who)
		return i->who < k->who ? -1 : 1;
	if (v->node != w->node)
		return v->node < w->node ? -1 : 1;
	if (v->type != w->type)
		return v->type < w->type ? -1 : 1;
	return v->labels < w->labels ? -1 : v->labels > w->labels;
}

static void flush(struct writing *w, u64 nr_bytes)
{
	if (w->out && w->event.len > nr_bytes)
		fwrite(w->event.at, 1, w->event.len, w->out);
	if (!w->out || w->event.len > nr_bytes) {
		w->bytes += w->event.len;
		str_clear(&w->event);
	}
}

static void end_event(struct writing *w)
{
	jfr_add_event(&w->event, &w->body);
	w->nr_events++;
	flush(w, 1 << 16);
}

/* An event of a sample has its labels last. */
static void end_sample(struct writing *w, const struct weight *v)
{
	if (w->pools->has_labels)
		jfr_add_number(&w->body, jfr_labels(w->pools, v->labels));
	end_event(w);
}

static void begin_event(struct writing *w, enum jfr_type type, u64 time_ns)
{
	str_clear(&w->body);
	jfr_add_number(&w->body, type);
	jfr_add_number(&w->body, time_ns);
}

static enum jfr_thread_state state_of(const struct labels *l)
{
	if (!l->state || !*l->state)
		return JFR_STATE_DEFAULT;
	return strcmp(l->state, "running") ? JFR_STATE_SLEEPING : JFR_STATE_RUNNABLE;
}

/* The values that all events of one weight have in common. */
struct sample {
	const struct weight *weight;
	enum jfr_type event;
	u32 thread, stack, class; /* keys */
	u64 begin_ns, span_ns;
};

static enum jfr_type park_or_monitor(const struct profile *p, frame_id class)
{
	return jfr_class_is_lock(frames_get(p->frames, class)->name) ? JFR_PARK : JFR_MONITOR;
}

static bool has_class(enum jfr_type event)
{
	return event == JFR_ALLOCATION || event == JFR_LIVE || event == JFR_MONITOR;
}

/* "[monitor]" stands for an unknown class. As a class, readers would take it for an array. */
static bool is_class(const struct frame *f)
{
	return f->kind == FRAME_CLASS && *f->name != '[';
}

/* The class on top of an allocation or a lock is a field of its event. */
static struct sample sample_of(struct writing *w, const struct weight *v)
{
	const struct profile *p = w->p;
	const struct labels *l = &p->labels.at[v->labels];
	struct sample s = { .weight = v,
			    .event = w->columns[v->type].event,
			    .thread = jfr_thread(w->pools, v->labels),
			    .span_ns = p->duration_ns };
	const struct profile_node *leaf = &p->nodes.at[v->node];
	node_id stack = v->node;
	struct slots slots;

	if (has_class(s.event) && leaf->parent && is_class(frames_get(p->frames, leaf->frame))) {
		stack = leaf->parent;
		s.class = jfr_class(w->pools, leaf->frame);
		if (s.event == JFR_MONITOR)
			s.event = park_or_monitor(p, leaf->frame);
	}
	s.stack = jfr_stack(w->pools, stack);
	if (p->slot_ns && l->time && slots_parse(l->time, &slots)) {
		s.begin_ns = slots.first * p->slot_ns;
		s.span_ns = (slots.end - slots.first) * p->slot_ns;
	}
	return s;
}

/*
 * The time of event `i` of `nr`. A profile keeps no times of single events, so events are spread
 * evenly over the weight's slot, or over the whole recording.
 */
static u64 time_of(const struct writing *w, const struct sample *s, u64 i, u64 nr)
{
	unsigned __int128 part = (unsigned __int128)s->span_ns * ((i << 16) + w->phase);

	return s->begin_ns + (u64)(part / ((unsigned __int128)nr << 16));
}

static void add_weight(struct writing *w, const struct sample *s, u64 value)
{
	struct str *b = &w->body;
	const struct value_type *type = &w->p->types.at[s->weight->type];

	switch (s->event) {
	case JFR_ALLOCATION:
		jfr_add_number(b, s->class);
		jfr_add_number(b, value);
		break;
	case JFR_LIVE:
		jfr_add_number(b, s->class);
		jfr_add_number(b, value);
		jfr_add_number(b, 0); /* the time of its allocation is the event's */
		break;
	case JFR_MALLOC:
		jfr_add_number(b, 0);
		jfr_add_number(b, value);
		break;
	case JFR_NATIVE_LOCK:
		jfr_add_number(b, 0);
		break;
	case JFR_MONITOR:
	case JFR_PARK:
		jfr_add_number(b, s->class);
		jfr_add_number(b, 0);
		jfr_add_number(b, 0);
		if (s->event == JFR_PARK)
			jfr_add_number(b, 0);
		break;
	case JFR_SAMPLE:
		jfr_add_text(b, type->name);
		jfr_add_text(b, type->unit);
		jfr_add_number(b, value);
		break;
	default:
		break;
	}
}

static void write_event(struct writing *w, const struct sample *s, u64 time_ns, u64 value)
{
	struct str *b = &w->body;

	begin_event(w, s->event, time_ns);
	if (s->event == JFR_CPU_TIME) {
		jfr_add_number(b, s->stack);
		jfr_add_number(b, s->thread);
		jfr_add_number(b, 0);
		jfr_add_number(b, w->p->rate_hz >= 1 ? (u64)(1e9 / w->p->rate_hz) : 0);
		jfr_add_number(b, 0);
		end_sample(w, s->weight);
		return;
	}
	if (s->event == JFR_MONITOR || s->event == JFR_PARK || s->event == JFR_NATIVE_LOCK)
		jfr_add_number(b, value);
	jfr_add_number(b, s->thread);
	jfr_add_number(b, s->stack);
	if (s->event == JFR_EXECUTION || s->event == JFR_NATIVE)
		jfr_add_number(b, s->event == JFR_NATIVE ? JFR_STATE_RUNNABLE : JFR_STATE_DEFAULT);
	add_weight(w, s, value);
	end_sample(w, s->weight);
}

/* Samples by the clock of one stack are one event. `wall_ns` 0: the profile counts samples only. */
static void write_wall(struct writing *w, const struct sample *s, u64 nr, u64 wall_ns)
{
	for (u64 left = nr; left;) {
		u64 some = left < INT32_MAX ? left : INT32_MAX;
		begin_event(w, JFR_WALL, time_of(w, s, 0, 1));
		jfr_add_number(&w->body, s->thread);
		jfr_add_number(&w->body, s->stack);
		jfr_add_number(&w->body, state_of(&w->p->labels.at[s->weight->labels]));
		jfr_add_number(&w->body, some);
		jfr_add_number(&w->body, wall_ns);
		end_sample(w, s->weight);
		left -= some;
		wall_ns = 0;
	}
}

/* Divides a weight among its samples. */
static int write_samples(struct writing *w, const struct weight *v, u64 value, u64 nr)
{
	struct sample s = sample_of(w, v);

	w->phase = (w->phase + PHASE_STEP) & 0xffff;
	if (s.event == JFR_WALL) {
		bool is_time = strcmp(w->p->types.at[v->type].unit, "samples") != 0;
		write_wall(w, &s, nr, is_time ? value : 0);
		return 0;
	}
	if (s.event == JFR_SAMPLE)
		nr = 1;
	if (nr > EVENTS_MAX - w->nr_events)
		return -E2BIG;
	for (u64 i = 0; i < nr; i++)
		write_event(w, &s, time_of(w, &s, i, nr), value / nr + (i < value % nr));
	return 0;
}

/*
 * Finds the weight of that type and label set among the items of a stack, which are sorted by both.
 * NULL if no item has them. A stack has a label set for every slot of time.
 */
static const struct weight *weight_of(const struct writing *w, const struct item *items, size_t nr,
				      u32 type, labels_id labels)
{
	size_t low = 0, high = nr;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct weight *v = &w->p->weights.at[items[middle].weight];
		if (v->type == type && v->labels == labels)
			return v;
		bool is_before = v->type < type || (v->type == type && v->labels < labels);
		low = is_before ? middle + 1 : low;
		high = is_before ? high : middle;
	}
	return NULL;
}

/* The number of items, from the first one on, that have the same type. */
static size_t nr_of_type(const struct writing *w, const struct item *items, size_t nr)
{
	size_t i = 1;

	while (i < nr &&
	       w->p->weights.at[items[i].weight].type == w->p->weights.at[items[0].weight].type)
		i++;
	return i;
}

/*
 * Writes the weights of one type of a stack. A weight without samples is a part of a wait that
 * lasted several slots of time: it joins another part.
 */
static int write_type(struct writing *w, const struct item *items, size_t nr,
		      const struct item *stack, size_t nr_stack)
{
	const struct weight *last = NULL;
	u64 value = 0, count = 0;
	int err = 0;

	for (size_t i = 0; i < nr && !err; i++) {
		const struct weight *v = &w->p->weights.at[items[i].weight];
		const struct column *c = &w->columns[v->type];
		const struct weight *samples =
			c->count == NO_TYPE ? NULL
					    : weight_of(w, stack, nr_stack, c->count, v->labels);
		bool is_sum = strcmp(w->p->types.at[v->type].unit, "samples") != 0;
		u64 own = c->count != NO_TYPE ? (samples ? samples->value : 0)
			  : is_sum            ? v->value > 0
					      : v->value;
		if (own && count) {
			err = write_samples(w, last, value, count);
			value = count = 0;
		}
		last = own || !last ? v : last;
		count += own;
		value += v->value;
	}
	return err ?: value || count ? write_samples(w, last, value, count ?: 1) : 0;
}

static int write_stack(struct writing *w, const struct item *items, size_t nr)
{
	int err = 0;

	for (size_t i = 0, n; i < nr && !err; i += n) {
		u32 type = w->p->weights.at[items[i].weight].type;
		n = nr_of_type(w, items + i, nr - i);
		if (!w->columns[type].is_count)
			err = write_type(w, items + i, n, items, nr);
	}
	return err;
}

static int write_weights(struct writing *w)
{
	const struct profile *p = w->p;
	struct item *items = xcalloc(p->weights.nr + 1, sizeof(items[0]));
	int err = 0;

	for (u32 i = 0; i < p->weights.nr; i++)
		items[i] = (struct item){ i, w->who[p->weights.at[i].labels] };
	qsort_r(items, p->weights.nr, sizeof(items[0]), by_stack, (void *)p);
	for (size_t i = 0, end; i < p->weights.nr && !err; i = end) {
		node_id node = p->weights.at[items[i].weight].node;
		for (end = i; end < p->weights.nr && items[end].who == items[i].who &&
			      p->weights.at[items[end].weight].node == node;)
			end++;
		err = write_stack(w, items + i, end - i);
	}
	free(items);
	return err;
}

static void write_facts(struct writing *w)
{
	const struct profile *p = w->p;
	auto_str struct str first = { 0 };
	u64 rate;

	str_add(&first, "");
	if (p->types.nr)
		str_addf(&first, "%s/%s", p->types.at[0].name, p->types.at[0].unit);
	memcpy(&rate, &p->rate_hz, sizeof(rate));
	begin_event(w, JFR_PROFILE, 0);
	jfr_add_text(&w->body, p->title);
	jfr_add_text(&w->body, p->host);
	jfr_add_text(&w->body, p->target);
	jfr_add_text(&w->body, first.at);
	jfr_add_bytes(&w->body, rate, sizeof(rate));
	end_event(w);
	vec_each(note, &p->notes) {
		begin_event(w, JFR_NOTE, 0);
		jfr_add_text(&w->body, note->key);
		jfr_add_text(&w->body, note->text);
		jfr_add_number(&w->body, note->value);
		end_event(w);
	}
}

int jfr_write_events(const struct profile *p, struct jfr_pools *pools, FILE *out, u64 *bytes)
{
	struct writing w = { .p = p, .pools = pools, .out = out };

	w.columns = xcalloc(p->types.nr + 1, sizeof(w.columns[0]));
	w.who = xcalloc(p->labels.nr + 1, sizeof(w.who[0]));
	choose_columns(&w);
	find_who(&w);
	write_facts(&w);
	int err = write_weights(&w);
	flush(&w, 0);
	*bytes = w.bytes;
	free(w.columns);
	free(w.who);
	str_fini(&w.body);
	str_fini(&w.event);
	return err;
}
