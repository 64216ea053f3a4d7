/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms as text: as users write them and as links of the page contain them. */
#include "profile/transform.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "profile/frames/pattern.h"

#define WORD_MAX 2000 /* bytes of a pattern; the page limits characters */

/* Links contain the key; buttons of the page show the name. */
struct verb {
	const char *key, *name;
	bool has_to;
};

static const struct verb verbs[NR_TRANSFORM_VERBS] = {
	[TRANSFORM_FILTER] = { "filter", "only", false },
	[TRANSFORM_REMOVE] = { "remove", "hide", false },
	[TRANSFORM_FOCUS] = { "focus", "focus", false },
	[TRANSFORM_DROP] = { "drop", "merge", false },
	[TRANSFORM_ABOVE] = { "above", "cut above", false },
	[TRANSFORM_BELOW] = { "below", "cut below", false },
	[TRANSFORM_RECURSION] = { "recursion", "collapse", false },
	[TRANSFORM_GAPS] = { "gaps", "collapse gaps", false },
	[TRANSFORM_FOLD] = { "fold", "fold", true },
	[TRANSFORM_REPLACE] = { "replace", "replace", true },
	[TRANSFORM_JOIN] = { "join", "join", true },
};

static int refuse(struct str *why, const char *what)
{
	str_add(why, what);
	return -EINVAL;
}

void transforms_fini(struct transforms *list)
{
	vec_each(t, &list->all) {
		free(t->what);
		free(t->to);
	}
	vec_fini(&list->all);
}

int transforms_check(const struct transforms *list, struct str *why)
{
	vec_each(t, &list->all) {
		struct pattern p;
		int err = pattern_init(&p, t->what, why);
		pattern_fini(&p);
		if (!err && t->verb == TRANSFORM_FOLD) {
			err = pattern_init(&p, t->to, why);
			pattern_fini(&p);
		}
		if (err)
			return err;
	}
	return 0;
}

static int add(struct transforms *out, const struct transform *t, struct str *why)
{
	if (out->all.nr == TRANSFORMS_MAX)
		return refuse(why, "there are more than 50 transforms");
	if (!utf8_is_clean(t->what, WORD_MAX) || !utf8_is_clean(t->to, WORD_MAX))
		return refuse(why, "a pattern is longer than 2,000 bytes or is not valid UTF-8");
	struct transform own = *t;
	own.what = xstrdup(t->what);
	own.to = xstrdup(t->to);
	vec_push(&out->all, own);
	return 0;
}

static const char *word_at(const json_t *item, size_t index)
{
	const json_t *word = json_array_get(item, index);

	return word ? json_string_value(word) : "";
}

static int add_item(struct transforms *out, const json_t *item, struct str *why)
{
	const char *key = word_at(item, 0), *what = word_at(item, 1), *to = word_at(item, 2);

	for (int verb = 0; key && verb < NR_TRANSFORM_VERBS; verb++)
		if (!strcmp(key, verbs[verb].key) && what && to)
			return add(out,
				   &(struct transform){
					   (enum transform_verb)verb, (char *)what, (char *)to,
					   json_integer_value(json_array_get(item, 3)) == 1 },
				   why);
	return refuse(why, "in a list each transform is [\"VERB\",\"WHAT\",\"TO\",1 if off]");
}

static int parse_list(const char *text, struct transforms *out, struct str *why)
{
	json_error_t fault;
	json_t *list = json_loads(text, 0, &fault);
	const json_t *item;
	size_t i;
	int err = list ? 0 : refuse(why, fault.text);

	json_array_foreach(list, i, item)
	{
		err = add_item(out, item, why);
		if (err)
			break;
	}
	json_decref(list);
	return err;
}

/* Finds the longest verb, by key or name, that `text` begins with. *len gets its length. */
static int find_verb(const char *text, size_t *len)
{
	int found = -1;

	*len = 0;
	for (int verb = 0; verb < NR_TRANSFORM_VERBS; verb++)
		for (int i = 0; i < 2; i++) {
			const char *word = i ? verbs[verb].name : verbs[verb].key;
			size_t n = strlen(word);
			if (n > *len && !strncmp(text, word, n) && (!text[n] || text[n] == ' ')) {
				found = verb;
				*len = n;
			}
		}
	return found;
}

/* Finds the last arrow, because a pattern may contain one. NULL if there is none. */
static const char *find_arrow(const char *text, size_t *len)
{
	static const char *const arrows[] = { " -> ", " \u2192 " };
	const char *last = NULL;

	for (size_t i = 0; i < sizeof(arrows) / sizeof(arrows[0]); i++)
		for (const char *at = text; (at = strstr(at, arrows[i])); at++)
			if (at > last) {
				last = at;
				*len = strlen(arrows[i]);
			}
	return last;
}

int transforms_parse(const char *text, struct transforms *out, struct str *why)
{
	struct transform t = { .to = "" };
	size_t len, arrow_len = 0;

	if (*text == '[')
		return parse_list(text, out, why);
	int verb = find_verb(text, &len);
	if (verb < 0) {
		str_add(why, "must begin with one of ");
		for (int i = 0; i < NR_TRANSFORM_VERBS; i++)
			str_addf(why, "%s%s", i ? ", " : "", verbs[i].key);
		return -EINVAL;
	}
	const char *what = text + len + (text[len] == ' ');
	/* Trimming removes the trailing space of "replace x -> ". */
	auto_str struct str rest = { 0 };
	str_add(&rest, what);
	if (rest.len > 2 && !strcmp(rest.at + rest.len - 3, " ->"))
		str_add_char(&rest, ' ');
	char *arrow = verbs[verb].has_to ? (char *)find_arrow(rest.at, &arrow_len) : NULL;
	if (verbs[verb].has_to && !arrow)
		return refuse(why, "takes WHAT -> TO");
	if (arrow) {
		*arrow = '\0';
		t.to = arrow + arrow_len;
	}
	t.verb = (enum transform_verb)verb;
	t.what = rest.at;
	return add(out, &t, why);
}

void transforms_print(const struct transforms *list, struct str *out)
{
	json_t *all = json_array();

	vec_each(t, &list->all)
		json_array_append_new(all, json_pack("[sssi]", verbs[t->verb].key, t->what, t->to,
						     (int)t->is_off));
	char *text = json_dumps(all, JSON_COMPACT);
	str_add(out, text ?: "[]");
	free(text);
	json_decref(all);
}
