/* SPDX-License-Identifier: Apache-2.0 */
/* Settings and the audit list. Part of web/api/api.h. */
#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/str.h"
#include "base/time.h"
#include "web/api/api.h"
#include "web/http/route.h"
#include "web/recordings/service.h"

#define AUDIT_MAX 500

enum setting_type {
	SETTING_TEXT,   /* of at most `max` bytes */
	SETTING_TEXTS,  /* a list of at most LINES_MAX such texts */
	SETTING_CHOICE, /* one of the words in `choices` */
	SETTING_NUMBER, /* within [min, max] */
	SETTING_OBJECT, /* has the fields that are listed for its name */
};

#define LINES_MAX 200

struct setting_field {
	const char *of, *name;
	enum setting_type type;
	u64 min, max;
	const char *choices; /* each between spaces */
};

/*
 * The schema of the settings, as docs/api.yaml has it. `of` is the key of a setting, or the name of
 * an object in one. Every field may be missing: a setting that was never changed is {}.
 */
static const struct setting_field setting_fields[] = {
	{ "defaults", "events", SETTING_TEXT, 0, 255, NULL },
	{ "defaults", "target", SETTING_OBJECT, 0, 0, NULL },
	{ "defaults", "kind", SETTING_CHOICE, 0, 0,
	  " node jvms jvm pid comm user container pod cgroup " },
	{ "defaults", "rate_hz", SETTING_NUMBER, 1, 10000, NULL },
	{ "defaults", "duration_s", SETTING_NUMBER, 0, 7 * 24 * 3600, NULL },
	{ "target", "kind", SETTING_CHOICE, 0, 0,
	  " node pid comm user jvms cgroup container pod " },
	{ "target", "text", SETTING_TEXT, 0, 511, NULL },
	{ "transforms", "lines", SETTING_TEXTS, 0, 4000, NULL },
};

/* The field that breaks the schema. */
struct setting_fault {
	const struct setting_field *field; /* NULL: there is no such field */
	const char *name;                  /* lives as long as the value */
};

static bool is_text(const json_t *v, size_t max)
{
	return json_is_string(v) && json_string_length(v) == strlen(json_string_value(v)) &&
	       utf8_is_clean(json_string_value(v), max);
}

static bool are_texts(const json_t *v, size_t max)
{
	bool is_right = json_is_array(v) && json_array_size(v) <= LINES_MAX;

	for (size_t i = 0; is_right && i < json_array_size(v); i++)
		is_right = is_text(json_array_get(v, i), max);
	return is_right;
}

static bool is_choice(const json_t *v, const char *choices)
{
	if (!is_text(v, 32) || strchr(json_string_value(v), ' '))
		return false;
	auto_free char *word = xasprintf(" %s ", json_string_value(v));
	return strstr(choices, word);
}

static bool is_within(const json_t *v, u64 min, u64 max)
{
	json_int_t n = json_integer_value(v);

	return json_is_integer(v) && n >= (json_int_t)min && n <= (json_int_t)max;
}

static bool setting_is_right(const char *of, const json_t *o, struct setting_fault *fault);

static bool field_is_right(const struct setting_field *f, const json_t *v,
			   struct setting_fault *fault)
{
	switch (f->type) {
	case SETTING_TEXT:
		return is_text(v, f->max);
	case SETTING_TEXTS:
		return are_texts(v, f->max);
	case SETTING_CHOICE:
		return is_choice(v, f->choices);
	case SETTING_NUMBER:
		return is_within(v, f->min, f->max);
	case SETTING_OBJECT:
		return json_is_object(v) && setting_is_right(f->name, v, fault);
	}
	return false;
}

/* Checks an object. `fault` describes the innermost object that breaks the schema. */
static bool setting_is_right(const char *of, const json_t *o, struct setting_fault *fault)
{
	const char *name;
	json_t *v;

	json_object_foreach((json_t *)o, name, v)
	{
		const struct setting_field *f = NULL;
		for (size_t i = 0; i < ARRAY_SIZE(setting_fields); i++)
			if (!strcmp(setting_fields[i].of, of) &&
			    !strcmp(setting_fields[i].name, name))
				f = &setting_fields[i];
		if (f && field_is_right(f, v, fault))
			continue;
		if (!fault->name)
			*fault = (struct setting_fault){ f, name };
		return false;
	}
	return true;
}

static void reply_fault(struct request *q, const struct setting_fault *fault)
{
	const struct setting_field *f = fault->field;
	const char *name = fault->name;

	if (!f)
		reply_error(q, ERROR_BAD_REQUEST, NULL,
			    "The setting \"%s\" has no field \"%.64s\".", q->word, name);
	else if (f->type == SETTING_NUMBER)
		reply_error(q, ERROR_OUT_OF_RANGE, name,
			    "\"%s\" must be a whole number between %llu and %llu.", name,
			    (unsigned long long)f->min, (unsigned long long)f->max);
	else if (f->type == SETTING_CHOICE)
		reply_error(q, ERROR_BAD_REQUEST, name, "\"%s\" must be one of:%.*s.", name,
			    (int)strlen(f->choices) - 1, f->choices);
	else if (f->type == SETTING_OBJECT)
		reply_error(q, ERROR_BAD_REQUEST, name, "\"%s\" must be an object.", name);
	else
		reply_error(q, ERROR_BAD_REQUEST, name,
			    "\"%s\" must be %s of at most %llu bytes and without control "
			    "characters%s.",
			    name, f->type == SETTING_TEXT ? "a text" : "a list of texts, each",
			    (unsigned long long)f->max,
			    f->type == SETTING_TEXT ? "" : ", and have at most 200 of them");
}

static bool key_is_known(struct request *q)
{
	for (size_t i = 0; i < ARRAY_SIZE(setting_fields); i++)
		if (!strcmp(setting_fields[i].of, q->word) && strcmp(q->word, "target"))
			return true;
	reply_error(q, ERROR_UNKNOWN_ID, NULL, "There is no setting \"%s\".", q->word);
	return false;
}

/* Earlier versions kept any object. */
void api_setting(struct request *q)
{
	struct setting_fault fault = { 0 };

	if (!key_is_known(q))
		return;
	auto_free char *text = store_setting(q->service->store, q->word);
	json_t *value = text ? json_loads(text, 0, NULL) : NULL;
	if (!json_is_object(value) || !setting_is_right(q->word, value, &fault)) {
		json_decref(value);
		value = json_object();
	}
	reply_json(q, 200, value);
}

void api_set_setting(struct request *q)
{
	struct setting_fault fault = { 0 };

	if (!key_is_known(q))
		return;
	if (!setting_is_right(q->word, q->json, &fault)) {
		reply_fault(q, &fault);
		return;
	}
	auto_free char *text = json_dumps(q->json, JSON_COMPACT);
	int err = strlen(text) > BODY_JSON_MAX
			  ? -EFBIG
			  : store_set_setting(q->service->store, q->word, text);
	if (err) {
		reply_errno(q, err, "keep the setting");
		return;
	}
	auto_free char *what = xasprintf("change the setting %s", q->word);
	store_audit(q->service->store, request_who(q), what);
	reply_json(q, 200, json_object());
}

void api_audit(struct request *q)
{
	struct store_audit_list l = { 0 };
	json_t *list = json_array();
	int err = store_audit_read(q->service->store, AUDIT_MAX, &l);

	if (err) {
		json_decref(list);
		reply_errno(q, err, "read the audit list");
		return;
	}
	vec_each(e, &l.list)
		json_array_append_new(list, json_pack("{s:I,s:s,s:s}", "at_ms",
						      (json_int_t)(e->at_ns / NS_PER_MS), "who",
						      e->who, "what", e->what));
	store_audit_list_fini(&l);
	reply_json(q, 200, list);
}
