/* SPDX-License-Identifier: Apache-2.0 */
/* A profile's description as the JSON of the META section. */
#include "export/format/meta.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/auto.h"
#include "base/str.h"
#include "export/format/traces.h"
#include "export/format/varint.h"
#include "profile/diff.h"

#define TEXT_MAX  65535
#define TYPES_MAX 1000 /* limit, because each lookup scans all */

static void add_text(json_t *object, const char *key, const char *text)
{
	if (text && *text)
		json_object_set_new(object, key, json_string(text));
}

static void add_number(json_t *object, const char *key, u64 number)
{
	if (number)
		json_object_set_new(object, key, json_integer((json_int_t)number));
}

static json_t *types_of(const struct profile *p)
{
	json_t *types = json_array();

	vec_each(t, &p->types) {
		json_t *type = json_object();
		json_object_set_new(type, "name", json_string(t->name));
		json_object_set_new(type, "unit", json_string(t->unit));
		add_text(type, "role", diff_role_name(t->role));
		json_array_append_new(types, type);
	}
	return types;
}

static void add_note(json_t *notes, const char *key, const char *text, u64 value)
{
	json_t *note = json_object();

	json_object_set_new(note, "key", json_string(key));
	json_object_set_new(note, "text", json_string(text));
	json_object_set_new(note, "value", json_integer((json_int_t)value));
	json_array_append_new(notes, note);
}

/* Traces may have been left out before, when another file was written. */
static json_t *notes_of(const struct profile *p, u64 nr_traces_out)
{
	json_t *notes = json_array();

	vec_each(n, &p->notes) {
		bool is_it = nr_traces_out && !strcmp(n->key, TRACES_LEFT_OUT);
		if (is_it)
			nr_traces_out += n->value;
		else
			add_note(notes, n->key, n->text, n->value);
	}
	if (nr_traces_out)
		add_note(notes, TRACES_LEFT_OUT, TRACES_LEFT_OUT_TEXT, nr_traces_out);
	return notes;
}

static json_t *dims_of(const struct profile *p, const struct labelsets *sets)
{
	json_t *dims = json_array();

	for (int i = 0; i < sets->nr_dims; i++) {
		json_t *dim = json_pack("{ss}", "name", labelsets_dim_name(sets->dims[i]));
		if (sets->dims[i] == LABEL_TIME)
			add_number(dim, "width_ns", p->slot_ns);
		json_array_append_new(dims, dim);
	}
	return dims;
}

void meta_encode(const struct profile *p, const char *tool, const struct labelsets *sets,
		 struct str *out)
{
	json_t *meta = json_object();

	add_text(meta, "tool", tool);
	add_text(meta, "title", p->title);
	json_object_set_new(meta, "types", types_of(p));
	if (sets->nr)
		json_object_set_new(meta, "dims", dims_of(p, sets));
	/* As text, because nanoseconds since 1970 exceed 2^53. */
	if (p->start_wall_ns) {
		auto_str struct str start = { 0 };
		str_addf(&start, "%llu", (unsigned long long)p->start_wall_ns);
		add_text(meta, "start_ns", start.at);
	}
	add_number(meta, "duration_ns", p->duration_ns);
	if (p->rate_hz > 0)
		json_object_set_new(meta, "rate_hz", json_real(p->rate_hz));
	add_text(meta, "host", p->host);
	add_text(meta, "target", p->target);
	add_text(meta, "view", p->view);
	if (p->notes.nr || sets->nr_traces_out)
		json_object_set_new(meta, "notes", notes_of(p, sets->nr_traces_out));

	char *text = json_dumps(meta, JSON_COMPACT | JSON_REAL_PRECISION(15));
	str_add(out, text ? text : "{\"types\":[]}");
	free(text);
	json_decref(meta);
}

/* Cleans a text of the file, because it may be printed on a terminal. */
static char *cleaned(const char *text)
{
	struct str clean = { 0 };

	utf8_clean(&clean, text, TEXT_MAX);
	return str_take(&clean);
}

static void take_text(char **field, const json_t *value)
{
	if (!json_is_string(value))
		return;
	free(*field);
	*field = cleaned(json_string_value(value));
}

static u64 number_of(const json_t *value)
{
	json_int_t number = json_integer_value(value);

	return number > 0 && (u64)number <= VARINT_MAX ? (u64)number : 0;
}

static void take_notes(struct profile *p, const json_t *notes)
{
	size_t i;
	const json_t *note;

	json_array_foreach(notes, i, note)
	{
		const char *key = json_string_value(json_object_get(note, "key"));
		const char *text = json_string_value(json_object_get(note, "text"));
		if (!key || !text)
			continue;
		auto_free char *clean_key = cleaned(key), *clean = cleaned(text);
		profile_note(p, clean_key, clean, number_of(json_object_get(note, "value")));
	}
}

static int take_types(struct meta_types *types, const json_t *list)
{
	size_t i;
	const json_t *type;

	json_array_foreach(list, i, type)
	{
		const char *name = json_string_value(json_object_get(type, "name"));
		const char *unit = json_string_value(json_object_get(type, "unit"));
		if (!name || !unit || i == TYPES_MAX)
			return -EINVAL;
		vec_push(&types->all,
			 (struct value_type){
				 cleaned(name), cleaned(unit),
				 diff_role_of(json_string_value(json_object_get(type, "role"))) });
	}
	return types->all.nr ? 0 : -EINVAL;
}

/* Files that do not name their dimensions have process and thread. */
static void take_dims(struct profile *p, struct meta_types *types, const json_t *list)
{
	size_t i;
	const json_t *dim;

	json_array_foreach(list, i, dim)
	{
		const char *name = json_string_value(json_object_get(dim, "name"));
		vec_push(&types->dims, name ? labelsets_dim_find(name) : -1);
		if (name && labelsets_dim_find(name) == LABEL_TIME)
			p->slot_ns = number_of(json_object_get(dim, "width_ns"));
	}
	if (!types->dims.nr) {
		vec_push(&types->dims, LABEL_COMM);
		vec_push(&types->dims, LABEL_THREAD);
	}
}

int meta_decode(struct profile *p, const char *json, size_t len, struct meta_types *types)
{
	json_t *meta = json_loadb(json, len, 0, NULL);
	int err = take_types(types, json_object_get(meta, "types"));

	if (!err) {
		const char *start = json_string_value(json_object_get(meta, "start_ns"));
		take_text(&p->title, json_object_get(meta, "title"));
		take_text(&p->host, json_object_get(meta, "host"));
		take_text(&p->target, json_object_get(meta, "target"));
		take_text(&p->view, json_object_get(meta, "view"));
		take_notes(p, json_object_get(meta, "notes"));
		take_dims(p, types, json_object_get(meta, "dims"));
		p->start_wall_ns = start ? strtoull(start, NULL, 10) : 0;
		p->duration_ns = number_of(json_object_get(meta, "duration_ns"));
		p->rate_hz = json_number_value(json_object_get(meta, "rate_hz"));
	}
	json_decref(meta);
	return err;
}

void meta_types_free(struct meta_types *types)
{
	vec_each(t, &types->all) {
		free(t->name);
		free(t->unit);
	}
	vec_fini(&types->all);
	vec_fini(&types->dims);
}
