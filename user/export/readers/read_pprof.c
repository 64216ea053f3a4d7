/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads pprof's format. Fields may be in any order, so the file is read three times: for texts,
 * types, functions and mappings; for locations; for samples. A file of pprof's -diff_base is read
 * as a comparison.
 * Part of export/readers/reader.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/str.h"
#include "export/interchange/external.h"
#include "export/interchange/pb.h"
#include "export/interchange/tags.h"
#include "export/readers/reader.h"
#include "pprof.pb-c.h"
#include "profile/count.h"
#include "profile/diff.h"
#include "profile/profile.h"

/* The comments of a file, in which sysflame keeps what the format has no field for. */

/*
 * Reads a note such as "lost: 5 samples lost". The key may contain colons that no number follows.
 */
static void take_note(struct profile *p, const char *comment)
{
	char *end;

	for (const char *colon = comment; (colon = strstr(colon, ": ")); colon++) {
		u64 value = strtoull(colon + 2, &end, 10);
		if (end == colon + 2 || *end != ' ' || value > INT64_MAX)
			continue;
		auto_free char *key = xstrndup(comment, (size_t)(colon - comment));
		auto_str struct str clean = { 0 }, clean_key = { 0 };
		utf8_clean(&clean, end + 1, 4096);
		utf8_clean(&clean_key, key, 256);
		profile_note(p, clean_key.at, clean.at, value);
		return;
	}
}

/*
 * Takes over a comment: "title: x", "host: x", "target: x", "slot_ns: n", or a note as in "lost: 5
 * samples lost". Ignores others.
 */
static void pprof_comment_take(struct profile *p, const char *comment)
{
	const char *colon = strstr(comment, ": ");

	if (!colon)
		return;
	auto_free char *key = xstrndup(comment, (size_t)(colon - comment));
	const char *text = colon + 2;
	char **field = !strcmp(key, "title")    ? &p->title
		       : !strcmp(key, "host")   ? &p->host
		       : !strcmp(key, "target") ? &p->target
						: NULL;
	if (field) {
		auto_str struct str clean = { 0 };
		utf8_clean(&clean, text, 4096);
		free(*field);
		*field = str_take(&clean);
		return;
	}
	u64 value = strtoull(text, NULL, 10);
	if (strcmp(key, "slot_ns") != 0)
		take_note(p, comment);
	else if (value <= INT64_MAX)
		p->slot_ns = value;
}

enum profile_field {
	PROFILE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_TEXT = 6,
	PROFILE_TIME = 9,
	PROFILE_DURATION = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14,
};

#define TYPE_NONE UINT32_MAX /* for skipped values */

struct text {
	const u8 *at;
	size_t len;
};

struct function {
	s64 name, filename, system_name;
};

struct type {
	s64 name, unit;
};

/* The frames of a location: a range of `frames`, the innermost first. */
struct location {
	u32 first, nr;
};

struct reading {
	struct profile *p;
	struct str *why;
	struct pb_reader file;
	u64 nr_field; /* number of the field in this pass, for messages */
	VEC(struct text) texts;
	VEC(struct type) foreign_types;
	bool is_diff;
	u64 nr_negative, nr_labels_out; /* skipped types and labels */
	struct str remark;              /* text about skipped types */
	VEC(struct diff_types)
	types;                  /* our types, by their type; `before` is used in comparisons */
	VEC(u64) scales;        /* by their type: ours in one of theirs */
	VEC(bool) has_negative; /* by their type */
	VEC(struct function) functions;
	VEC(struct location) locations;
	VEC(frame_id) frames;
	u64 name_bytes; /* bytes in the names of all frames */
	VEC(s64) comments;
	struct dict function_of, mapping_of, location_of; /* by id: index + 1 */
	VEC(struct external_mapping) mappings;
	struct type period_type;
	s64 period, default_type;
	struct stack_adder stacks;
};

static int refuse(struct reading *r, const char *what)
{
	str_addf(r->why, "field %llu of the pprof data: %s", (unsigned long long)r->nr_field, what);
	return -EINVAL;
}

/* A text of the file, which the caller frees; "" for an index out of range. */
static char *text_of(const struct reading *r, s64 number)
{
	if (number < 0 || (u64)number >= r->texts.nr)
		return xstrdup("");
	return text_from_external(r->texts.at[number].at, r->texts.at[number].len);
}

typedef int (*take_field)(struct reading *r, const struct pb_field *f);

static int walk(struct reading *r, take_field on_field)
{
	struct pb_reader file = r->file;
	struct pb_field f;
	int err;

	for (r->nr_field = 1; (err = pb_next(&file, &f)) > 0; r->nr_field++)
		if ((err = on_field(r, &f)) < 0)
			return err;
	return err ? refuse(r, "damaged or cut off") : 0;
}

static int take_type(struct reading *r, const struct pb_field *f)
{
	auto_pb Pprof__Type *t = pb_message(&pprof__type__descriptor, f);
	if (!t)
		return refuse(r, "a damaged value type");

	struct type type = { t->name, t->unit };
	if (f->number == PROFILE_TYPE)
		vec_push(&r->foreign_types, type);
	else
		r->period_type = type;
	return 0;
}

static int take_mapping(struct reading *r, const struct pb_field *f)
{
	auto_pb Pprof__Mapping *m = pb_message(&pprof__mapping__descriptor, f);
	if (!m)
		return refuse(r, "a damaged mapping");
	struct external_mapping own = { m->filename, m->start, m->end, m->file_off };
	vec_push(&r->mappings, own);
	*dict_add(&r->mapping_of, m->id) = r->mappings.nr;
	return 0;
}

static int take_function(struct reading *r, const struct pb_field *f)
{
	auto_pb Pprof__Function *function = pb_message(&pprof__function__descriptor, f);
	if (!function)
		return refuse(r, "a damaged function");
	vec_push(&r->functions, (struct function){ function->name ?: function->system_name,
						   function->filename, function->system_name });
	*dict_add(&r->function_of, function->id) = r->functions.nr;
	return 0;
}

/* Comments may be packed or not. */
static int take_comment(struct reading *r, const struct pb_field *f)
{
	if (!f->is_bytes) {
		vec_push(&r->comments, (s64)f->value);
		return 0;
	}
	auto_str struct str field = { 0 };
	pb_add_bytes(&field, PROFILE_COMMENT, f->at, f->len);
	auto_pb Pprof__Profile *list = pprof__profile__unpack(NULL, field.len, (u8 *)field.at);
	if (!list)
		return refuse(r, "damaged comments");
	for (size_t i = 0; i < list->n_comments; i++)
		vec_push(&r->comments, list->comments[i]);
	return 0;
}

static int take_table(struct reading *r, const struct pb_field *f)
{
	switch (f->number) {
	case PROFILE_TYPE:
	case PROFILE_PERIOD_TYPE:
		return take_type(r, f);
	case PROFILE_MAPPING:
		return take_mapping(r, f);
	case PROFILE_FUNCTION:
		return take_function(r, f);
	case PROFILE_COMMENT:
		return take_comment(r, f);
	case PROFILE_TEXT:
		vec_push(&r->texts, (struct text){ f->at, f->len });
		return 0;
	case PROFILE_TIME:
		if (!r->p->start_wall_ns)
			r->p->start_wall_ns = (s64)f->value > 0 ? f->value : 0;
		return 0;
	case PROFILE_DURATION:
		r->p->duration_ns = (s64)f->value > 0 ? f->value : 0;
		return 0;
	case PROFILE_DEFAULT_TYPE:
		r->default_type = (s64)f->value;
		return 0;
	case PROFILE_PERIOD:
		r->period = (s64)f->value;
		return 0;
	}
	return 0;
}

/*
 * Sysflame writes the kind in place of the source file; if the file is known, in place of the
 * system's name.
 */
static int add_line(struct reading *r, const char *module, const Pprof__Line *line, bool is_inlined)
{
	const u64 *index = dict_find(&r->function_of, line->function);
	const struct function *f = index ? &r->functions.at[*index - 1] : NULL;
	auto_free char *name = text_of(r, f ? f->name : -1);
	auto_free char *file = text_of(r, f ? f->filename : -1);
	auto_free char *system_name = text_of(r, f ? f->system_name : -1);
	struct source_line source = { file, (u64)line->line <= INT32_MAX ? (u32)line->line : 0 };
	const char *kind = source.line && *system_name == '[' ? system_name : file;

	r->name_bytes += strlen(name) + strlen(module) + strlen(file);
	if (r->name_bytes > EXTERNAL_NAMES_MAX)
		return refuse(r, "the frames have names of more than 256 MB");
	vec_push(&r->frames, frame_from_external(r->p, name, module, kind, is_inlined, source));
	return 0;
}

static int take_location(struct reading *r, const struct pb_field *f)
{
	if (f->number != PROFILE_LOCATION)
		return 0;

	auto_pb Pprof__Location *l = pb_message(&pprof__location__descriptor, f);
	if (!l)
		return refuse(r, "a damaged location");
	const u64 *index = dict_find(&r->mapping_of, l->mapping);
	const struct external_mapping *m = index ? &r->mappings.at[*index - 1] : NULL;
	auto_free char *module = text_of(r, m ? m->filename : -1);
	u32 first = (u32)r->frames.nr;
	int err = 0;

	for (size_t i = 0; i < l->n_lines && !err; i++)
		err = add_line(r, module, l->lines[i], i + 1 < l->n_lines);
	if (err)
		return err;
	if (!l->n_lines) {
		auto_free char *name = name_from_address(module, m, l->address);
		vec_push(&r->frames, frame_from_external(r->p, name, module, "", false,
							 (struct source_line){ "", 0 }));
	}
	vec_push(&r->locations, (struct location){ first, (u32)r->frames.nr - first });
	*dict_add(&r->location_of, l->id) = r->locations.nr;
	return 0;
}

/* The label for a key, including other tools' keys; -1 if there is none. */
static int label_find(const char *key)
{
	for (int i = 0; i < NR_LABELS; i++)
		if (i != LABEL_TAGS && !strcmp(key, label_names[i].key))
			return i;
	return !strcmp(key, "process_name")  ? LABEL_COMM
	       : !strcmp(key, "thread_name") ? LABEL_THREAD
					     : -1;
}

static void take_tag(struct reading *r, const Pprof__Label *label, const char *key,
		     struct tags *tags)
{
	if (tags->all.nr == TAGS_MAX) {
		profile_note(r->p, "labels_left_out",
			     "labels left out, of samples with more than 32", ++r->nr_labels_out);
		return;
	}
	auto_free char *text = text_of(r, label->text), *unit = text_of(r, label->unit);
	if (label->text)
		tags_add_text(tags, key, text);
	else
		tags_add_number(tags, key, label->number, unit);
}

/* A label without a field of its own becomes a tag. */
static void take_label(struct reading *r, const Pprof__Label *label, struct labels *l,
		       struct tags *tags)
{
	auto_free char *key = text_of(r, label->key);
	bool is_pid = !strcmp(key, "pid") || !strcmp(key, "process_id");
	bool is_tid = !strcmp(key, "tid") || !strcmp(key, "thread_id");
	int text = label->text ? label_find(key) : -1;

	if ((is_pid || is_tid) && !label->text) {
		bool is_sane = label->number > 0 && label->number <= INT32_MAX;
		*(is_pid ? &l->pid : &l->tid) = is_sane ? (u32)label->number : 0;
	} else if (text >= 0) {
		auto_free char *raw = text_of(r, label->text);
		auto_str struct str clean = { 0 };
		utf8_clean(&clean, raw, 256);
		free((char *)l->text[text]);
		l->text[text] = str_take(&clean);
	} else if (!r->is_diff) {
		take_tag(r, label, key, tags);
	}
}

/* Whether the sample is from before in a comparison. */
static bool is_before(const struct reading *r, const Pprof__Sample *sample)
{
	for (size_t i = 0; i < sample->n_labels; i++) {
		auto_free char *key = text_of(r, sample->labels[i]->key);
		auto_free char *text = text_of(r, sample->labels[i]->text);
		if (!strcmp(key, PPROF_BEFORE_KEY) && !strcmp(text, PPROF_BEFORE))
			return true;
	}
	return false;
}

static int look_for_before(struct reading *r, const struct pb_field *f)
{
	if (r->is_diff || f->number != PROFILE_SAMPLE)
		return 0;
	auto_pb Pprof__Sample *s = pb_message(&pprof__sample__descriptor, f);
	r->is_diff = s && is_before(r, s);
	return 0;
}

/*
 * Sets is_diff if the profile is a comparison. Samples are examined only if the label that marks
 * those from before is among the texts.
 */
static int find_out_if_diff(struct reading *r)
{
	const size_t len = strlen(PPROF_BEFORE_KEY);

	vec_each(comment, &r->comments) {
		auto_free char *text = text_of(r, *comment);
		r->is_diff |= !strcmp(text, PPROF_COMPARISON);
	}
	vec_each(t, &r->texts)
		if (t->len == len && !memcmp(t->at, PPROF_BEFORE_KEY, len))
			return walk(r, look_for_before);
	return 0;
}

static int look_for_negative(struct reading *r, const struct pb_field *f)
{
	if (f->number != PROFILE_SAMPLE)
		return 0;
	auto_pb Pprof__Sample *s = pb_message(&pprof__sample__descriptor, f);
	for (size_t i = 0; s && i < s->n_values && i < r->has_negative.nr; i++)
		r->has_negative.at[i] |= s->values[i] < 0;
	return 0;
}

static bool has_negative(const struct reading *r, size_t type)
{
	return type < r->has_negative.nr && r->has_negative.at[type];
}

/*
 * Skips types with negative values, as in a difference without its base, if there are other types.
 */
static int find_negative(struct reading *r)
{
	size_t nr = 0;

	if (r->is_diff)
		return 0;
	vec_each(t, &r->foreign_types)
		vec_push(&r->has_negative, false);
	int err = walk(r, look_for_negative);
	vec_each(is, &r->has_negative)
		nr += *is;
	if (nr == r->has_negative.nr)
		r->has_negative.nr = 0;
	return err;
}

static int find_labels(struct reading *r, const Pprof__Sample *sample, labels_id *id)
{
	struct labels l = { 0 };
	struct tags tags = { 0 };
	size_t nr_known = r->p->labels.nr;

	for (size_t i = 0; i < sample->n_labels; i++)
		take_label(r, sample->labels[i], &l, &tags);
	l.tags = tags_take(&tags);
	*id = profile_intern_labels(r->p, &l);
	if (r->p->labels.nr > nr_known)
		r->name_bytes += strlen(l.tags);
	for (int i = 0; i < NR_LABELS; i++)
		free((char *)l.text[i]);
	return r->name_bytes > EXTERNAL_NAMES_MAX ? refuse(r, "the labels are more than 256 MB")
						  : 0;
}

static int take_sample(struct reading *r, const struct pb_field *f)
{
	if (f->number != PROFILE_SAMPLE)
		return 0;

	auto_pb Pprof__Sample *s = pb_message(&pprof__sample__descriptor, f);
	if (!s || s->n_values != r->types.nr)
		return refuse(r, s ? "a sample without exactly one value of each type"
				   : "a damaged sample");
	for (size_t i = s->n_locations; i-- > 0;) {
		const u64 *index = dict_find(&r->location_of, s->locations[i]);
		const struct location *l = index ? &r->locations.at[*index - 1] : NULL;
		if (!l)
			return refuse(r, "a sample at a location that does not exist");
		for (u32 line = l->nr; line-- > 0;)
			vec_push(&r->stacks.frames, r->frames.at[l->first + line]);
		if (r->stacks.frames.nr > UINT16_MAX)
			break;
	}

	auto_str struct str why = { 0 };
	node_id node;
	labels_id labels;
	if (find_labels(r, s, &labels))
		return -EINVAL;
	int err = stack_find(&r->stacks, &node, &why);
	bool was_before = r->is_diff && is_before(r, s);
	for (size_t i = 0; !err && i < s->n_values; i++) {
		s64 value = s->values[i];
		u32 type = was_before ? r->types.at[i].before : r->types.at[i].after;
		if (was_before && value < 0 && value > INT64_MIN)
			value = -value;
		value = value_from_external(value, r->scales.at[i]);
		if (type != TYPE_NONE)
			err = stack_add(&r->stacks, node, labels, type, value, &why);
	}
	return err ? refuse(r, why.at) : 0;
}

/* The type that the file wants to show first: the named one, otherwise the last one. */
static size_t find_default_type(const struct reading *r)
{
	auto_free char *wanted = text_of(r, r->default_type);

	for (size_t i = 0; *wanted && i < r->foreign_types.nr; i++) {
		auto_free char *name = text_of(r, r->foreign_types.at[i].name);
		if (!strcmp(name, wanted) && !has_negative(r, i))
			return i;
	}
	size_t last = r->foreign_types.nr - 1;
	while (last && has_negative(r, last))
		last--;
	return last;
}

static u32 make_type(const struct reading *r, const struct type *t, const char *period_type,
		     struct profile *p)
{
	auto_free char *name = text_of(r, t->name), *unit = text_of(r, t->unit);

	return type_from_external(p, name, unit, period_type);
}

/* Compares the type that is shown first, and its number of samples. */
static void make_types_of_diff(struct reading *r, const char *period_type)
{
	struct profile *own = profile_new(); /* their types in our terms */
	VEC(u32) own_types = { 0 };
	u32 nr_left_out = 0, nr_type;

	vec_each(t, &r->foreign_types) {
		u32 type = make_type(r, t, period_type, own);
		vec_push(&own_types, type);
	}
	size_t shown = find_default_type(r);
	u32 compared = own_types.at[shown];
	bool has_counts = count_find(own, compared, &nr_type) && nr_type != compared;
	struct diff_types weights = diff_find_types(r->p, &own->types.at[compared], false), counts;
	if (has_counts)
		counts = diff_find_types(r->p, &own->types.at[nr_type], true);
	for (size_t i = 0; i < own_types.nr; i++) {
		struct diff_types types = { TYPE_NONE, TYPE_NONE };
		if (i == shown)
			types = weights;
		else if (has_counts && own_types.at[i] == nr_type)
			/* a second type would count the samples twice */
			types = counts, has_counts = false;
		else
			nr_left_out++;
		vec_push(&r->types, types);
	}
	if (nr_left_out)
		profile_note(r->p, "types_left_out", "value types of the comparison left out",
			     nr_left_out);
	vec_fini(&own_types);
	profile_free(own);
}

static void leave_out_negative(struct reading *r, const struct type *t)
{
	auto_free char *name = text_of(r, t->name);
	auto_str struct str clean = { 0 };

	utf8_clean(&clean, name, 256);
	str_addf(&r->remark, "%s%s has negative values and is left out", r->remark.len ? "; " : "",
		 clean.at);
	profile_note(r->p, "negative_types", "value types with negative values left out",
		     ++r->nr_negative);
}

static void make_types_of_one(struct reading *r, const char *period_type)
{
	if (!r->p->types.nr)
		make_type(r, &r->foreign_types.at[find_default_type(r)], period_type, r->p);
	for (size_t i = 0; i < r->foreign_types.nr; i++) {
		u32 type = TYPE_NONE;
		if (has_negative(r, i))
			leave_out_negative(r, &r->foreign_types.at[i]);
		else
			type = make_type(r, &r->foreign_types.at[i], period_type, r->p);
		vec_push(&r->types, (struct diff_types){ .after = type });
	}
}

static int make_types(struct reading *r)
{
	auto_free char *period_type = text_of(r, r->period_type.name);

	if (!r->foreign_types.nr || r->foreign_types.nr > 64) {
		str_addf(r->why, "the pprof data have %zu value types", r->foreign_types.nr);
		return -EINVAL;
	}
	vec_each(t, &r->foreign_types) {
		auto_free char *unit = text_of(r, t->unit);
		vec_push(&r->scales, unit_scale(unit));
	}
	if (r->is_diff)
		make_types_of_diff(r, period_type);
	else
		make_types_of_one(r, period_type);
	if (!r->is_diff && !strcmp(period_type, "cpu") && r->period > 0)
		r->p->rate_hz = 1e9 / (double)r->period;
	vec_each(comment, &r->comments) {
		auto_free char *text = text_of(r, *comment);
		pprof_comment_take(r->p, text);
	}
	return 0;
}

int pprof_read(const struct str *bytes, struct profile *p, struct str *why)
{
	struct reading r = { .p = p, .why = why, .file = pb_read(bytes->at, bytes->len) };

	stack_adder_init(&r.stacks, p);
	int err = walk(&r, take_table)          ?:
			  find_out_if_diff(&r)  ?:
			  find_negative(&r)     ?:
			  make_types(&r)        ?:
			  walk(&r, take_location) ?:
			  walk(&r, take_sample);

	if (!err && r.remark.len)
		str_add(why, r.remark.at);
	str_fini(&r.remark);
	vec_fini(&r.texts);
	vec_fini(&r.foreign_types);
	vec_fini(&r.types);
	vec_fini(&r.scales);
	vec_fini(&r.has_negative);
	vec_fini(&r.functions);
	vec_fini(&r.locations);
	vec_fini(&r.frames);
	vec_fini(&r.comments);
	dict_fini(&r.function_of);
	dict_fini(&r.mapping_of);
	vec_fini(&r.mappings);
	dict_fini(&r.location_of);
	stack_adder_fini(&r.stacks);
	return err;
}
