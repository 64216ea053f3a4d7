/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes OTLP profiles: a request for OpenTelemetry's profiles service, with one resource per
 * process and one profile per value type. One dictionary holds stacks, frames and texts.
 * Part of export/writers/writer.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "export/interchange/external.h"
#include "export/interchange/pb.h"
#include "export/writers/writer.h"
#include "profile/diff.h"

#include "otlp.pb-c.h"

/* Fields of the messages that contain the other messages. */
enum otlp_field {
	REQUEST_RESOURCE = 1,
	REQUEST_DICTIONARY = 2,
	RESOURCE_RESOURCE = 1,
	RESOURCE_SCOPES = 2,
	SCOPE_SCOPE = 1,
	SCOPE_PROFILES = 2,
};

struct otlp {
	const struct profile *p;
	struct str dictionary;
	struct texts texts;
	struct texts values;    /* texts of attribute values, which are not in the table of texts */
	struct texts links;     /* "TRACE SPAN" of the table of links */
	struct dict mappings;   /* index of the module's text -> index */
	struct dict locations;  /* frame -> index */
	struct dict functions;  /* (text of the name << 32 | text of the file) -> index */
	struct dict stacks;     /* node -> index */
	struct dict attributes; /* (index of the key's text << 40 | value) -> index; the value's
				   lowest bit distinguishes indexes in `values` and numbers */
	VEC(s32) path;
};

static s32 indexed_attribute(struct otlp *x, const char *key, const char *text, s64 number)
{
	u64 value = text ? (u64)texts_add(&x->values, text) << 1 | 1 : (u64)number << 1;
	u64 *index = dict_add(&x->attributes, (u64)texts_add(&x->texts, key) << 40 | value);
	Otlp__Value is = OTLP__VALUE__INIT;
	Otlp__IndexedAttribute a = OTLP__INDEXED_ATTRIBUTE__INIT, *all = &a;
	Otlp__Dictionary fields = OTLP__DICTIONARY__INIT;

	if (*index)
		return (s32)*index;
	*index = x->attributes.nr;
	if (text) {
		is.is_case = OTLP__VALUE__IS_TEXT;
		is.text = (char *)text;
	} else {
		is.is_case = OTLP__VALUE__IS_NUMBER;
		is.number = number;
	}
	a.key_index = (s32)texts_add(&x->texts, key);
	a.value = &is;
	fields.n_attributes = 1;
	fields.attributes = &all;
	pb_add(&x->dictionary, &fields);
	return (s32)*index;
}

/* Adds the empty entries with index 0. */
static void add_nothings(struct otlp *x)
{
	static u8 zeros[16];
	Otlp__Mapping mapping = OTLP__MAPPING__INIT, *mappings = &mapping;
	Otlp__Location location = OTLP__LOCATION__INIT, *locations = &location;
	Otlp__Function function = OTLP__FUNCTION__INIT, *functions = &function;
	Otlp__Link link = OTLP__LINK__INIT, *links = &link;
	Otlp__IndexedAttribute attribute = OTLP__INDEXED_ATTRIBUTE__INIT, *attributes = &attribute;
	Otlp__Stack stack = OTLP__STACK__INIT, *stacks = &stack;
	Otlp__Dictionary fields = OTLP__DICTIONARY__INIT;

	link.trace_id = (ProtobufCBinaryData){ 16, zeros };
	link.span_id = (ProtobufCBinaryData){ 8, zeros };
	fields.n_mappings = fields.n_locations = fields.n_functions = fields.n_links = 1;
	fields.n_attributes = fields.n_stacks = 1;
	fields.mappings = &mappings;
	fields.locations = &locations;
	fields.functions = &functions;
	fields.links = &links;
	fields.attributes = &attributes;
	fields.stacks = &stacks;
	pb_add(&x->dictionary, &fields);
}

static s32 mapping_of(struct otlp *x, const char *module)
{
	Otlp__Mapping mapping = OTLP__MAPPING__INIT, *mappings = &mapping;
	Otlp__Dictionary fields = OTLP__DICTIONARY__INIT;

	if (!*module)
		return 0;
	mapping.filename_index = (s32)texts_add(&x->texts, module);
	u64 *index = dict_add(&x->mappings, (u64)mapping.filename_index);
	if (!*index) {
		*index = x->mappings.nr;
		fields.n_mappings = 1;
		fields.mappings = &mappings;
		pb_add(&x->dictionary, &fields);
	}
	return (s32)*index;
}

/*
 * The semantic conventions have jvm, kernel and native; a second attribute has sysflame's own word.
 */
static const char *standard_kind(enum frame_kind kind)
{
	if (kind == FRAME_KERNEL)
		return "kernel";
	return kind >= FRAME_INTERPRETED && kind <= FRAME_INLINED ? "jvm" : "native";
}

/* The index of a frame's function; frames of different lines share their function. */
static s32 function_of(struct otlp *x, const struct frame *f)
{
	Otlp__Function function = OTLP__FUNCTION__INIT, *functions = &function;
	Otlp__Dictionary fields = OTLP__DICTIONARY__INIT;
	auto_free char *name = frame_function(f);

	function.name_index = function.system_name_index = (s32)texts_add(&x->texts, name);
	function.filename_index = (s32)texts_add(&x->texts, f->file);
	u64 *index = dict_add(&x->functions,
			      (u64)function.name_index << 32 | (u32)function.filename_index);
	if (!*index) {
		*index = x->functions.nr;
		fields.n_functions = 1;
		fields.functions = &functions;
		pb_add(&x->dictionary, &fields);
	}
	return (s32)*index;
}

static s32 location_of(struct otlp *x, frame_id id)
{
	const struct frame *f = frames_get(x->p->frames, id);
	Otlp__Line line = OTLP__LINE__INIT, *lines = &line;
	Otlp__Location location = OTLP__LOCATION__INIT, *locations = &location;
	Otlp__Dictionary fields = OTLP__DICTIONARY__INIT;
	u64 *index = dict_add(&x->locations, id);

	if (*index)
		return (s32)*index;
	*index = x->locations.nr;
	s32 attributes[] = {
		indexed_attribute(x, "profile.frame.type", standard_kind(f->kind), 0),
		indexed_attribute(x, "sysflame.frame.kind", frame_kind_name(f->kind), 0),
	};
	line.function_index = function_of(x, f);
	line.line = f->line;
	location.mapping_index = mapping_of(x, f->module);
	location.n_lines = 1;
	location.lines = &lines;
	location.n_attribute_indexes = ARRAY_SIZE(attributes);
	location.attribute_indexes = attributes;
	fields.n_locations = 1;
	fields.locations = &locations;
	pb_add(&x->dictionary, &fields);
	return (s32)x->locations.nr;
}

static s32 stack_of(struct otlp *x, node_id leaf)
{
	Otlp__Stack stack = OTLP__STACK__INIT, *stacks = &stack;
	Otlp__Dictionary fields = OTLP__DICTIONARY__INIT;
	u64 *index = dict_add(&x->stacks, leaf);

	if (*index)
		return (s32)*index;
	*index = x->stacks.nr;
	x->path.nr = 0;
	for (node_id n = leaf; n; n = x->p->nodes.at[n].parent)
		vec_push(&x->path, location_of(x, x->p->nodes.at[n].frame));
	stack.n_location_indexes = x->path.nr;
	stack.location_indexes = x->path.at;
	fields.n_stacks = 1;
	fields.stacks = &stacks;
	pb_add(&x->dictionary, &fields);
	return (s32)*index;
}

/* The index of the link to the sample's span; 0 if trace or span is missing or no such number. */
static s32 link_of(struct otlp *x, const struct labels *l)
{
	u8 trace[OTLP_TRACE_BYTES], span[OTLP_SPAN_BYTES];
	Otlp__Link link = OTLP__LINK__INIT, *links = &link;
	Otlp__Dictionary fields = OTLP__DICTIONARY__INIT;
	char text[2 * (OTLP_TRACE_BYTES + OTLP_SPAN_BYTES) + 2];

	if (!id_from_hex(l->trace, trace, sizeof(trace)) ||
	    !id_from_hex(l->span, span, sizeof(span)))
		return 0;
	snprintf(text, sizeof(text), "%s %s", l->trace, l->span);
	size_t nr_known = x->links.all.nr;
	u32 index = texts_add(&x->links, text);
	if (index < nr_known)
		return (s32)index;
	link.trace_id = (ProtobufCBinaryData){ sizeof(trace), trace };
	link.span_id = (ProtobufCBinaryData){ sizeof(span), span };
	fields.n_links = 1;
	fields.links = &links;
	pb_add(&x->dictionary, &fields);
	return (s32)index;
}

static void add_sample(struct otlp *x, const struct weight *w, struct str *out)
{
	const struct labels *l = &x->p->labels.at[w->labels];
	Otlp__Sample sample = OTLP__SAMPLE__INIT, *samples = &sample;
	Otlp__Profile fields = OTLP__PROFILE__INIT;
	s32 attributes[NR_LABELS + 1];
	s64 value = (s64)w->value;

	if (l->tid)
		attributes[sample.n_attribute_indexes++] =
			indexed_attribute(x, "thread.id", NULL, l->tid);
	sample.link_index = link_of(x, l);
	for (enum label i = 0; i < NR_LABELS; i++)
		if (!label_is_of_process(i) && *l->text[i] &&
		    !(sample.link_index && (i == LABEL_TRACE || i == LABEL_SPAN)))
			attributes[sample.n_attribute_indexes++] =
				indexed_attribute(x, label_names[i].otlp, l->text[i], 0);
	sample.attribute_indexes = attributes;
	sample.stack_index = stack_of(x, w->node);
	sample.n_values = 1;
	sample.values = &value;
	fields.n_samples = 1;
	fields.samples = &samples;
	pb_add(out, &fields);
}

/* Writes a profile without its samples. Pyroscope requires a period type and a period above 0. */
static void add_head(struct otlp *x, u32 type, struct str *out)
{
	const struct profile *p = x->p;
	const struct value_type *t = &p->types.at[type];
	bool is_cpu = type_is_cpu(t);
	u64 period_ns = is_cpu ? profile_period_ns(p) : 0;
	Otlp__Type of = OTLP__TYPE__INIT, period = OTLP__TYPE__INIT;
	Otlp__Profile fields = OTLP__PROFILE__INIT;
	const char *role = diff_role_name(t->role);
	VEC(s32) notes = { 0 };

	of.name_index = (s32)texts_add(&x->texts, is_cpu ? "samples" : t->name);
	of.unit_index = (s32)texts_add(&x->texts, unit_to_external(t->name, t->unit));
	period.name_index = (s32)texts_add(&x->texts, t->name);
	period.unit_index = (s32)texts_add(&x->texts, is_cpu ? "nanoseconds"
							     : unit_to_external(t->name, t->unit));
	for (size_t i = 0; type == 0 && i < p->notes.nr; i++) {
		const struct note *n = &p->notes.at[i];
		auto_free char *key = xasprintf("sysflame.note.%s", n->key);
		auto_free char *text = xasprintf("%llu %s", (unsigned long long)n->value, n->text);
		vec_push(&notes, indexed_attribute(x, key, text, 0));
	}
	if (*role)
		vec_push(&notes, indexed_attribute(x, OTLP_ROLE_KEY, role, 0));
	fields.type = &of;
	fields.period_type = &period;
	fields.period = period_ns ? (s64)period_ns : 1;
	fields.time_ns = p->start_wall_ns;
	fields.duration_ns = p->duration_ns;
	fields.n_attribute_indexes = notes.nr;
	fields.attribute_indexes = notes.at;
	pb_add(out, &fields);
	vec_fini(&notes);
}

static void add_attribute(struct str *out, const char *key, const char *text, u32 number)
{
	Otlp__Value value = OTLP__VALUE__INIT;
	Otlp__Attribute a = OTLP__ATTRIBUTE__INIT, *all = &a;
	Otlp__Resource fields = OTLP__RESOURCE__INIT;

	if (text ? !*text : !number)
		return;
	value.is_case = text ? OTLP__VALUE__IS_TEXT : OTLP__VALUE__IS_NUMBER;
	if (text)
		value.text = (char *)text;
	else
		value.number = number;
	a.key = (char *)key;
	a.value = &value;
	fields.n_attributes = 1;
	fields.attributes = &all;
	pb_add(out, &fields);
}

static void add_node_labels(const char *labels, struct str *out)
{
	auto_free char *text = xstrdup(labels);
	char *rest = text, *key, *value;

	while (node_labels_next(&rest, &key, &value))
		if (!otlp_is_reserved(key)) /* no key may occur twice */
			add_attribute(out, key, value, 0);
}

static void add_resource(const struct profile *p, const struct labels *l, struct str *out)
{
	auto_str struct str resource = { 0 };
	const char *service = *l->service ? l->service : *l->comm ? l->comm : "sysflame";

	add_attribute(&resource, "service.name", service, 0);
	for (enum label i = 0; i < NR_LABELS; i++)
		if (label_is_of_process(i))
			add_attribute(&resource, label_names[i].otlp, l->text[i], 0);
	add_attribute(&resource, "process.pid", NULL, l->pid);
	add_attribute(&resource, "host.name", p->host, 0);
	add_node_labels(p->node_labels, &resource);
	add_attribute(&resource, "sysflame.title", p->title, 0);
	add_attribute(&resource, "sysflame.target", p->target, 0);
	auto_free char *slot = xasprintf("%llu", (unsigned long long)p->slot_ns);
	add_attribute(&resource, "sysflame.slot_ns", p->slot_ns ? slot : "", 0);
	pb_add_bytes(out, RESOURCE_RESOURCE, resource.at, resource.len);
}

static int compare_processes(const struct labels *a, const struct labels *b)
{
	int order = a->pid == b->pid ? 0 : a->pid < b->pid ? -1 : 1;

	for (enum label i = 0; !order && i < NR_LABELS; i++)
		if (label_is_of_process(i))
			order = strcmp(a->text[i], b->text[i]);
	return order;
}

static bool is_same_process(const struct profile *p, u32 a, u32 b)
{
	return !compare_processes(&p->labels.at[p->weights.at[a].labels],
				  &p->labels.at[p->weights.at[b].labels]);
}

/* Writes one resource: all weights of one process, `order[0..nr)`. */
static void add_process(struct otlp *x, const u32 *order, size_t nr, struct str *out)
{
	const struct profile *p = x->p;
	auto_str struct str resource = { 0 }, scope = { 0 };
	Otlp__Scope us = OTLP__SCOPE__INIT;
	auto_str struct str who = { 0 };

	us.name = (char *)"sysflame";
	us.version = (char *)SYSFLAME_VERSION;
	pb_add(&who, &us);
	pb_add_bytes(&scope, SCOPE_SCOPE, who.at, who.len);
	for (u32 type = 0; type < p->types.nr; type++) {
		auto_str struct str profile = { 0 };
		add_head(x, type, &profile);
		for (size_t i = 0; i < nr; i++)
			if (p->weights.at[order[i]].type == type)
				add_sample(x, &p->weights.at[order[i]], &profile);
		pb_add_bytes(&scope, SCOPE_PROFILES, profile.at, profile.len);
	}
	add_resource(p, &p->labels.at[p->weights.at[order[0]].labels], &resource);
	pb_add_bytes(&resource, RESOURCE_SCOPES, scope.at, scope.len);
	pb_add_bytes(out, REQUEST_RESOURCE, resource.at, resource.len);
}

static int by_process(const void *a, const void *b, void *profile)
{
	const struct profile *p = profile;
	const struct weight *x = &p->weights.at[*(const u32 *)a];
	const struct weight *y = &p->weights.at[*(const u32 *)b];
	int order = compare_processes(&p->labels.at[x->labels], &p->labels.at[y->labels]);

	if (order)
		return order;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->labels < y->labels ? -1 : x->labels > y->labels;
}

static void add_texts(struct otlp *x)
{
	for (size_t i = 0; i < x->texts.all.nr; i++) {
		ProtobufCBinaryData text = { strlen(x->texts.all.at[i]), (u8 *)x->texts.all.at[i] };
		Otlp__Dictionary fields = OTLP__DICTIONARY__INIT;
		fields.n_texts = 1;
		fields.texts = &text;
		pb_add(&x->dictionary, &fields);
	}
}

int otlp_write(const struct profile *p, FILE *out)
{
	struct otlp x = { .p = p };
	auto_str struct str request = { 0 };
	size_t nr;
	auto_free u32 *order = weights_in_order(p, &nr);

	qsort_r(order, nr, sizeof(order[0]), by_process, (void *)p);
	texts_init(&x.texts);
	texts_init(&x.values);
	texts_init(&x.links);
	add_nothings(&x);
	for (size_t i = 0, end; i < nr; i = end) {
		for (end = i + 1; end < nr && is_same_process(p, order[i], order[end]);)
			end++;
		add_process(&x, order + i, end - i, &request);
	}
	add_texts(&x);
	pb_add_bytes(&request, REQUEST_DICTIONARY, x.dictionary.at, x.dictionary.len);
	fwrite(request.at, 1, request.len, out);

	str_fini(&x.dictionary);
	texts_fini(&x.texts);
	texts_fini(&x.values);
	texts_fini(&x.links);
	dict_fini(&x.mappings);
	dict_fini(&x.locations);
	dict_fini(&x.functions);
	dict_fini(&x.stacks);
	dict_fini(&x.attributes);
	vec_fini(&x.path);
	return 0;
}
