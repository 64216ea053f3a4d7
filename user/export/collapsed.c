/* SPDX-License-Identifier: Apache-2.0 */
/* The collapsed text format: "root;...;leaf COUNT", one line per stack, sorted. */
#include <stdlib.h>
#include <string.h>

#include "base/dict.h"
#include "base/str.h"
#include "export/export.h"

struct line {
	char *stack;
	u64 value;
};

/* A ';' separates frames and a line ends a stack, so neither may stand in a name. */
static void add_name(struct str *out, const char *name)
{
	for (; *name; name++)
		str_add_char(out, *name == ';' ? ':' : *name);
}

static char *stack_text(const struct profile *p, node_id leaf)
{
	VEC(node_id) path = { 0 };
	struct str text = { 0 };

	for (node_id n = leaf; n; n = p->nodes.at[n].parent)
		vec_push(&path, n);
	while (path.nr) {
		node_id n = path.at[--path.nr];
		add_name(&text, frames_get(p->frames, p->nodes.at[n].frame)->name);
		if (path.nr)
			str_add_char(&text, ';');
	}
	vec_fini(&path);
	return str_take(&text);
}

static int by_stack(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->stack, ((const struct line *)b)->stack);
}

int collapsed_write(const struct profile *p, FILE *out)
{
	struct dict self = { 0 }; /* node -> value of the first type, over all labels */
	VEC(struct line) lines = { 0 };

	vec_each(w, &p->weights)
		if (w->type == 0 && w->value && w->node) /* without frames there is no line */
			*dict_add(&self, w->node) += w->value;
	dict_each(slot, &self)
		vec_push(&lines, (struct line){ stack_text(p, (node_id)slot->key), slot->value });
	dict_fini(&self);

	if (lines.nr)
		qsort(lines.at, lines.nr, sizeof(lines.at[0]), by_stack);
	for (size_t i = 0; i < lines.nr; i++) {
		u64 value = lines.at[i].value;
		/* Frames of one name but different kinds are one line. */
		for (; i + 1 < lines.nr && !strcmp(lines.at[i].stack, lines.at[i + 1].stack); i++) {
			value += lines.at[i + 1].value;
			free(lines.at[i].stack);
		}
		fprintf(out, "%s %llu\n", lines.at[i].stack, (unsigned long long)value);
		free(lines.at[i].stack);
	}
	vec_fini(&lines);
	return 0;
}
