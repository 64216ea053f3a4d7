/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads OTLP profiles: first the dictionary, then the profiles of every resource.
 * Part of export/readers/reader.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/str.h"
#include "base/time.h"
#include "export/interchange/external.h"
#include "export/interchange/pb.h"
#include "export/interchange/tags.h"
#include "export/readers/reader.h"
#include "profile/diff.h"
#include "profile/slots.h"

#include "otlp.pb-c.h"

enum request_field {
	REQUEST_RESOURCE = 1,
	REQUEST_DICTIONARY = 2
};
enum resource_field {
	RESOURCE_RESOURCE = 1,
	RESOURCE_SCOPES = 2
};
enum scope_field {
	SCOPE_PROFILES = 2
};
enum profile_field {
	PROFILE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_TIME = 3,
	PROFILE_DURATION = 4,
	PROFILE_PERIOD_TYPE = 5,
	PROFILE_PERIOD = 6,
	PROFILE_ATTRIBUTES = 11,
};
enum dictionary_field {
	TABLE_MAPPING = 1,
	TABLE_LOCATION = 2,
	TABLE_FUNCTION = 3,
	TABLE_LINK = 4,
	TABLE_TEXT = 5,
	TABLE_ATTRIBUTE = 6,
	TABLE_STACK = 7,
};

struct bytes {
	const u8 *at;
	size_t len;
};

/* An attribute of the dictionary. `text` is owned; NULL for a number. */
struct attribute {
	s32 key, text_index; /* text_index > 0: the text is in the dictionary */
	char *text;
	s64 number;
	bool is_number;
	int label; /* the label that its key means, -1 if none */
	bool is_pid, is_tid;
};

/* To a span. Texts are owned, "" if missing. */
struct link {
	char *trace, *span;
};

struct range {
	u32 first, nr;
};

struct function {
	s32 name, filename; /* indexes of texts */
};

struct reading {
	struct profile *p;
	struct str *why;
	VEC(struct bytes) texts;
	VEC(struct external_mapping) mappings;
	VEC(struct function) functions;
	VEC(struct attribute) attributes;
	VEC(struct link) links;
	VEC(struct range) locations; /* range of `frames`, the innermost first */
	VEC(frame_id) frames;
	u64 name_bytes;           /* bytes in the names of all frames */
	VEC(struct bytes) stacks; /* messages, decoded when a sample needs them */
	VEC(u64) stack_nodes;     /* by stack: its node + 1, 0 if not yet decoded */
	struct labels process;    /* labels of the current resource; its texts are owned */
	struct stack_adder *adder;
	/* Facts of the current profile. */
	Otlp__Type *type, *period_type;
	u64 start_wall_ns, duration_ns;
	s64 period;
	u32 our_type;
	u64 scale; /* ours in one of their unit */
	enum value_role role;
	u64 nr_samples, nr_labels_out;
	bool has_traces; /* some link has a trace: times of samples are kept */
};

static int refuse(struct reading *r, const char *what)
{
	str_addf(r->why, "OTLP data: %s", what);
	return -EINVAL;
}

static char *text_of(const struct reading *r, s32 number)
{
	if (number < 0 || (size_t)number >= r->texts.nr)
		return xstrdup("");
	return text_from_external(r->texts.at[number].at, r->texts.at[number].len);
}

typedef int (*take_field)(struct reading *r, const struct pb_field *f);

static int walk(struct reading *r, const void *at, size_t len, take_field on_field)
{
	struct pb_reader reader = pb_read(at, len);
	struct pb_field f;
	int err;

	while ((err = pb_next(&reader, &f)) > 0)
		if ((err = on_field(r, &f)) < 0)
			return err;
	return err ? refuse(r, "damaged or cut off") : 0;
}

static int take_attribute(struct reading *r, const struct pb_field *f)
{
	auto_pb Otlp__IndexedAttribute *a = pb_message(&otlp__indexed_attribute__descriptor, f);
	if (!a)
		return refuse(r, "a damaged attribute");

	struct attribute own = { .key = a->key_index };
	if (a->value && a->value->is_case == OTLP__VALUE__IS_TEXT)
		own.text = xstrdup(a->value->text);
	else if (a->value && a->value->is_case == OTLP__VALUE__IS_TEXT_INDEX)
		own.text_index = a->value->text_index;
	else if (a->value && a->value->is_case == OTLP__VALUE__IS_NUMBER)
		own = (struct attribute){ .key = a->key_index,
					  .number = a->value->number,
					  .is_number = true };
	vec_push(&r->attributes, own);
	return 0;
}

static char *id_of(const ProtobufCBinaryData *id, size_t len)
{
	return id->len == len ? id_to_hex(id->data, len) : xstrdup("");
}

static int take_link(struct reading *r, const struct pb_field *f)
{
	auto_pb Otlp__Link *l = pb_message(&otlp__link__descriptor, f);
	if (!l)
		return refuse(r, "a damaged link");
	vec_push(&r->links, (struct link){ id_of(&l->trace_id, OTLP_TRACE_BYTES),
					   id_of(&l->span_id, OTLP_SPAN_BYTES) });
	r->has_traces |= *r->links.at[r->links.nr - 1].trace != '\0';
	return 0;
}

/* Reads tables that refer to texts only. */
static int take_table(struct reading *r, const struct pb_field *f)
{
	struct bytes bytes = { f->at, f->len };

	if (f->number == TABLE_TEXT) {
		vec_push(&r->texts, bytes);
	} else if (f->number == TABLE_STACK) {
		vec_push(&r->stacks, bytes);
	} else if (f->number == TABLE_ATTRIBUTE) {
		return take_attribute(r, f);
	} else if (f->number == TABLE_LINK) {
		return take_link(r, f);
	} else if (f->number == TABLE_MAPPING) {
		auto_pb Otlp__Mapping *m = pb_message(&otlp__mapping__descriptor, f);
		if (!m)
			return refuse(r, "a damaged mapping");
		vec_push(&r->mappings, (struct external_mapping){ m->filename_index, m->start,
								  m->end, m->file_off });
	} else if (f->number == TABLE_FUNCTION) {
		auto_pb Otlp__Function *fn = pb_message(&otlp__function__descriptor, f);
		if (!fn)
			return refuse(r, "a damaged function");
		vec_push(&r->functions, (struct function){ fn->name_index ?: fn->system_name_index,
							   fn->filename_index });
	}
	return 0;
}

static int label_find(const char *key)
{
	for (int i = 0; i < NR_LABELS; i++)
		if (!strcmp(key, label_names[i].otlp))
			return i;
	return -1;
}

/* Resolves the meaning of attributes once all texts are known. */
static int resolve_attributes(struct reading *r)
{
	vec_each(a, &r->attributes) {
		auto_free char *key = text_of(r, a->key);
		if (a->text_index > 0) {
			free(a->text);
			a->text = text_of(r, a->text_index);
		}
		a->label = a->text ? label_find(key) : -1;
		a->is_pid = !strcmp(key, "process.pid");
		a->is_tid = !strcmp(key, "thread.id");
		r->name_bytes += strlen(key) + strlen(a->text ?: "");
		if (r->name_bytes > EXTERNAL_NAMES_MAX)
			return refuse(r, "the attributes have texts of more than 256 MB");
	}
	return 0;
}

static const struct attribute *attribute_at(const struct reading *r, s32 index)
{
	return index > 0 && (size_t)index < r->attributes.nr ? &r->attributes.at[index] : NULL;
}

/* The kind: sysflame's own word in brackets, otherwise the word of the semantic conventions. */
static char *kind_of(const struct reading *r, const Otlp__Location *l)
{
	char *kind = xstrdup("");

	for (size_t i = 0; i < l->n_attribute_indexes; i++) {
		const struct attribute *a = attribute_at(r, l->attribute_indexes[i]);
		if (!a || !a->text)
			continue;
		auto_free char *key = text_of(r, a->key);
		bool is_ours = !strcmp(key, "sysflame.frame.kind");
		if (is_ours || (!strcmp(key, "profile.frame.type") && !*kind)) {
			free(kind);
			kind = is_ours || !strcmp(a->text, "kernel") ? xasprintf("[%s]", a->text)
								     : xstrdup(a->text);
		}
		if (is_ours)
			break;
	}
	return kind;
}

static int add_line(struct reading *r, const char *module, const char *kind, const Otlp__Line *line,
		    bool is_inlined)
{
	s32 index = line->function_index;
	bool is_there = index > 0 && (size_t)index < r->functions.nr;
	auto_free char *name = text_of(r, is_there ? r->functions.at[index].name : -1);
	auto_free char *file = text_of(r, is_there ? r->functions.at[index].filename : -1);
	struct source_line source = { file, (u64)line->line <= INT32_MAX ? (u32)line->line : 0 };

	r->name_bytes += strlen(name) + strlen(module) + strlen(file);
	if (r->name_bytes > EXTERNAL_NAMES_MAX)
		return refuse(r, "the frames have names of more than 256 MB");
	vec_push(&r->frames, frame_from_external(r->p, name, module, kind, is_inlined, source));
	return 0;
}

static int take_location(struct reading *r, const struct pb_field *f)
{
	if (f->number != TABLE_LOCATION)
		return 0;

	auto_pb Otlp__Location *l = pb_message(&otlp__location__descriptor, f);
	if (!l)
		return refuse(r, "a damaged location");
	u32 first = (u32)r->frames.nr;
	s32 index = l->mapping_index;
	const struct external_mapping *m =
		index > 0 && (size_t)index < r->mappings.nr ? &r->mappings.at[index] : NULL;
	auto_free char *module = text_of(r, m ? (s32)m->filename : -1);
	auto_free char *kind = kind_of(r, l);
	int err = 0;

	for (size_t i = 0; i < l->n_lines && !err; i++)
		err = add_line(r, module, kind, l->lines[i], i + 1 < l->n_lines);
	if (err)
		return err;
	if (!l->n_lines) {
		auto_free char *name = name_from_address(module, m, l->address);
		vec_push(&r->frames, frame_from_external(r->p, name, module, kind, false,
							 (struct source_line){ "", 0 }));
	}
	vec_push(&r->locations, (struct range){ first, (u32)r->frames.nr - first });
	return 0;
}

static int take_dictionary(struct reading *r, const struct pb_field *f)
{
	if (f->number != REQUEST_DICTIONARY || !f->is_bytes)
		return 0;
	return walk(r, f->at, f->len, take_table)      ?:
			  resolve_attributes(r) ?:
			  walk(r, f->at, f->len, take_location);
}

static int say(struct str *why, const char *what)
{
	str_add(why, what);
	return -EINVAL;
}

static int push_stack(struct reading *r, s32 index, struct str *why)
{
	const struct bytes *bytes =
		index >= 0 && (size_t)index < r->stacks.nr ? &r->stacks.at[index] : NULL;
	if (!bytes)
		return say(why, "a stack that does not exist");

	auto_pb Otlp__Stack *s = otlp__stack__unpack(NULL, bytes->len, bytes->at);
	if (!s)
		return say(why, "a damaged stack");
	for (size_t i = s->n_location_indexes; i-- > 0;) {
		s32 at = s->location_indexes[i];
		if (at < 0 || (size_t)at >= r->locations.nr)
			return say(why, "a stack with a location that does not exist");
		const struct range *l = &r->locations.at[at];
		for (u32 line = l->nr; line-- > 0;)
			vec_push(&r->adder->frames, r->frames.at[l->first + line]);
		if (r->adder->frames.nr > UINT16_MAX)
			break;
	}
	return 0;
}

/* Finds the node of a stack of the dictionary. Many samples may share a stack. */
static int find_stack(struct reading *r, s32 index, node_id *node, struct str *why)
{
	while (r->stack_nodes.nr < r->stacks.nr)
		vec_push(&r->stack_nodes, 0);
	u64 *known = index >= 0 && (size_t)index < r->stacks.nr ? &r->stack_nodes.at[index] : NULL;
	if (known && *known) {
		*node = (node_id)(*known - 1);
		return 0;
	}
	int err = push_stack(r, index, why) ?: stack_find(r->adder, node, why);
	if (!err)
		*known = *node + 1ull;
	return err;
}

static bool is_number_of_task(s64 number)
{
	return number > 0 && number <= INT32_MAX;
}

/* Counted for each label set of a file. */
#define LABELS_BYTES 256

/* Slots of the times of samples that have traces; those of `record --timeline` have that width. */
#define SLOT_NS       (10 * NS_PER_MS)
#define LATE_TIMES_NS (24 * 3600 * NS_PER_SEC) /* later than the profile's end: not taken */

/*
 * The slots from the first to the last time of a part of a sample; "" if times are not kept. Sets
 * the width of slots, which count from the profile's start.
 */
static void time_of(struct reading *r, const uint64_t *times_ns, size_t nr,
		    char text[SLOTS_TEXT_BYTES])
{
	struct profile *p = r->p;
	u64 start = p->start_wall_ns, first = UINT64_MAX, last = 0;

	text[0] = '\0';
	for (size_t i = 0; i < nr; i++) {
		first = times_ns[i] < first ? times_ns[i] : first;
		last = times_ns[i] > last ? times_ns[i] : last;
	}
	if (!r->has_traces || !start || first < start ||
	    last - start > p->duration_ns + LATE_TIMES_NS)
		return;
	p->slot_ns = p->slot_ns ?: SLOT_NS;
	const struct slots slots = { (first - start) / p->slot_ns,
				     (last - start) / p->slot_ns + 1 };
	slots_text(&slots, text);
}

/* An attribute that sysflame has no label for. Returns whether it was taken. */
static bool take_tag(struct reading *r, const struct attribute *a, struct tags *tags)
{
	if (a->is_pid || a->is_tid || !(a->text || a->is_number))
		return true;
	if (tags->all.nr == TAGS_MAX)
		return false;
	auto_free char *key = text_of(r, a->key);
	if (a->text)
		tags_add_text(tags, key, a->text);
	else
		tags_add_number(tags, key, a->number, "");
	return true;
}

/* sysflame's own files have all of them in one attribute. */
static char *tags_of(struct reading *r, const Otlp__Sample *s, bool has_own)
{
	struct tags tags = { 0 };

	for (size_t i = 0; !has_own && i < s->n_attribute_indexes; i++) {
		const struct attribute *a = attribute_at(r, s->attribute_indexes[i]);
		if (a && a->label < 0 && !take_tag(r, a, &tags))
			profile_note(r->p, "labels_left_out",
				     "labels left out, of samples with more than 32",
				     ++r->nr_labels_out);
	}
	return tags_take(&tags);
}

static int find_labels(struct reading *r, const Otlp__Sample *s, const char *time, labels_id *id,
		       struct str *why)
{
	struct labels labels = r->process;
	struct str texts[NR_LABELS] = { 0 };

	for (size_t i = 0; i < s->n_attribute_indexes; i++) {
		const struct attribute *a = attribute_at(r, s->attribute_indexes[i]);
		if (a && a->label >= 0) {
			str_clear(&texts[a->label]);
			utf8_clean(&texts[a->label], a->text,
				   a->label == LABEL_TAGS ? TAGS_MAX_BYTES : 256);
			labels.text[a->label] = texts[a->label].at;
		} else if (a && is_number_of_task(a->number)) {
			labels.pid = a->is_pid ? (u32)a->number : labels.pid;
			labels.tid = a->is_tid ? (u32)a->number : labels.tid;
		}
	}
	if (s->link_index > 0 && (size_t)s->link_index < r->links.nr) {
		const struct link *l = &r->links.at[s->link_index];
		labels.trace = *l->trace ? l->trace : labels.trace;
		labels.span = *l->span ? l->span : labels.span;
	}
	auto_free char *tags = tags_of(r, s, texts[LABEL_TAGS].at != NULL);
	if (*tags)
		labels.tags = tags;
	if (!labels.time || !*labels.time)
		labels.time = time;
	size_t nr_known = r->p->labels.nr;
	*id = profile_intern_labels(r->p, &labels);
	r->name_bytes += r->p->labels.nr > nr_known ? strlen(tags) + LABELS_BYTES : 0;
	for (int i = 0; i < NR_LABELS; i++)
		str_fini(&texts[i]);
	return r->name_bytes > EXTERNAL_NAMES_MAX ? say(why, "the labels are more than 256 MB") : 0;
}

/*
 * Adds the values of a sample: one for each of its times, or one for all of them. A sample with
 * times and no values stands for one event per time.
 */
static int add_values(struct reading *r, const Otlp__Sample *s, node_id node, struct str *why)
{
	bool has_values = s->n_values > 0;
	bool is_by_time =
		r->has_traces && s->n_times_ns && (!has_values || s->n_values == s->n_times_ns);
	size_t nr = is_by_time ? s->n_times_ns : has_values ? s->n_values : s->n_times_ns > 0;
	int err = 0;

	for (size_t i = 0; i < nr && !err; i++) {
		char time[SLOTS_TEXT_BYTES];
		labels_id labels;
		time_of(r, s->times_ns + (is_by_time ? i : 0), is_by_time ? 1 : s->n_times_ns,
			time);
		s64 value = has_values   ? value_from_external(s->values[i], r->scale)
			    : is_by_time ? 1
					 : (s64)s->n_times_ns;
		err = find_labels(r, s, time, &labels, why)
			      ?: stack_add(r->adder, node, labels, r->our_type, value, why);
	}
	return err;
}

static int take_sample(struct reading *r, const struct pb_field *f)
{
	if (f->number != PROFILE_SAMPLE)
		return 0;

	auto_pb Otlp__Sample *s = pb_message(&otlp__sample__descriptor, f);
	auto_str struct str why = { 0 };
	node_id node;
	if (!s)
		return refuse(r, "a damaged sample");
	r->nr_samples++;
	int err = find_stack(r, s->stack_index, &node, &why) ?: add_values(r, s, node, &why);
	if (!err)
		return 0;
	auto_str struct str where = { 0 };
	str_addf(&where, "sample %llu: %s", (unsigned long long)r->nr_samples, why.at);
	return refuse(r, where.at);
}

static void take_note(struct reading *r, s32 index)
{
	static const char start[] = "sysflame.note.";
	const struct attribute *a = attribute_at(r, index);
	auto_free char *key = a ? text_of(r, a->key) : NULL;
	char *end;

	if (a && a->text && !strcmp(key, OTLP_ROLE_KEY))
		r->role = diff_role_of(a->text);
	if (!a || !a->text || strncmp(key, start, sizeof(start) - 1))
		return;
	u64 value = strtoull(a->text, &end, 10);
	if (end == a->text || *end != ' ' || value > INT64_MAX)
		return;
	auto_str struct str clean = { 0 }, clean_key = { 0 };
	utf8_clean(&clean, end + 1, 4096);
	utf8_clean(&clean_key, key + sizeof(start) - 1, 256);
	profile_note(r->p, clean_key.at, clean.at, value);
}

static int take_notes(struct reading *r, const struct pb_field *f)
{
	auto_str struct str field = { 0 };

	pb_add_bytes(&field, PROFILE_ATTRIBUTES, f->at, f->len);
	auto_pb Otlp__Profile *list = otlp__profile__unpack(NULL, field.len, (u8 *)field.at);
	if (!list)
		return refuse(r, "damaged attributes");
	for (size_t i = 0; i < list->n_attribute_indexes; i++)
		take_note(r, list->attribute_indexes[i]);
	return 0;
}

static int take_head(struct reading *r, const struct pb_field *f)
{
	Otlp__Type **type = f->number == PROFILE_TYPE          ? &r->type
			    : f->number == PROFILE_PERIOD_TYPE ? &r->period_type
							       : NULL;

	if (type) {
		pb_free(type);
		*type = pb_message(&otlp__type__descriptor, f);
		return *type ? 0 : refuse(r, "a damaged value type");
	}
	if (f->number == PROFILE_TIME)
		r->start_wall_ns = (s64)f->value > 0 ? f->value : 0;
	else if (f->number == PROFILE_DURATION)
		r->duration_ns = (s64)f->value > 0 ? f->value : 0;
	else if (f->number == PROFILE_PERIOD)
		r->period = (s64)f->value;
	else if (f->number == PROFILE_ATTRIBUTES)
		return take_notes(r, f);
	return 0;
}

static int read_profile(struct reading *r, const struct pb_field *f)
{
	r->start_wall_ns = r->duration_ns = 0;
	r->period = 0;
	r->role = VALUE_NONE;
	int err = walk(r, f->at, f->len, take_head);
	if (err)
		return err;
	profile_add_span(r->p, r->start_wall_ns, r->duration_ns); /* a file may have many */
	if (!r->type)
		return refuse(r, "a profile without a value type");

	auto_free char *name = text_of(r, r->type->name_index);
	auto_free char *unit = text_of(r, r->type->unit_index);
	auto_free char *period = text_of(r, r->period_type ? r->period_type->name_index : -1);
	if (!strcmp(period, "cpu") && r->period > 1)
		r->p->rate_hz = 1e9 / (double)r->period;
	if (r->p->types.nr > 64)
		return refuse(r, "more than 64 value types");
	r->our_type = type_from_external(r->p, name, unit, period);
	r->scale = unit_scale(unit);
	if (r->role)
		r->p->types.at[r->our_type].role = r->role;
	return walk(r, f->at, f->len, take_sample);
}

static int take_scope(struct reading *r, const struct pb_field *f)
{
	if (f->number != SCOPE_PROFILES || !f->is_bytes)
		return 0;
	int err = read_profile(r, f);
	pb_free(&r->type);
	pb_free(&r->period_type);
	r->type = r->period_type = NULL;
	return err;
}

static int take_scopes(struct reading *r, const struct pb_field *f)
{
	return f->number == RESOURCE_SCOPES && f->is_bytes ? walk(r, f->at, f->len, take_scope) : 0;
}

static void set_text(char **field, const char *text)
{
	struct str clean = { 0 };

	utf8_clean(&clean, text, 4096);
	free(*field);
	*field = str_take(&clean);
}

static void take_process_attribute(struct reading *r, const Otlp__Attribute *a)
{
	const Otlp__Value *v = a->value;
	auto_free char *key = *a->key ? xstrdup(a->key) : text_of(r, a->key_index);
	auto_free char *text = v && v->is_case == OTLP__VALUE__IS_TEXT ? xstrdup(v->text)
			       : v && v->is_case == OTLP__VALUE__IS_TEXT_INDEX
				       ? text_of(r, v->text_index)
				       : NULL;
	int label = text ? label_find(key) : -1;

	if (label >= 0)
		set_text((char **)&r->process.text[label], text);
	else if (text && !strcmp(key, "host.name"))
		set_text(&r->p->host, text);
	else if (text && !strcmp(key, "sysflame.title"))
		set_text(&r->p->title, text);
	else if (text && !strcmp(key, "sysflame.target"))
		set_text(&r->p->target, text);
	else if (text && !strcmp(key, "sysflame.slot_ns"))
		r->p->slot_ns = strtoull(text, NULL, 10);
	else if (!strcmp(key, "process.pid") && v && v->is_case == OTLP__VALUE__IS_NUMBER &&
		 is_number_of_task(v->number))
		r->process.pid = (u32)v->number;
}

static int take_process(struct reading *r, const struct pb_field *f)
{
	if (f->number != RESOURCE_RESOURCE)
		return 0;
	auto_pb Otlp__Resource *resource = pb_message(&otlp__resource__descriptor, f);
	if (!resource)
		return refuse(r, "a damaged resource");
	for (size_t i = 0; i < resource->n_attributes; i++)
		take_process_attribute(r, resource->attributes[i]);
	return 0;
}

static int take_resource(struct reading *r, const struct pb_field *f)
{
	if (f->number != REQUEST_RESOURCE || !f->is_bytes)
		return 0;
	r->process.pid = 0;
	for (int i = 0; i < NR_LABELS; i++)
		set_text((char **)&r->process.text[i], "");
	return walk(r, f->at, f->len, take_process) ?: walk(r, f->at, f->len, take_scopes);
}

/* Times of samples count from the start of all profiles, which must be known before. */
static int look_at_head(struct reading *r, const struct pb_field *f)
{
	if (f->number == PROFILE_TIME)
		r->start_wall_ns = (s64)f->value > 0 ? f->value : 0;
	else if (f->number == PROFILE_DURATION)
		r->duration_ns = (s64)f->value > 0 ? f->value : 0;
	return 0;
}

static int look_at_profile(struct reading *r, const struct pb_field *f)
{
	if (f->number != SCOPE_PROFILES || !f->is_bytes)
		return 0;
	r->start_wall_ns = r->duration_ns = 0;
	int err = walk(r, f->at, f->len, look_at_head);
	if (!err)
		profile_add_span(r->p, r->start_wall_ns, r->duration_ns);
	return err;
}

static int look_at_scopes(struct reading *r, const struct pb_field *f)
{
	return f->number == RESOURCE_SCOPES && f->is_bytes ? walk(r, f->at, f->len, look_at_profile)
							   : 0;
}

static int look_at_resource(struct reading *r, const struct pb_field *f)
{
	return r->has_traces && f->number == REQUEST_RESOURCE && f->is_bytes
		       ? walk(r, f->at, f->len, look_at_scopes)
		       : 0;
}

int otlp_add(const struct str *bytes, struct stack_adder *stacks, struct str *why)
{
	struct reading r = { .p = stacks->p, .why = why, .adder = stacks };
	int err = walk(&r, bytes->at, bytes->len, take_dictionary);
	if (!err && !r.texts.nr)
		err = refuse(&r, "no dictionary; were they written by version 1.10 or later?");
	err = err ?: walk(&r, bytes->at, bytes->len, look_at_resource);
	err = err ?: walk(&r, bytes->at, bytes->len, take_resource);

	vec_each(a, &r.attributes)
		free(a->text);
	vec_each(l, &r.links) {
		free(l->trace);
		free(l->span);
	}
	vec_fini(&r.links);
	for (int i = 0; i < NR_LABELS; i++)
		free((char *)r.process.text[i]);
	vec_fini(&r.texts);
	vec_fini(&r.mappings);
	vec_fini(&r.functions);
	vec_fini(&r.attributes);
	vec_fini(&r.locations);
	vec_fini(&r.frames);
	vec_fini(&r.stacks);
	vec_fini(&r.stack_nodes);
	return err;
}

int otlp_read(const struct str *bytes, struct profile *p, struct str *why)
{
	struct stack_adder stacks;

	stack_adder_init(&stacks, p);
	int err = otlp_add(bytes, &stacks, why);
	stack_adder_fini(&stacks);
	return err;
}
