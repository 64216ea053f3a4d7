/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the collapsed text format: "root;...;leaf COUNT", one line per stack, sorted. A comparison
 * has "root;...;leaf BEFORE AFTER".
 * Part of export/writers/writer.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/dict.h"
#include "base/str.h"
#include "export/writers/writer.h"
#include "profile/diff.h"

struct line {
	char *stack;
	u64 value, before; /* `before` is used in comparisons */
};

struct line_reader {
	VEC(struct line) all;
};

/* A ';' separates frames and a newline ends a stack, therefore names must not contain them. */
static void add_name(struct str *out, const char *name)
{
	for (; *name; name++)
		str_add_char(out, *name == ';' ? ':' : *name);
}

/* async-profiler's suffix for a kind; "" for kinds that it does not mark. */
static const char *mark_of(enum frame_kind kind)
{
	switch (kind) {
	case FRAME_INTERPRETED:
		return "_[0]";
	case FRAME_C1:
		return "_[1]";
	case FRAME_C2:
		return "_[j]";
	case FRAME_INLINED:
		return "_[i]";
	case FRAME_KERNEL:
		return "_[k]";
	default:
		return "";
	}
}

static char *stack_text(const struct profile *p, node_id leaf, bool has_marks)
{
	VEC(node_id) path = { 0 };
	struct str text = { 0 };

	for (node_id n = leaf; n; n = p->nodes.at[n].parent)
		vec_push(&path, n);
	while (path.nr) {
		const struct frame *f =
			frames_get(p->frames, p->nodes.at[path.at[--path.nr]].frame);
		add_name(&text, f->name);
		if (has_marks)
			str_add(&text, mark_of(f->kind));
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

/* Collects one line per stack with a weight, summed over all labels, sorted. */
static void gather(const struct profile *p, bool has_marks, struct line_reader *lines)
{
	struct dict line_of = { 0 }; /* node -> line + 1 */
	bool is_diff = profile_is_diff(p);

	vec_each(w, &p->weights) {
		if (w->type > is_diff || !w->value)
			continue;
		u64 *line = dict_add(&line_of, w->node);
		if (!*line) {
			vec_push(&lines->all,
				 (struct line){ .stack = stack_text(p, w->node, has_marks) });
			*line = lines->all.nr;
		}
		struct line *l = &lines->all.at[*line - 1];
		*(w->type ? &l->before : &l->value) += w->value;
	}
	dict_fini(&line_of);
	if (lines->all.nr)
		qsort(lines->all.at, lines->all.nr, sizeof(lines->all.at[0]), by_stack);
}

static void print_all(const struct profile *p, struct line_reader *lines, FILE *out)
{
	struct line *all = lines->all.at;

	for (size_t i = 0, next; i < lines->all.nr; i = next) {
		struct line sum = all[i];
		/* Frames with one name but different kinds share a line. */
		for (next = i + 1; next < lines->all.nr && !strcmp(all[i].stack, all[next].stack);
		     next++) {
			sum.value += all[next].value;
			sum.before += all[next].before;
			free(all[next].stack);
		}
		fprintf(out, "%s ", sum.stack);
		if (profile_is_diff(p))
			fprintf(out, "%llu ", (unsigned long long)sum.before);
		fprintf(out, "%llu\n", (unsigned long long)sum.value);
		free(sum.stack);
	}
}

static int write_lines(const struct profile *p, bool has_marks, FILE *out)
{
	struct line_reader lines = { 0 };

	gather(p, has_marks, &lines);
	print_all(p, &lines, out);
	vec_fini(&lines.all);
	return 0;
}

int collapsed_write(const struct profile *p, FILE *out)
{
	return write_lines(p, false, out);
}

int annotated_write(const struct profile *p, FILE *out)
{
	return write_lines(p, true, out);
}
