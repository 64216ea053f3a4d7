/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of samples by name. */
#include "export/interchange/named_label.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/opt.h"
#include "base/str.h"
#include "export/format/labelset.h"
#include "export/interchange/tags.h"

#define TAG_PREFIX "label:"

static char *tag_value(const struct labels *l, const char *key)
{
	const char *at = l->tags;
	struct tag tag;

	while (tag_next(&at, &tag)) {
		bool is_it = !strcmp(tag.key, key);
		char *value = !is_it          ? NULL
			      : tag.is_number ? xasprintf("%lld", (long long)tag.number)
					      : xstrdup(tag.text);
		tag_fini(&tag);
		if (is_it)
			return value;
	}
	return NULL;
}

static bool has_tag(const struct profile *p, const char *key)
{
	vec_each(l, &p->labels) {
		auto_free char *value = tag_value(l, key);
		if (value)
			return true;
	}
	return false;
}

static bool has_dim(const struct profile *p, int dim)
{
	if (dim < 0 || dim == LABEL_TIME || dim == LABEL_JVM)
		return false;
	vec_each(l, &p->labels)
		if (*l->text[dim])
			return true;
	return false;
}

/* The part of a name after "label:", NULL if it has none. */
static const char *without_prefix(const char *name)
{
	return strncmp(name, TAG_PREFIX, strlen(TAG_PREFIX)) ? NULL : name + strlen(TAG_PREFIX);
}

bool named_label_find(const struct profile *p, const char *name, struct named_label *out)
{
	const char *tag = without_prefix(name);
	int dim = labelsets_dim_find(tag ?: name);
	bool is_dim = has_dim(p, dim);

	*out = (struct named_label){ .dim = -1 };
	if ((tag || !is_dim) && has_tag(p, tag ?: name))
		out->tag = tag ?: name;
	else if (is_dim)
		out->dim = dim;
	return out->tag || is_dim;
}

char *named_label_shown(const struct labels *l, const struct named_label *label)
{
	return label->dim < 0 ? tag_value(l, label->tag)
			      : labelsets_shown(l, (enum label)label->dim);
}

bool named_label_is_choice(const char *text)
{
	return *text != '=' && strchr(text, '=');
}

/* A process may be chosen by its name without its number, too. */
static bool has(const struct labels *l, const char *choice)
{
	auto_free char *name = xstrndup(choice, strcspn(choice, "="));
	const char *value = choice + strlen(name) + 1, *tag = without_prefix(name);
	int dim = labelsets_dim_find(tag ?: name);
	auto_free char *own = dim >= 0 ? labelsets_text(l, (enum label)dim) : NULL;

	if (own && (!strcmp(own, value) || !strcmp(l->text[dim], value)))
		return true;
	auto_free char *other = tag || dim < 0 ? tag_value(l, tag ?: name) : NULL;
	return other && !strcmp(other, value);
}

bool named_labels_match(const struct labels *l, const void *list)
{
	const struct opt_list *all = list;

	vec_each(one, all)
		if (!has(l, *one))
			return false;
	return true;
}
