/* SPDX-License-Identifier: Apache-2.0 */
/* Labels as the first frame of a stack. */
#include "export/interchange/label_frame.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/dict.h"
#include "base/str.h"
#include "export/format/labelset.h"
#include "export/interchange/tags.h"

#define TAG_PREFIX "label:"

/* A ';' ends a frame in collapsed text. */
static char *framed(const char *tags)
{
	struct str name = { 0 };

	str_add_char(&name, '{');
	for (; *tags; tags++)
		if (*tags == ';')
			str_add(&name, "%3B");
		else
			str_add_char(&name, *tags);
	str_add_char(&name, '}');
	return str_take(&name);
}

char *label_frame_make(const struct labels *l, const struct named_label *all,
		       const char *const *names, size_t nr)
{
	struct tags tags = { 0 };

	for (size_t i = 0; i < nr; i++) {
		auto_free char *value = named_label_shown(l, &all[i]);
		if (value && *value)
			tags_add_text(&tags, names[i], value);
	}
	auto_free char *text = tags_take(&tags);
	return framed(text);
}

static bool is_label_frame(const char *name)
{
	size_t len = strlen(name);

	return len >= 2 && name[0] == '{' && name[len - 1] == '}' &&
	       (len == 2 || memchr(name, '=', len));
}

/* Labels with texts of their own. */
struct owned_labels {
	struct labels labels;
	char *texts[NR_LABELS];
	struct tags tags;
};

/* "java-77": the number is that of the process or thread. */
static u32 cut_number(char *text)
{
	char *dash = strrchr(text, '-'), *end;
	u64 number = dash ? strtoull(dash + 1, &end, 10) : 0;

	if (!number || number > INT32_MAX || *end)
		return 0;
	while (dash > text && (dash[-1] == ' ' || dash[-1] == '-'))
		dash--;
	*dash = '\0';
	return (u32)number;
}

static void take_label(struct owned_labels *own, const struct tag *tag)
{
	bool is_tag = !strncmp(tag->key, TAG_PREFIX, strlen(TAG_PREFIX));
	int dim = is_tag ? -1 : labelsets_dim_find(tag->key);

	if (dim < 0 || dim == LABEL_TIME || dim == LABEL_TAGS || tag->is_number) {
		const char *key = tag->key + (is_tag ? strlen(TAG_PREFIX) : 0);
		if (tag->is_number)
			tags_add_number(&own->tags, key, tag->number, tag->unit);
		else
			tags_add_text(&own->tags, key, tag->text);
		return;
	}
	struct str clean = { 0 };
	utf8_clean(&clean, tag->text, 256);
	free(own->texts[dim]);
	own->texts[dim] = str_take(&clean);
	if (dim == LABEL_COMM)
		own->labels.pid = cut_number(own->texts[dim]);
	else if (dim == LABEL_THREAD)
		own->labels.tid = cut_number(own->texts[dim]);
}

static bool is_in_text(enum label label)
{
	return label != LABEL_COMM && label != LABEL_THREAD && label != LABEL_STATE &&
	       label != LABEL_TIME && label != LABEL_TAGS;
}

/* A tag with the name of a label of sysflame gets the prefix. */
static void add_tag(struct tags *tags, const struct tag *tag)
{
	bool is_taken = labelsets_dim_find(tag->key) >= 0;
	auto_free char *key = xasprintf("%s%s", is_taken ? TAG_PREFIX : "", tag->key);

	if (tag->is_number)
		tags_add_number(tags, key, tag->number, tag->unit);
	else
		tags_add_text(tags, key, tag->text);
}

char *label_text_make(const struct labels *l)
{
	const char *at = l->tags ?: "";
	struct tags tags = { 0 };
	struct tag tag;

	for (enum label i = 0; i < NR_LABELS; i++)
		if (is_in_text(i) && l->text[i] && *l->text[i])
			tags_add_text(&tags, labelsets_dim_name(i), l->text[i]);
	while (tag_next(&at, &tag)) {
		add_tag(&tags, &tag);
		tag_fini(&tag);
	}
	return tags_take(&tags);
}

labels_id label_text_intern(struct profile *p, const char *text, const struct labels *base)
{
	struct owned_labels own = { .labels = *base };
	const char *at = text;
	struct tag tag;

	for (int nr = 0; nr < NR_LABELS + TAGS_MAX && tag_next(&at, &tag); nr++) {
		if (*tag.key)
			take_label(&own, &tag);
		tag_fini(&tag);
	}
	free(own.texts[LABEL_TAGS]);
	own.texts[LABEL_TAGS] = tags_take(&own.tags);
	for (int i = 0; i < NR_LABELS; i++)
		own.labels.text[i] = own.texts[i] ?: base->text[i];
	labels_id id = profile_intern_labels(p, &own.labels);
	for (int i = 0; i < NR_LABELS; i++)
		free(own.texts[i]);
	return id;
}

struct taking {
	struct profile *p;
	size_t first_node;
	struct node_list nodes;
	node_id *at;          /* by old node: the new one */
	u64 *labels;          /* by old node: labels_id + 1 of the frame at its root; 0: none */
	struct dict children; /* (new parent << 32 | frame) -> new node */
};

static void move_node(struct taking *t, node_id n)
{
	const struct profile_node *node = &t->p->nodes.at[n];
	const char *name = frames_get(t->p->frames, node->frame)->name;

	if (!node->parent && n >= t->first_node && is_label_frame(name)) {
		auto_free char *text = xstrndup(name + 1, strlen(name) - 2);
		t->labels[n] = label_text_intern(t->p, text, &(struct labels){ 0 }) + 1ull;
		t->at[n] = 0;
		return;
	}
	node_id parent = t->at[node->parent];
	u64 *known = dict_add(&t->children, (u64)parent << 32 | node->frame);
	if (!*known) {
		vec_push(&t->nodes.all, (struct profile_node){ parent, node->frame });
		*known = t->nodes.all.nr - 1;
	}
	t->at[n] = (node_id)*known;
	t->labels[n] = t->labels[node->parent];
}

static bool has_label_frames(const struct profile *p, size_t first_node)
{
	for (size_t n = first_node; n < p->nodes.nr; n++)
		if (!p->nodes.at[n].parent &&
		    is_label_frame(frames_get(p->frames, p->nodes.at[n].frame)->name))
			return true;
	return false;
}

void label_frames_take(struct profile *p, size_t first_node)
{
	struct taking t = { .p = p, .first_node = first_node ?: 1 };

	if (!has_label_frames(p, t.first_node))
		return;
	t.at = xcalloc(p->nodes.nr, sizeof(t.at[0]));
	t.labels = xcalloc(p->nodes.nr, sizeof(t.labels[0]));
	vec_push(&t.nodes.all, p->nodes.at[0]);
	for (size_t n = 1; n < p->nodes.nr; n++)
		move_node(&t, (node_id)n);
	vec_each(w, &p->weights)
		if (t.labels[w->node])
			w->labels = (labels_id)(t.labels[w->node] - 1);
	profile_move(p, &t.nodes, t.at);
	dict_fini(&t.children);
	free(t.at);
	free(t.labels);
}
