/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces names that must not leave the recorder. */
#include "daemon/recorder/redaction.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "export/interchange/tags.h"
#include "profile/frames/pattern.h"

#define PATTERN_MAX 256
#define SEARCH_NS   (200 * NS_PER_MS) /* time for all names of a profile */

struct redaction {
	VEC(char *) texts;
	VEC(struct pattern) patterns;
};

struct redaction *redaction_new(void)
{
	return xcalloc(1, sizeof(struct redaction));
}

static void empty(struct redaction *r)
{
	vec_each(p, &r->patterns)
		pattern_fini(p);
	vec_each(text, &r->texts)
		free(*text);
	vec_fini(&r->patterns);
	vec_fini(&r->texts);
}

void redaction_free(struct redaction *r)
{
	if (!r)
		return;
	empty(r);
	free(r);
}

int redaction_check(const char *pattern, struct str *why)
{
	struct pattern p;

	if (!*pattern || strlen(pattern) > PATTERN_MAX) {
		str_addf(why, "a pattern has 1 to %d bytes", PATTERN_MAX);
		return -EINVAL;
	}
	int err = pattern_init(&p, pattern, why);
	if (!err)
		pattern_fini(&p);
	return err;
}

static int add(struct redaction *r, const char *line, struct str *why)
{
	struct pattern p;

	if (r->patterns.nr == REDACTION_MAX) {
		str_addf(why, "there are more than %d patterns", REDACTION_MAX);
		return -EINVAL;
	}
	char *own = xstrdup(line);
	vec_push(&r->texts, own);
	int err = redaction_check(own, why) ?: pattern_init(&p, own, why);
	if (!err)
		vec_push(&r->patterns, p);
	return err;
}

int redaction_set(struct redaction *r, const char *const *texts, size_t nr, struct str *why)
{
	struct redaction new = { 0 };
	int err = 0;

	for (size_t i = 0; !err && i < nr; i++) {
		auto_free char *lines = xstrdup(texts[i]);
		char *rest = lines, *line;
		while (!err && (line = strsep(&rest, "\n")))
			err = *line ? add(&new, line, why) : 0;
	}
	if (err) {
		empty(&new);
		return err;
	}
	empty(r);
	*r = new;
	return 0;
}

/*
 * Whether the name matches a pattern. A search that takes too long counts as a match: a name can be
 * made to cause that.
 */
static bool matches(const struct redaction *r, const char *text)
{
	if (!text || !*text)
		return false;
	vec_each(p, &r->patterns)
		if (pattern_is_in_name(p, text))
			return true;
	return false;
}

static void begin(const struct redaction *r)
{
	u64 end_ns = time_mono_ns() + SEARCH_NS;

	vec_each(p, &r->patterns)
		pattern_set_end(p, end_ns);
}

const char *redaction_text(const struct redaction *r, const char *text)
{
	begin(r);
	return matches(r, text) ? REDACTED : text;
}

void redaction_field(const struct redaction *r, char *field, size_t size)
{
	if (redaction_text(r, field) != field)
		copy_text(field, size, REDACTED);
}

static void redact_owned(const struct redaction *r, char **text)
{
	if (!matches(r, *text))
		return;
	free(*text);
	*text = xstrdup(REDACTED);
}

/* A redacted frame keeps its kind only: module, file and line could tell its name. */
static frame_id redact_frame(const struct redaction *r, const struct profile *p, frame_id id,
			     struct frames *to)
{
	const struct frame *f = frames_get(p->frames, id);

	if (matches(r, f->name))
		return frames_intern(to, f->kind, REDACTED, "");
	if (!matches(r, f->module) && !matches(r, f->file))
		return frames_copy(to, f);
	auto_free char *name = frame_function(f);
	return frames_intern(to, f->kind, name, matches(r, f->module) ? REDACTED : f->module);
}

/* Tags are matched one by one, without the escapes of their text (export/interchange/tags.h). */
static bool tag_matches(const struct redaction *r, const struct tag *t)
{
	auto_free char *whole = xasprintf("%s=%s", t->key, t->text);

	return matches(r, whole) || matches(r, t->unit);
}

static bool label_matches(const struct redaction *r, const struct labels *l, int label)
{
	const char *text = l->text[label];
	bool result = matches(r, text);
	struct tag tag;

	while (label == LABEL_TAGS && text && !result && tag_next(&text, &tag)) {
		result = tag_matches(r, &tag);
		tag_fini(&tag);
	}
	return result;
}

/* Each tag that matches keeps its key, unless that matches, too. The caller frees the text. */
static char *redact_tags(const struct redaction *r, const char *text)
{
	struct tags all = { 0 };
	struct tag tag;

	for (size_t nr = 0; nr < TAGS_MAX && tag_next(&text, &tag); nr++) {
		bool is_key = matches(r, tag.key), is_hit = tag_matches(r, &tag);
		const char *key = is_key ? REDACTED : tag.key;
		if (is_hit && (!is_key || matches(r, tag.text)))
			tags_add_text(&all, key, REDACTED);
		else if (tag.is_number)
			tags_add_number(&all, key, tag.number, tag.unit);
		else
			tags_add_text(&all, key, tag.text);
		tag_fini(&tag);
	}
	return tags_take(&all);
}

static labels_id redact_labels(const struct redaction *r, const struct labels *l,
			       struct profile *to)
{
	struct labels own = *l;
	auto_free char *tags = label_matches(r, l, LABEL_TAGS) ? redact_tags(r, l->tags) : NULL;

	for (int i = 0; i < NR_LABELS; i++)
		if (matches(r, l->text[i]))
			own.text[i] = REDACTED;
	own.tags = tags ?: l->tags;
	return profile_intern_labels(to, &own);
}

static bool is_touched(const struct redaction *r, const struct profile *p)
{
	for (frame_id id = 0; id < frames_nr(p->frames); id++) {
		const struct frame *f = frames_get(p->frames, id);
		if (matches(r, f->name) || matches(r, f->module) || matches(r, f->file))
			return true;
	}
	vec_each(l, &p->labels)
		for (int i = 0; i < NR_LABELS; i++)
			if (label_matches(r, l, i))
				return true;
	return false;
}

/* Stacks and label sets that became equal are joined. */
static void rebuild(const struct redaction *r, struct profile *p)
{
	auto_profile struct profile *q = profile_new();
	auto_free node_id *nodes = xcalloc(p->nodes.nr + 1, sizeof(nodes[0]));
	auto_free labels_id *labels = xcalloc(p->labels.nr + 1, sizeof(labels[0]));
	auto_free frame_id *frames = xcalloc(frames_nr(p->frames) + 1, sizeof(frames[0]));

	if (frames_keeps_lines(p->frames))
		frames_keep_lines(q->frames);
	vec_each(t, &p->types) {
		u32 type = profile_add_type(q, t->name, t->unit);
		q->types.at[type].role = t->role;
	}
	for (frame_id id = 0; id < frames_nr(p->frames); id++)
		frames[id] = redact_frame(r, p, id, q->frames);
	for (labels_id id = 0; id < p->labels.nr; id++)
		labels[id] = redact_labels(r, &p->labels.at[id], q);
	for (node_id n = 1; n < p->nodes.nr; n++)
		nodes[n] = profile_child(q, nodes[p->nodes.at[n].parent],
					 frames[p->nodes.at[n].frame]);
	vec_each(w, &p->weights)
		profile_add(q, nodes[w->node], labels[w->labels], w->type, w->value);
	profile_swap_stacks(p, q);
}

void redaction_profile(const struct redaction *r, struct profile *p)
{
	if (!r->patterns.nr)
		return;
	begin(r);
	vec_each(n, &p->notes)
		redact_owned(r, &n->text);
	redact_owned(r, &p->title);
	redact_owned(r, &p->target);
	if (is_touched(r, p))
		rebuild(r, p);
}
