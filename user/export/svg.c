/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flame graph as a still picture: no script, a text on every box, and the colours of the page
 * (user/export/page/page.css). Siblings too narrow to be seen are one grey box that says so.
 */
#include <string.h>

#include "base/str.h"
#include "base/utf8.h"
#include "export/amount.h"
#include "export/export.h"
#include "export/markup.h"
#include "profile/tree.h"

#define WIDTH       1200
#define MARGIN      10
#define ROW         20
#define TOP         58
#define BOTTOM      40
#define NOTE        18   /* height of a line below the picture */
#define CHAR_WIDTH  6.65 /* of an 11 px monospace font */
#define BOX_LEAST   0.5  /* narrower boxes are fog */
#define CHARS_LEAST 3
#define FOG         NR_FRAME_KINDS

struct colour {
	const char *light, *dark;
};

static const struct colour colours[] = {
	[FRAME_UNKNOWN] = { "#e3a4cd", "#613658" },     [FRAME_KERNEL] = { "#dd871c", "#8c4100" },
	[FRAME_NATIVE] = { "#e3a4cd", "#613658" },      [FRAME_JVM] = { "#ebe684", "#846f06" },
	[FRAME_INTERPRETED] = { "#d5ecce", "#2b4034" }, [FRAME_C1] = { "#b3e0a4", "#35593f" },
	[FRAME_C2] = { "#8cd17c", "#116746" },          [FRAME_INLINED] = { "#9be6ea", "#55777b" },
	[FRAME_GROUP] = { "#d3d7df", "#343a45" },       [FRAME_STUB] = { "#d9c9a3", "#594d33" },
	[FRAME_CLASS] = { "#b9c3f5", "#3d4a8c" },       [FOG] = { "#e4e6eb", "#23272f" },
};

struct svg {
	const struct profile *p;
	struct tree tree;
	FILE *out;
	double scale; /* pixels per unit of weight */
	u32 nr_rows;
	u64 whole;
	bool is_used[NR_FRAME_KINDS + 1];
};

static void write_clean(const char *text, FILE *out)
{
	auto_str struct str clean = { 0 };

	utf8_clean(&clean, text, 4096);
	markup_escape(clean.at, out);
}

static bool is_java(enum frame_kind kind)
{
	return kind >= FRAME_INTERPRETED && kind <= FRAME_INLINED;
}

static void write_amount(const struct svg *s, u64 value)
{
	auto_str struct str text = { 0 };

	amount_add(&text, value, s->p->types.at[0].unit);
	if (strcmp(s->p->types.at[0].unit, "bytes") && strcmp(s->p->types.at[0].unit, "ns"))
		str_addf(&text, " %s", s->p->types.at[0].unit);
	str_add(&text, " (");
	share_add(&text, value, s->whole);
	str_add_char(&text, ')');
	write_clean(text.at, s->out);
}

static void write_box(const struct svg *s, u32 kind, double x, u32 row, double width)
{
	fprintf(s->out,
		"<rect class=\"k%u\" fill=\"%s\" x=\"%.2f\" y=\"%u\" width=\"%.2f\" "
		"height=\"%d\" rx=\"%d\"/>",
		kind, colours[kind].light, x, TOP + row * ROW, width > 3 ? width - 1 : width,
		ROW - 1, width > 6 ? 2 : 0);
}

static void write_label(const struct svg *s, const char *name, bool java, double x, u32 row,
			double width)
{
	auto_str struct str label = { 0 };
	double room = (width - 8) / CHAR_WIDTH;

	if (room < CHARS_LEAST)
		return;
	short_name_add(&label, name, java, (size_t)room);
	fprintf(s->out, "<text x=\"%.2f\" y=\"%u\">", x + 4, TOP + row * ROW + 13);
	markup_escape(label.at, s->out);
	fputs("</text>", s->out);
}

static void write_frame(struct svg *s, const struct tree_node *n, double x, u32 row)
{
	bool is_root = n == s->tree.nodes.at;
	const struct frame *f = is_root ? NULL : frames_get(s->p->frames, n->frame);
	const char *name = is_root ? "all" : f->name;
	enum frame_kind kind = is_root ? FRAME_GROUP : f->kind;
	double width = (double)n->total * s->scale;

	s->is_used[kind] = true;
	fputs("<g><title>", s->out);
	markup_escape(name, s->out);
	fprintf(s->out, "\n%s%s", frame_kind_name(kind), !is_root && *f->module ? ", " : "");
	markup_escape(is_root ? "" : f->module, s->out);
	fputs("\ntotal ", s->out);
	write_amount(s, n->total);
	fputs("\nself ", s->out);
	write_amount(s, n->self);
	fputs("</title>", s->out);
	write_box(s, kind, x, row, width);
	write_label(s, name, is_java(kind), x, row, width);
	fputs("</g>\n", s->out);
}

/* The siblings from `at` on, narrow as all after them are. */
static void write_fog(struct svg *s, u32 at, double x, u32 row)
{
	u64 total = 0;
	u32 nr = 0;

	for (; at; at = s->tree.nodes.at[at].next) {
		total += s->tree.nodes.at[at].total;
		nr++;
	}
	if ((double)total * s->scale < BOX_LEAST)
		return;
	s->is_used[FOG] = true;
	fprintf(s->out, "<g><title>%u frame%s too narrow to draw\ntotal ", nr, nr == 1 ? "" : "s");
	write_amount(s, total);
	fputs("</title>", s->out);
	write_box(s, FOG, x, row, (double)total * s->scale);
	fputs("</g>\n", s->out);
}

typedef void (*visit_frame)(struct svg *s, const struct tree_node *n, double x, u32 row);
typedef void (*visit_fog)(struct svg *s, u32 first, double x, u32 row);

/* Visits all that is drawn, callers first; self weight stands left of the callees. */
static void walk(struct svg *s, visit_frame on_frame, visit_fog on_fog)
{
	const struct tree_node *nodes = s->tree.nodes.at;
	VEC(double) x = { 0 }; /* by depth: where the next node of that depth starts */
	u32 at = 0, depth = 0;

	vec_push(&x, (double)MARGIN);
	for (;;) {
		bool is_narrow = (double)nodes[at].total * s->scale < BOX_LEAST;
		if (is_narrow && at) {
			on_fog(s, at, x.at[depth], depth);
		} else {
			on_frame(s, &nodes[at], x.at[depth], depth);
			x.nr = depth + 1;
			vec_push(&x, x.at[depth] + (double)nodes[at].self * s->scale);
			x.at[depth] += (double)nodes[at].total * s->scale;
			if (nodes[at].first) {
				at = nodes[at].first;
				depth++;
				continue;
			}
		}
		while (at && (is_narrow || !nodes[at].next)) {
			at = nodes[at].parent;
			depth--;
			is_narrow = false;
		}
		if (!at)
			break;
		at = nodes[at].next;
	}
	vec_fini(&x);
}

static void count_frame(struct svg *s, const struct tree_node *n, double x, u32 row)
{
	if (row + 1 > s->nr_rows)
		s->nr_rows = row + 1;
}

static void count_fog(struct svg *s, u32 first, double x, u32 row)
{
	count_frame(s, NULL, x, row);
}

static void write_styles(FILE *out)
{
	fputs("<style>text{font:11px ui-monospace,\"SF Mono\",Menlo,Consolas,\"DejaVu Sans "
	      "Mono\",monospace;fill:#16181d}.h{font:600 15px system-ui,sans-serif}"
	      ".s{font:12px system-ui,sans-serif;fill:#5c6370}\n"
	      "@media (prefers-color-scheme:dark){.bg{fill:#14161a}text{fill:#f5f6f8}"
	      ".s{fill:#9aa2b1}",
	      out);
	for (u32 kind = 0; kind <= FOG; kind++)
		fprintf(out, ".k%u{fill:%s}", kind, colours[kind].dark);
	fputs("}</style>\n", out);
}

static void write_head(struct svg *s, u32 height)
{
	const struct profile *p = s->p;
	const char *title = *p->title ? p->title : *p->target ? p->target : p->host;

	fprintf(s->out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %u\" width=\"%d\" "
		"height=\"%u\" role=\"img\" fill=\"#16181d\" font-family=\"monospace\" "
		"font-size=\"11\">\n<title>",
		WIDTH, height, WIDTH, height);
	write_clean(*title ? title : "flame graph", s->out);
	fputs("</title>\n", s->out);
	write_styles(s->out);
	fprintf(s->out, "<rect class=\"bg\" fill=\"#ffffff\" width=\"%d\" height=\"%u\"/>\n", WIDTH,
		height);
	fprintf(s->out, "<text class=\"h\" x=\"%d\" y=\"24\" font-size=\"15\">", MARGIN);
	write_clean(*title ? title : "flame graph", s->out);
	fprintf(s->out, "</text>\n<text class=\"s\" x=\"%d\" y=\"44\" font-size=\"12\">", MARGIN);
	write_clean(p->types.nr ? p->types.at[0].name : "", s->out);
	fputs(": ", s->out);
	if (s->whole)
		write_amount(s, s->whole);
	else
		fputs("no samples", s->out);
	if (p->duration_ns)
		fprintf(s->out, " in %.1f s", (double)p->duration_ns / 1e9);
	fputs("</text>\n", s->out);
}

static void write_legend(const struct svg *s, u32 y)
{
	double x = MARGIN;

	for (u32 kind = 0; kind <= FOG; kind++) {
		const char *name = kind == FOG ? "too narrow" : frame_kind_name(kind);
		if (!s->is_used[kind])
			continue;
		fprintf(s->out,
			"<rect class=\"k%u\" fill=\"%s\" x=\"%.0f\" y=\"%u\" width=\"11\" "
			"height=\"11\" rx=\"3\"/><text x=\"%.0f\" y=\"%u\">%s</text>\n",
			kind, colours[kind].light, x, y, x + 16, y + 9, name);
		x += 40 + (double)strlen(name) * CHAR_WIDTH;
	}
}

static bool is_shown(const struct note *n)
{
	return n->value && strcmp(n->key, "samples") && strcmp(n->key, "frames");
}

/* What was lost and why, one line each. */
static void write_notes(const struct svg *s, u32 y)
{
	vec_each(n, &s->p->notes) {
		if (!is_shown(n))
			continue;
		fprintf(s->out, "<text class=\"s\" x=\"%d\" y=\"%u\" font-size=\"12\">%llu ",
			MARGIN, y, (unsigned long long)n->value);
		write_clean(n->text, s->out);
		fputs("</text>\n", s->out);
		y += NOTE;
	}
}

int svg_write(const struct profile *p, FILE *out)
{
	struct svg s = { .p = p, .out = out };

	tree_make(p, 0, &s.tree);
	s.whole = s.tree.nodes.at[0].total;
	s.scale = s.whole ? (double)(WIDTH - 2 * MARGIN) / (double)s.whole : 0;
	if (s.whole)
		walk(&s, count_frame, count_fog);
	u32 bottom = TOP + s.nr_rows * ROW, height = bottom + BOTTOM;
	vec_each(n, &p->notes)
		height += is_shown(n) ? NOTE : 0;
	write_head(&s, height);
	if (s.whole)
		walk(&s, write_frame, write_fog);
	write_legend(&s, bottom + 16);
	write_notes(&s, bottom + BOTTOM + 8);
	fputs("</svg>\n", out);
	tree_fini(&s.tree);
	return 0;
}
