/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes pprof's format, gzipped. A frame is a function. A location is a frame and the frames
 * inlined into it. The kind is in brackets in the field of the source file; the module is the
 * mapping. A comparison has the form of pprof's own -diff_base: samples from before have negative
 * values and a label.
 * Part of export/writers/writer.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "export/format/gzip.h"
#include "export/format/varint.h"
#include "export/interchange/external.h"
#include "export/interchange/pb.h"
#include "export/interchange/tags.h"
#include "export/writers/writer.h"
#include "profile/diff.h"
#include "profile/frames/method.h"

#include "pprof.pb-c.h"

struct location {
	u32 outer; /* id, 0 if there is none */
	frame_id frame;
	bool is_used;
};

struct pprof {
	const struct profile *p;
	struct texts texts;
	struct dict mappings; /* index of the module's text -> id */
	/*
	 * A location is the frame of a function and the frames inlined into it. It is stored as the
	 * location without the innermost frame, and that frame. Its id is its index plus one.
	 */
	VEC(struct location) locations;
	struct dict location_of; /* (outer id << 32 | frame) -> id */
	struct gzip gzip;
	struct str part; /* packed fields that are not yet written */
	u64 period_ns;   /* 0 if CPU time is not derived from samples */
	bool is_diff;
	VEC(struct value_type) columns; /* the types of the file; the names are owned */
	VEC(u32) column_of;             /* by type of the profile */
	VEC(u64) path;                  /* ids of the locations of the current stack */
	VEC(frame_id) frames;           /* frames of the current stack */
	VEC(s64) values;
	VEC(int64_t) comments;
};

static void flush(struct pprof *x)
{
	if (x->part.len)
		gzip_write(&x->gzip, x->part.at, x->part.len);
	str_clear(&x->part);
}

static void add(struct pprof *x, const Pprof__Profile *fields)
{
	pb_add(&x->part, fields);
	if (x->part.len > 1 << 16)
		flush(x);
}

static void add_type(struct pprof *x, const char *name, const char *unit)
{
	Pprof__Type type = PPROF__TYPE__INIT, *types = &type;
	Pprof__Profile fields = PPROF__PROFILE__INIT;

	type.name = texts_add(&x->texts, name);
	type.unit = texts_add(&x->texts, unit);
	fields.n_types = 1;
	fields.types = &types;
	add(x, &fields);
}

/*
 * The period for deriving CPU time from samples. 0 if there are no samples of CPU, if the profile
 * already counts CPU time, or if the time exceeds the limit of our readers, 104 days.
 */
static u64 period_to_derive(const struct profile *p)
{
	u64 period_ns = profile_is_diff(p) ? 0 : profile_period_ns(p), nr_samples = 0;
	bool has_cpu = false;

	for (u32 type = 0; type < p->types.nr; type++) {
		const struct value_type *t = &p->types.at[type];
		if (!strcmp(t->name, "cpu") && !strcmp(t->unit, "ns"))
			return 0;
		if (!type_is_cpu(t))
			continue;
		has_cpu = true;
		nr_samples += profile_total(p, type);
	}
	return has_cpu && period_ns && nr_samples <= VARINT_MAX / period_ns ? period_ns : 0;
}

static const char *name_of(const struct value_type *t)
{
	return type_is_cpu(t) ? "samples" : t->name;
}

/* The types before and after share a column. */
static void make_columns(struct pprof *x)
{
	const struct profile *p = x->p;

	x->is_diff = profile_is_diff(p);
	for (u32 type = 0; type < p->types.nr; type++) {
		if (!diff_is_before(p, type))
			vec_push(&x->columns,
				 (struct value_type){ diff_type_name(p, type),
						      p->types.at[type].unit, VALUE_NONE });
		vec_push(&x->column_of, (u32)x->columns.nr - 1);
	}
}

static void add_types(struct pprof *x)
{
	make_columns(x);
	vec_each(t, &x->columns)
		add_type(x, name_of(t), unit_to_external(t->name, t->unit));
	x->period_ns = period_to_derive(x->p);
	if (x->period_ns)
		add_type(x, "cpu", "nanoseconds");
}

static u64 mapping_of(struct pprof *x, const char *module)
{
	Pprof__Mapping mapping = PPROF__MAPPING__INIT, *mappings = &mapping;
	Pprof__Profile fields = PPROF__PROFILE__INIT;
	u64 *id;

	if (!*module)
		return 0;
	mapping.filename = texts_add(&x->texts, module);
	id = dict_add(&x->mappings, (u64)mapping.filename);
	if (*id)
		return *id;
	mapping.id = *id = x->mappings.nr;
	mapping.has_functions = true;
	fields.n_mappings = 1;
	fields.mappings = &mappings;
	add(x, &fields);
	return mapping.id;
}

static void add_function(struct pprof *x, frame_id id)
{
	const struct frame *f = frames_get(x->p->frames, id);
	auto_free char *kind = xasprintf("[%s]", frame_kind_name(f->kind)),
		       *name = frame_function(f);
	Pprof__Function function = PPROF__FUNCTION__INIT, *functions = &function;
	Pprof__Profile fields = PPROF__PROFILE__INIT;

	function.id = (u64)id + 1;
	function.name = function.system_name = texts_add(&x->texts, name);
	function.filename = texts_add(&x->texts, kind);
	if (f->line) {
		function.system_name = function.filename;
		function.filename = texts_add(&x->texts, f->file);
	}
	fields.n_functions = 1;
	fields.functions = &functions;
	add(x, &fields);
}

static void add_location(struct pprof *x, u32 id)
{
	Pprof__Location location = PPROF__LOCATION__INIT, *locations = &location;
	Pprof__Profile fields = PPROF__PROFILE__INIT;
	VEC(Pprof__Line) lines = { 0 };
	VEC(Pprof__Line *) list = { 0 };

	for (u32 of = id; of; of = x->locations.at[of - 1].outer) {
		frame_id frame = x->locations.at[of - 1].frame;
		const struct frame *f = frames_get(x->p->frames, frame);
		Pprof__Line line = PPROF__LINE__INIT;
		line.function = (u64)frame + 1;
		line.line = f->line;
		vec_push(&lines, line);
		location.mapping = mapping_of(x, f->module);
	}
	vec_each(line, &lines)
		vec_push(&list, line);
	location.id = id;
	location.n_lines = list.nr;
	location.lines = list.at;
	fields.n_locations = 1;
	fields.locations = &locations;
	add(x, &fields);
	vec_fini(&lines);
	vec_fini(&list);
}

static u32 location_of(struct pprof *x, u32 outer, frame_id frame)
{
	u64 *id = dict_add(&x->location_of, (u64)outer << 32 | frame);

	if (!*id) {
		vec_push(&x->locations, (struct location){ outer, frame, false });
		*id = x->locations.nr;
	}
	return (u32)*id;
}

/* Whether the frame belongs to the same location as the frame below it. */
static bool is_inlined(const struct pprof *x, frame_id frame, frame_id below)
{
	const struct frame *f = frames_get(x->p->frames, frame);
	const struct frame *g = frames_get(x->p->frames, below);

	if (strcmp(f->module, g->module) != 0)
		return false;
	if (f->kind == FRAME_INLINED)
		return frame_kind_is_java(g->kind) && g->kind != FRAME_INTERPRETED;
	return f->is_inlined && f->kind == g->kind;
}

/* Makes the locations of a stack, leaf first. */
static void make_path(struct pprof *x, node_id leaf)
{
	x->frames.nr = x->path.nr = 0;
	for (node_id n = leaf; n; n = x->p->nodes.at[n].parent)
		vec_push(&x->frames, x->p->nodes.at[n].frame);
	for (size_t i = x->frames.nr; i-- > 0;) {
		frame_id frame = x->frames.at[i];
		bool joins = x->path.nr && is_inlined(x, frame, x->frames.at[i + 1]);
		u64 *last = joins ? &x->path.at[x->path.nr - 1] : NULL;
		if (joins)
			*last = location_of(x, (u32)*last, frame);
		else
			vec_push(&x->path, location_of(x, 0, frame));
	}
	for (size_t i = 0, k = x->path.nr; i + 1 < k; i++) {
		u64 swap = x->path.at[i];
		x->path.at[i] = x->path.at[--k];
		x->path.at[k] = swap;
	}
	vec_each(id, &x->path)
		x->locations.at[*id - 1].is_used = true;
}

struct label_list {
	Pprof__Label all[NR_LABELS + TAGS_MAX + 3], *list[NR_LABELS + TAGS_MAX + 3];
	size_t nr;
};

static void add_label(struct pprof *x, struct label_list *l, const char *key, u32 number,
		      const char *text)
{
	Pprof__Label *label = &l->all[l->nr];

	if (!number && !*text)
		return;
	pprof__label__init(label);
	label->key = texts_add(&x->texts, key);
	label->number = number;
	label->text = *text ? texts_add(&x->texts, text) : 0;
	l->list[l->nr++] = label;
}

static void add_tags(struct pprof *x, struct label_list *l, const char *tags)
{
	struct tag tag;

	for (int nr = 0; nr < TAGS_MAX && tag_next(&tags, &tag); nr++) {
		Pprof__Label *label = &l->all[l->nr];
		pprof__label__init(label);
		label->key = texts_add(&x->texts, tag.key);
		label->text = tag.is_number ? 0 : texts_add(&x->texts, tag.text);
		label->number = tag.number;
		label->unit = *tag.unit ? texts_add(&x->texts, tag.unit) : 0;
		l->list[l->nr++] = label;
		tag_fini(&tag);
	}
}

static void make_labels(struct pprof *x, labels_id id, struct label_list *l)
{
	const struct labels *labels = &x->p->labels.at[id];

	l->nr = 0;
	add_label(x, l, "pid", labels->pid, "");
	add_label(x, l, "tid", labels->tid, "");
	for (int i = 0; i < NR_LABELS; i++)
		if (i != LABEL_TAGS)
			add_label(x, l, label_names[i].key, 0, labels->text[i]);
	add_tags(x, l, labels->tags);
}

static void add_sample(struct pprof *x, node_id leaf, struct label_list *labels)
{
	Pprof__Sample sample = PPROF__SAMPLE__INIT, *samples = &sample;
	Pprof__Profile fields = PPROF__PROFILE__INIT;

	make_path(x, leaf);
	sample.n_locations = x->path.nr;
	sample.locations = x->path.at;
	sample.n_values = x->values.nr;
	sample.values = x->values.at;
	sample.n_labels = labels->nr;
	sample.labels = labels->list;
	fields.n_samples = 1;
	fields.samples = &samples;
	add(x, &fields);
}

/* Adds the values of weights of one stack; in a comparison, those before or after. */
static void add_values(struct pprof *x, const u32 *order, size_t nr, bool is_before,
		       struct label_list *labels)
{
	const struct profile *p = x->p;
	size_t nr_taken = 0, nr_labels = labels->nr;

	for (size_t t = 0; t < x->values.nr; t++)
		x->values.at[t] = 0;
	for (size_t i = 0; i < nr; i++) {
		const struct weight *w = &p->weights.at[order[i]];
		u32 column = x->column_of.at[w->type];
		if (x->is_diff && diff_is_before(p, w->type) != is_before)
			continue;
		x->values.at[column] = is_before ? -(s64)w->value : (s64)w->value;
		if (x->period_ns && type_is_cpu(&x->columns.at[column]))
			x->values.at[x->columns.nr] = (s64)(w->value * x->period_ns);
		nr_taken++;
	}
	if (!nr_taken)
		return;
	if (is_before)
		add_label(x, labels, PPROF_BEFORE_KEY, 0, PPROF_BEFORE);
	add_sample(x, p->weights.at[order[0]].node, labels);
	labels->nr = nr_labels;
}

static void add_samples(struct pprof *x)
{
	const struct profile *p = x->p;
	struct label_list labels = { .nr = 0 };
	size_t nr;
	auto_free u32 *order = weights_in_order(p, &nr);

	vec_reserve(&x->values, x->columns.nr + 1);
	x->values.nr = x->columns.nr + (x->period_ns ? 1 : 0);
	for (size_t i = 0, end; i < nr; i = end) {
		const struct weight *first = &p->weights.at[order[i]];
		if (!i || first->labels != p->weights.at[order[i - 1]].labels)
			make_labels(x, first->labels, &labels);
		for (end = i; end < nr; end++) {
			const struct weight *w = &p->weights.at[order[end]];
			if (w->node != first->node || w->labels != first->labels)
				break;
		}
		add_values(x, order + i, end - i, false, &labels);
		if (x->is_diff)
			add_values(x, order + i, end - i, true, &labels);
	}
}

static void add_comment(struct pprof *x, const char *key, const char *text)
{
	auto_free char *comment = xasprintf("%s: %s", key, text);

	if (*text)
		vec_push(&x->comments, texts_add(&x->texts, comment));
}

/*
 * The type of the period names the profile in Pyroscope and Parca; other events count by 1. It also
 * says what a type "samples" counts, which must not become samples of another event.
 */
static bool find_period(struct pprof *x, Pprof__Type *type, int64_t *period)
{
	bool has_cpu = false, has_samples = false;

	vec_each(t, &x->columns) {
		has_cpu |= type_is_cpu(t);
		has_samples |= !strcmp(t->name, "samples");
	}
	if (!x->columns.nr || (has_samples && !has_cpu))
		return false;
	const struct value_type *first = &x->columns.at[0];
	type->name = texts_add(&x->texts, has_cpu ? "cpu" : first->name);
	type->unit = texts_add(&x->texts, has_cpu ? "nanoseconds"
						  : unit_to_external(first->name, first->unit));
	*period = has_cpu ? (int64_t)profile_period_ns(x->p) : 1;
	return true;
}

/* Writes everything except stacks. The texts come last, when all are known. */
static void add_rest(struct pprof *x)
{
	const struct profile *p = x->p;
	Pprof__Type type = PPROF__TYPE__INIT;
	Pprof__Profile fields = PPROF__PROFILE__INIT;

	vec_each(n, &p->notes) {
		auto_free char *note = xasprintf("%llu %s", (unsigned long long)n->value, n->text);
		add_comment(x, n->key, note);
	}
	if (x->is_diff)
		vec_push(&x->comments, texts_add(&x->texts, PPROF_COMPARISON));
	add_comment(x, "title", p->title);
	add_comment(x, "host", p->host);
	add_comment(x, "target", p->target);
	if (p->slot_ns) {
		auto_free char *slot = xasprintf("%llu", (unsigned long long)p->slot_ns);
		add_comment(x, "slot_ns", slot);
	}
	if (x->columns.nr)
		fields.default_type = texts_add(&x->texts, name_of(&x->columns.at[0]));
	if (find_period(x, &type, &fields.period))
		fields.period_type = &type;
	fields.time_ns = (s64)p->start_wall_ns;
	fields.duration_ns = (s64)p->duration_ns;
	fields.n_comments = x->comments.nr;
	fields.comments = x->comments.at;
	add(x, &fields);

	for (size_t i = 0; i < x->texts.all.nr; i++) {
		ProtobufCBinaryData text = { strlen(x->texts.all.at[i]), (u8 *)x->texts.all.at[i] };
		Pprof__Profile one = PPROF__PROFILE__INIT;
		one.n_texts = 1;
		one.texts = &text;
		add(x, &one);
	}
}

int pprof_write(const struct profile *p, FILE *out)
{
	struct pprof x = { .p = p };

	texts_init(&x.texts);
	gzip_init(&x.gzip, out);
	add_types(&x);
	add_samples(&x);
	for (u32 id = 1; id <= x.locations.nr; id++)
		if (x.locations.at[id - 1].is_used)
			add_location(&x, id);
	for (u32 id = 0; id < frames_nr(p->frames); id++)
		add_function(&x, id);
	add_rest(&x);
	flush(&x);
	gzip_finish(&x.gzip);

	texts_fini(&x.texts);
	dict_fini(&x.mappings);
	str_fini(&x.part);
	vec_each(column, &x.columns)
		free(column->name);
	vec_fini(&x.columns);
	vec_fini(&x.column_of);
	vec_fini(&x.path);
	vec_fini(&x.frames);
	vec_fini(&x.locations);
	dict_fini(&x.location_of);
	vec_fini(&x.values);
	vec_fini(&x.comments);
	return 0;
}
