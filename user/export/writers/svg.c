/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the flame graph as a static picture: without scripts, with a text on every box, in the
 * colours of the page (user/ui/page/page.css). A comparison has the colours from less
 * to more. Siblings too narrow to draw become one grey box that says so.
 * Part of export/writers/writer.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "export/format/title.h"
#include "export/writers/amount.h"
#include "export/writers/markup.h"
#include "export/writers/writer.h"
#include "profile/diff.h"
#include "profile/tree.h"

#define WIDTH       1200
#define MARGIN      10
#define ROW         20
#define TOP         58
#define BOTTOM      40
#define NOTE        18   /* height of a line below the picture */
#define CHAR_WIDTH  6.65 /* width of a character in an 11 px monospace font */
#define BOX_LEAST   0.5  /* narrower boxes are merged into a grey one, the fog */
#define CHARS_LEAST 3
#define FOG         NR_FRAME_KINDS
#define NR_STEPS    4 /* colours of a comparison in each direction */
#define SAME        (FOG + 1 + NR_STEPS)
#define NR_COLOURS  (SAME + NR_STEPS + 1)

struct colour {
	const char *light, *dark;
};

static const struct colour less = { "#497ee4", "#386cd1" };
static const struct colour same = { "#eef0f3", "#343a45" };
static const struct colour more = { "#e2501c", "#cc3e00" };

static const struct colour colours[] = {
	[FRAME_UNKNOWN] = { "#c9bec6", "#363a6d" },     [FRAME_KERNEL] = { "#dd861c", "#834600" },
	[FRAME_NATIVE] = { "#cc94c4", "#604a7c" },      [FRAME_JVM] = { "#f7e95f", "#876d00" },
	[FRAME_INTERPRETED] = { "#f4f5b9", "#302b03" }, [FRAME_C1] = { "#badd83", "#3a5646" },
	[FRAME_C2] = { "#80c980", "#457154" },          [FRAME_INLINED] = { "#96e6ff", "#34788d" },
	[FRAME_GROUP] = { "#dbddcc", "#39383d" },       [FRAME_STUB] = { "#dfb231", "#533a00" },
	[FRAME_CLASS] = { "#abbcfc", "#3247a0" },       [FOG] = { "#e4e6eb", "#23272f" },
};

struct svg {
	const struct profile *p;
	struct tree tree;
	struct tree nr_before, nr_after; /* numbers of samples of a comparison, if known */
	double limit;                    /* see diff_limit */
	bool has_counts;
	bool by_counts; /* weights are compared, not shares */
	FILE *out;
	double scale; /* pixels per unit of weight */
	u32 nr_rows;
	u64 whole;
	double before_scale; /* factor for weights before in a comparison, else 0 */
	bool is_used[NR_COLOURS];
};

/*
 * The weight that a width shows. In a comparison it includes both sides, so vanished frames are
 * visible.
 */
static double weight_of(const struct svg *s, const struct tree_node *n)
{
	return (double)n->total + s->before_scale * (double)n->before;
}

static double self_of(const struct svg *s, const struct tree_node *n)
{
	return (double)n->self + s->before_scale * (double)n->self_before;
}

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

static unsigned int mix(const char *from, const char *to, double part)
{
	unsigned int a = (unsigned int)strtoul(from + 1, NULL, 16), mixed = 0;
	unsigned int b = (unsigned int)strtoul(to + 1, NULL, 16);

	for (int shift = 16; shift >= 0; shift -= 8) {
		int x = a >> shift & 255, y = b >> shift & 255;
		mixed = mixed << 8 | (unsigned int)lround(x + (y - x) * part);
	}
	return mixed;
}

/* The colour of a kind, of fog, or from FOG + 1 on a colour from less to more. */
static unsigned int colour_of(u32 colour, bool is_dark)
{
	const struct colour *to = colour < SAME ? &less : &more;
	double part = (double)abs((int)colour - SAME) / NR_STEPS;

	if (colour <= FOG)
		return mix(colours[colour].light, colours[colour].dark, is_dark);
	return is_dark ? mix(same.dark, to->dark, part) : mix(same.light, to->light, part);
}

static struct sampled_pair sampled_at(const struct svg *s, const struct tree_node *n)
{
	size_t at = (size_t)(n - s->tree.nodes.at);

	return (struct sampled_pair){ { n->before, s->nr_before.nodes.at[at].total },
				      { n->total, s->nr_after.nodes.at[at].total } };
}

/* Without numbers of samples only equal weights count as unchanged. */
static double sigmas_of(const struct svg *s, const struct tree_node *n)
{
	if (!s->has_counts)
		return (double)n->total == s->before_scale * (double)n->before ? 0 : INFINITY;
	struct sampled_pair part = sampled_at(s, n), whole = sampled_at(s, s->tree.nodes.at);
	return diff_sigmas(&part, s->by_counts ? NULL : &whole);
}

static bool is_chance(const struct svg *s, const struct tree_node *n)
{
	return !(sigmas_of(s, n) >= s->limit);
}

/* All frames are compared, also those too narrow to be drawn. */
static void find_limit(struct svg *s)
{
	double *sigmas = xcalloc(s->tree.nodes.nr, sizeof(sigmas[0]));

	for (size_t i = 1; i < s->tree.nodes.nr; i++)
		sigmas[i - 1] = sigmas_of(s, &s->tree.nodes.at[i]);
	s->limit = diff_limit(sigmas, s->tree.nodes.nr - 1);
	free(sigmas);
}

/* The colour by the relative change of the scaled weight. */
static u32 colour_of_change(const struct svg *s, const struct tree_node *n)
{
	double before = s->before_scale * (double)n->before;
	double change = before > 0 ? ((double)n->total - before) / before : 1;

	if (is_chance(s, n))
		return SAME;
	return (u32)(SAME + (int)lround(fmin(change, 1) * NR_STEPS));
}

static void write_box(const struct svg *s, u32 kind, double x, u32 row, double width)
{
	fprintf(s->out,
		"<rect class=\"k%u\" fill=\"#%06x\" x=\"%.2f\" y=\"%u\" width=\"%.2f\" "
		"height=\"%d\" rx=\"%d\"/>",
		kind, colour_of(kind, false), x, TOP + row * ROW, width > 3 ? width - 1 : width,
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

/* Appends the change of a comparison: of the weight, or of the share. */
static void add_change(struct str *text, const struct svg *s, const struct tree_node *n)
{
	double before = (double)n->before / (double)s->tree.nodes.at[0].before;
	double after = s->whole ? (double)n->total / (double)s->whole : 0;
	bool is_less = n->total < n->before;

	if (!s->by_counts) {
		str_addf(text, "%+.2f points", 100 * (after - before));
		return;
	}
	str_add_char(text, is_less ? '-' : '+');
	amount_add(text, is_less ? n->before - n->total : n->total - n->before,
		   s->p->types.at[0].unit);
}

/* Writes the weights into the tooltip of a box. */
static void write_weights(const struct svg *s, const struct tree_node *n)
{
	auto_str struct str text = { 0 };

	if (s->before_scale <= 0) {
		fputs("\ntotal ", s->out);
		write_amount(s, n->total);
		fputs("\nself ", s->out);
		write_amount(s, n->self);
		return;
	}
	const char *unit = s->p->types.at[0].unit;
	u64 before = s->tree.nodes.at[0].before;
	str_add(&text, "\nbefore ");
	amount_add(&text, n->before, unit);
	str_add(&text, " (");
	share_add(&text, n->before, before);
	str_add(&text, ")\nafter ");
	amount_add(&text, n->total, unit);
	str_add(&text, " (");
	share_add(&text, n->total, s->whole);
	str_add(&text, ")\nchange ");
	add_change(&text, s, n);
	str_add(&text, s->has_counts && is_chance(s, n) ? ", within chance" : "");
	fputs(text.at, s->out);
}

static void write_frame(struct svg *s, const struct tree_node *n, double x, u32 row)
{
	bool is_root = n == s->tree.nodes.at;
	const struct frame *f = is_root ? NULL : frames_get(s->p->frames, n->frame);
	const char *name = is_root ? "all" : f->name;
	enum frame_kind kind = is_root ? FRAME_GROUP : f->kind;
	u32 colour = s->before_scale > 0 ? colour_of_change(s, n) : kind;
	double width = weight_of(s, n) * s->scale;

	s->is_used[colour] = true;
	fputs("<g><title>", s->out);
	markup_escape(name, s->out);
	fprintf(s->out, "\n%s%s", frame_kind_name(kind), !is_root && *f->module ? ", " : "");
	markup_escape(is_root ? "" : f->module, s->out);
	write_weights(s, n);
	fputs("</title>", s->out);
	write_box(s, colour, x, row, width);
	write_label(s, name, is_java(kind), x, row, width);
	fputs("</g>\n", s->out);
}

/* Writes the siblings from `at` on as one box; all of them are too narrow. */
static void write_fog(struct svg *s, u32 at, double x, u32 row)
{
	double weight = 0;
	u64 total = 0;
	u32 nr = 0;

	for (; at; at = s->tree.nodes.at[at].next) {
		total += s->tree.nodes.at[at].total;
		weight += weight_of(s, &s->tree.nodes.at[at]);
		nr++;
	}
	if (weight * s->scale < BOX_LEAST)
		return;
	s->is_used[FOG] = true;
	fprintf(s->out, "<g><title>%u frame%s too narrow to draw", nr, nr == 1 ? "" : "s");
	if (s->before_scale <= 0) {
		fputs("\ntotal ", s->out);
		write_amount(s, total);
	}
	fputs("</title>", s->out);
	write_box(s, FOG, x, row, weight * s->scale);
	fputs("</g>\n", s->out);
}

typedef void (*visit_frame)(struct svg *s, const struct tree_node *n, double x, u32 row);
typedef void (*visit_fog)(struct svg *s, u32 first, double x, u32 row);

/* Visits everything that is drawn, callers first. Self weight is left of the callees. */
static void walk(struct svg *s, visit_frame on_frame, visit_fog on_fog)
{
	const struct tree_node *nodes = s->tree.nodes.at;
	VEC(double) x = { 0 }; /* by depth: x of the next node */
	u32 at = 0, depth = 0;

	vec_push(&x, (double)MARGIN);
	for (;;) {
		bool is_narrow = weight_of(s, &nodes[at]) * s->scale < BOX_LEAST;
		if (is_narrow && at) {
			on_fog(s, at, x.at[depth], depth);
		} else {
			on_frame(s, &nodes[at], x.at[depth], depth);
			x.nr = depth + 1;
			vec_push(&x, x.at[depth] + self_of(s, &nodes[at]) * s->scale);
			x.at[depth] += weight_of(s, &nodes[at]) * s->scale;
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
	for (u32 colour = 0; colour < NR_COLOURS; colour++)
		fprintf(out, ".k%u{fill:#%06x}", colour, colour_of(colour, true));
	fputs("}</style>\n", out);
}

/* Writes the total of the picture. */
static void write_sum(const struct svg *s)
{
	const struct profile *p = s->p;
	auto_str struct str before = { 0 };

	write_clean(p->types.nr ? p->types.at[0].name : "", s->out);
	fputs(": ", s->out);
	if (s->whole)
		write_amount(s, s->whole);
	else
		fputs("no samples", s->out);
	if (s->before_scale > 0) {
		amount_add(&before, s->tree.nodes.at[0].before, p->types.at[1].unit);
		fprintf(s->out, ", before: %s; widths show %s", before.at,
			!s->whole      ? "what was before"
			: s->by_counts ? "both"
				       : "both, scaled to equal totals");
	} else if (p->duration_ns) {
		fprintf(s->out, " in %.1f s", (double)p->duration_ns / 1e9);
	}
}

static void write_head(struct svg *s, u32 height)
{
	const struct profile *p = s->p;
	auto_str struct str title = { 0 };

	title_add(p, &title);
	fprintf(s->out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %u\" width=\"%d\" "
		"height=\"%u\" role=\"img\" fill=\"#16181d\" font-family=\"monospace\" "
		"font-size=\"11\">\n<title>",
		WIDTH, height, WIDTH, height);
	write_clean(title.len ? title.at : "flame graph", s->out);
	fputs("</title>\n", s->out);
	write_styles(s->out);
	fprintf(s->out, "<rect class=\"bg\" fill=\"#ffffff\" width=\"%d\" height=\"%u\"/>\n", WIDTH,
		height);
	fprintf(s->out, "<text class=\"h\" x=\"%d\" y=\"24\" font-size=\"15\">", MARGIN);
	write_clean(title.len ? title.at : "flame graph", s->out);
	fprintf(s->out, "</text>\n<text class=\"s\" x=\"%d\" y=\"44\" font-size=\"12\">", MARGIN);
	write_sum(s);
	fputs("</text>\n", s->out);
}

static void write_legend(const struct svg *s, u32 y)
{
	const char *same_name = s->has_counts ? "same or chance" : "same (chance unknown)";
	double x = MARGIN;

	for (u32 colour = 0; colour < NR_COLOURS; colour++) {
		const char *name = colour < FOG               ? frame_kind_name(colour)
				   : colour == FOG            ? "too narrow"
				   : colour == FOG + 1        ? "less"
				   : colour == SAME           ? same_name
				   : colour == NR_COLOURS - 1 ? "more"
							      : NULL;
		if (!name || (!s->is_used[colour] && (colour <= FOG || s->before_scale <= 0)))
			continue;
		fprintf(s->out,
			"<rect class=\"k%u\" fill=\"#%06x\" x=\"%.0f\" y=\"%u\" width=\"11\" "
			"height=\"11\" rx=\"3\"/><text x=\"%.0f\" y=\"%u\">%s</text>\n",
			colour, colour_of(colour, false), x, y, x + 16, y + 9, name);
		x += 40 + (double)strlen(name) * CHAR_WIDTH;
	}
}

static bool is_shown(const struct note *n)
{
	return n->value && strcmp(n->key, "samples") && strcmp(n->key, "frames");
}

/* Writes one line per note about losses. */
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

/* A comparison with nothing before is drawn like a profile. */
static void make_trees(struct svg *s)
{
	const struct profile *p = s->p;
	bool is_diff = profile_is_diff(p);
	u64 after = is_diff ? profile_total(p, 0) : 0, before = is_diff ? profile_total(p, 1) : 0;

	if (!before) {
		tree_make(p, 0, &s->tree);
		return;
	}
	s->by_counts = diff_is_by_counts(p);
	s->before_scale = s->by_counts || !after ? 1 : (double)after / (double)before;
	tree_make_diff(p, s->before_scale, &s->tree);
	s->has_counts = diff_has_counts(p);
	if (s->has_counts) {
		struct diff_types nr = diff_counts(p);
		tree_make(p, nr.before, &s->nr_before);
		tree_make(p, nr.after, &s->nr_after);
	}
	find_limit(s);
}

int svg_write(const struct profile *p, FILE *out)
{
	struct svg s = { .p = p, .out = out };

	make_trees(&s);
	s.whole = s.tree.nodes.at[0].total;
	double weight = weight_of(&s, s.tree.nodes.at);
	if (weight > 0) {
		s.scale = (WIDTH - 2 * MARGIN) / weight;
		walk(&s, count_frame, count_fog);
	}
	u32 bottom = TOP + s.nr_rows * ROW, height = bottom + BOTTOM;
	vec_each(n, &p->notes)
		height += is_shown(n) ? NOTE : 0;
	write_head(&s, height);
	if (weight > 0)
		walk(&s, write_frame, write_fog);
	write_legend(&s, bottom + 16);
	write_notes(&s, bottom + BOTTOM + 8);
	fputs("</svg>\n", out);
	tree_fini(&s.tree);
	tree_fini(&s.nr_before);
	tree_fini(&s.nr_after);
	return 0;
}
