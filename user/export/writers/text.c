/* SPDX-License-Identifier: Apache-2.0 */
/* Writes text for people: the recording, the hottest methods, the call tree. */
#include "export/writers/text.h"

#include <string.h>

#include "base/str.h"
#include "export/writers/amount.h"
#include "export/writers/writer.h"
#include "profile/count.h"
#include "profile/diff.h"

#define TOP_OF_FORMAT    50
#define MIN_OF_FORMAT    0.5
#define INDENT_MAX       60 /* deeper branches keep this indent */
#define NAME_WIDTH_LEAST 16

static bool is_java(enum frame_kind kind)
{
	return kind >= FRAME_INTERPRETED && kind <= FRAME_INLINED;
}

static size_t room_of(size_t width, size_t used)
{
	return width > used + NAME_WIDTH_LEAST ? width - used : NAME_WIDTH_LEAST;
}

static void add_column(struct str *line, u64 value, u64 whole, const char *unit)
{
	auto_str struct str amount = { 0 }, share = { 0 };

	share_add(&share, value, whole);
	amount_add(&amount, value, unit);
	str_addf(line, "%9s %11s", share.at, amount.at);
}

/* Appends "name [kind]" or "name [library]" in the rest of the line. */
static void add_frame(struct str *line, const struct frame *f, size_t width)
{
	auto_str struct str note = { 0 };
	const char *slash = strrchr(f->module, '/');
	/* The name has the library already: "[libz.so] function at 0x4970". */
	bool has_module = f->name[0] == '[' && *f->module;

	if (f->kind != FRAME_GROUP && f->kind != FRAME_UNKNOWN && !has_module) {
		const char *text = *f->module && !is_java(f->kind) ? slash ? slash + 1 : f->module
								   : frame_kind_name(f->kind);
		bool has_brackets = *text == '['; /* "[kernel.kallsyms]" */
		str_add(&note, has_brackets ? " " : " [");
		short_name_add(&note, text, false, 24);
		str_add(&note, has_brackets ? "" : "]");
	}
	size_t used = text_width(line->at) + (note.at ? text_width(note.at) : 0);
	if (used + NAME_WIDTH_LEAST > width && note.at) {
		used -= text_width(note.at);
		str_clear(&note);
	}
	short_name_add(line, f->name, is_java(f->kind), room_of(width, used));
	str_add(line, note.at ?: "");
}

/* Appends "method [futex_do_wait]": the frame that waits, and the leaf that it waits in. */
static void add_owner(struct str *line, const struct frames *frames, const struct hot_method *m,
		      size_t width)
{
	const struct frame *owner = frames_get(frames, m->frame),
			   *leaf = frames_get(frames, m->leaf);
	bool has_brackets = leaf->name[0] == '[';
	auto_str struct str note = { 0 };

	str_add(&note, has_brackets ? " " : " [");
	short_name_add(&note, leaf->name, is_java(leaf->kind) || leaf->kind == FRAME_CLASS, 32);
	str_add(&note, has_brackets ? "" : "]");
	short_name_add(line, owner->name, is_java(owner->kind),
		       room_of(width, text_width(line->at) + text_width(note.at)));
	str_add(line, note.at);
}

void text_top(const struct profile *p, u32 type, const struct tree *t, size_t nr, size_t width,
	      FILE *out)
{
	auto_hot_methods struct hot_methods hot;
	u64 whole = t->nodes.at[0].total;

	if (hot_is_wait(&p->types.at[type]))
		hot_waits_make(p, t, &hot);
	else
		hot_methods_make(p, t, &hot);
	fprintf(out, "%21s %21s   %s\n", "SELF", "TOTAL", "METHOD");
	for (size_t i = 0; i < nr && i < hot.all.nr; i++) {
		const struct hot_method *m = &hot.all.at[i];
		auto_str struct str line = { 0 };
		if (!m->self)
			break;
		add_column(&line, m->self, whole, p->types.at[type].unit);
		add_column(&line, m->total, whole, p->types.at[type].unit);
		str_add(&line, "   ");
		if (m->leaf == m->frame)
			add_frame(&line, frames_get(p->frames, m->frame), width);
		else
			add_owner(&line, p->frames, m, width);
		fprintf(out, "%s\n", line.at);
	}
}

/* The state of the walk down the tree. */
struct tree_text {
	const struct profile *p;
	const struct tree *t;
	const char *unit;
	u64 whole, least; /* nodes below `least` are skipped */
	size_t width;
	FILE *out;
};

static void print_node(const struct tree_text *x, const struct tree_node *n, u32 indent)
{
	auto_str struct str line = { 0 };

	add_column(&line, n->total, x->whole, x->unit);
	str_addf(&line, "  %*s", (int)(indent < INDENT_MAX ? indent : INDENT_MAX), "");
	if (n == x->t->nodes.at)
		str_add(&line, "all");
	else
		add_frame(&line, frames_get(x->p->frames, n->frame), x->width);
	fprintf(x->out, "%s\n", line.at);
}

/* Prints one line for the siblings from `at` on, which are all too small. */
static void print_rest(const struct tree_text *x, u32 at, u32 indent)
{
	auto_str struct str line = { 0 };
	u64 total = 0;
	u32 nr = 0;

	for (; at; at = x->t->nodes.at[at].next) {
		total += x->t->nodes.at[at].total;
		nr++;
	}
	add_column(&line, total, x->whole, x->unit);
	fprintf(x->out, "%s  %*s(%u more)\n", line.at,
		(int)(indent < INDENT_MAX ? indent : INDENT_MAX), "", nr);
}

/*
 * The step of the indent: a child is one step deeper, unless it has the whole weight of its caller.
 */
static u32 step(const struct tree_text *x, u32 node)
{
	const struct tree_node *n = &x->t->nodes.at[node];

	return n->parent && x->t->nodes.at[n->parent].total == n->total ? 0 : 1;
}

/* The node of the next line: the next sibling of the node or of its nearest caller that has one. */
static u32 next_line(const struct tree_text *x, u32 at, u32 *indent)
{
	const struct tree_node *nodes = x->t->nodes.at;

	for (; at; at = nodes[at].parent) {
		u32 next = nodes[at].next;
		if (next && nodes[next].total >= x->least)
			return next;
		if (next)
			print_rest(x, next, *indent);
		*indent -= step(x, at);
	}
	return 0;
}

static void print_tree(const struct tree_text *x)
{
	const struct tree_node *nodes = x->t->nodes.at;
	u32 at = 0, indent = 0;

	print_node(x, &nodes[0], 0);
	do {
		u32 child = nodes[at].first;
		if (child && nodes[child].total >= x->least) {
			indent += step(x, child);
			at = child;
		} else {
			if (child)
				print_rest(x, child, indent + 1);
			at = next_line(x, at, &indent);
		}
		if (at)
			print_node(x, &nodes[at], indent);
	} while (at);
}

void text_tree(const struct profile *p, u32 type, const struct tree *t, double min_percent,
	       size_t width, FILE *out)
{
	u64 whole = t->nodes.at[0].total;
	struct tree_text x = { .p = p,
			       .t = t,
			       .unit = p->types.at[type].unit,
			       .whole = whole,
			       .least = (u64)(min_percent / 100 * (double)whole),
			       .width = width,
			       .out = out };

	fprintf(out, "%21s  %s\n", "TOTAL", "STACK");
	print_tree(&x);
}

static void print_head(const struct profile *p, const struct value_type *type, u64 total, FILE *out)
{
	auto_str struct str line = { 0 };

	str_addf(&line, "%s: ", type->name);
	amount_add(&line, total, type->unit);
	if (strcmp(type->unit, "bytes") && strcmp(type->unit, "ns"))
		str_addf(&line, " %s", type->unit);
	if (p->duration_ns)
		str_addf(&line, " in %.1f s", (double)p->duration_ns / 1e9);
	fprintf(out, "%s%s%s%s%s\n", p->title, *p->title ? " - " : "", line.at,
		*p->host ? " on " : "", p->host);
}

int text_write(const struct profile *p, FILE *out)
{
	if (profile_is_diff(p)) {
		text_diff(p, TEXT_DIFF_CHANGED, TOP_OF_FORMAT, TEXT_ANY_WIDTH, out);
		return 0;
	}
	for (u32 type = 0; type < p->types.nr; type++) {
		auto_tree struct tree t = { 0 };

		if (type && count_is_only(p, type))
			continue;
		tree_make(p, type, &t);
		fputs(type ? "\n" : "", out);
		print_head(p, &p->types.at[type], t.nodes.at[0].total, out);
		for (size_t i = 0; type == 0 && i < p->notes.nr; i++)
			if (p->notes.at[i].value)
				fprintf(out, "  %llu %s\n",
					(unsigned long long)p->notes.at[i].value,
					p->notes.at[i].text);
		fputc('\n', out);
		text_top(p, type, &t, TOP_OF_FORMAT, TEXT_ANY_WIDTH, out);
		fputc('\n', out);
		text_tree(p, type, &t, MIN_OF_FORMAT, TEXT_ANY_WIDTH, out);
	}
	return 0;
}
