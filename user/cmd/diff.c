/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sysflame diff`: compares two profiles.
 * Part of cmd/cmd.h.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/profile_file.h"
#include "cmd/progress_line.h"
#include "cmd/stack_options.h"
#include "export/interchange/named_label.h"
#include "export/writers/text.h"
#include "profile/diff.h"
#include "profile/names.h"
#include "profile/selection.h"
#include "profile/view.h"

#define NR_CHANGES  30
#define CHANGES_MAX 1000000
#define TOP_UNSET   INT_MIN

/* In the order of the page's buttons, whose digits the view `m` keeps. */
static const char *const modes[] = { "changed", "before", "after", "only-before", "only-after" };

struct options {
	const char *output, *format, *title, *event;
	const char *mode; /* NULL: not given */
	int top;          /* TOP_UNSET: not given */
	bool by_counts, raw_names, force, quiet, help;
	struct opt_list transform_words;
	struct opt_list with, before, after; /* labels of both sides, of each side */
	struct transforms transforms;
};

static void help(const struct opt *opts, size_t nr)
{
	puts("usage: sysflame diff [OPTION].. BEFORE AFTER\n"
	     "       sysflame diff [OPTION].. BOTH\n"
	     "       sysflame diff [OPTION].. --before NAME=VALUE --after NAME=VALUE FILE\n"
	     "Compares two profiles of any format that report reads: prints the methods whose\n"
	     "share has changed by more than chance, or writes both as one flame graph by -o.\n"
	     "BOTH is such a page, or text of \"root;...;leaf COUNT_BEFORE COUNT_AFTER\".\n");
	opt_help(opts, nr);
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_of_one_file(const struct options *o)
{
	return o->before.nr && o->after.nr;
}

/* Adds "version=1, zone=b". */
static void add_choices(const struct opt_list *choices, struct str *out)
{
	vec_each(one, choices)
		str_addf(out, "%s%s", one == choices->at ? "" : ", ", *one);
}

/* File names without their folders, unless only the folders differ; of one file the labels. */
static char *title_of(const struct options *o, char **paths, int nr_paths)
{
	struct str labels = { 0 };

	if (nr_paths == 1) {
		add_choices(&o->before, &labels);
		str_add(&labels, " to ");
		add_choices(&o->after, &labels);
		return str_take(&labels);
	}
	const char *before = name_of(paths[0]), *after = name_of(paths[1]);

	return strcmp(before, after) ? xasprintf("%s to %s", before, after)
				     : xasprintf("%s to %s", paths[0], paths[1]);
}

/* Reads one side: the samples that have all labels of `--with` and of the side. */
static int read_side(const struct options *o, const char *path, const struct opt_list *of_side,
		     struct profile *p)
{
	if (profile_file_read(path, p))
		return -EINVAL;
	if (o->with.nr)
		profile_select(p, named_labels_match, &o->with);
	if (of_side->nr)
		profile_select(p, named_labels_match, of_side);
	if (p->weights.nr || !(o->with.nr || of_side->nr))
		return 0;
	auto_str struct str labels = { 0 };
	add_choices(of_side->nr ? of_side : &o->with, &labels);
	log_error("%s: no sample has %s%s", path, labels.at,
		  of_side->nr && o->with.nr ? " and the labels of --with" : "");
	return -ENODATA;
}

static int read_two(const struct options *o, char **paths, int nr_paths, struct profile *p)
{
	const char *second = paths[nr_paths - 1];
	auto_profile struct profile *before = profile_new(), *after = profile_new();
	auto_str struct str why = { 0 }, others = { 0 };
	struct diff_types types;

	if (read_side(o, paths[0], &o->before, before) || read_side(o, second, &o->after, after))
		return -EINVAL;
	profile_name_frames(before, o->raw_names ? NAMES_RAW : NAMES_WITHOUT_IDS);
	profile_name_frames(after, o->raw_names ? NAMES_RAW : NAMES_WITHOUT_IDS);
	if (diff_choose(before, after, o->event, &types, &others, &why)) {
		log_error("%s and %s cannot be compared: %s", paths[0], second, why.at);
		return -EINVAL;
	}
	const struct value_type *t = &after->types.at[types.after];
	if (others.len && !o->event)
		log_info("comparing %s/%s; --event compares %s", t->name, t->unit, others.at);
	profile_diff(before, after, &types, p);
	free(p->title);
	p->title = title_of(o, paths, nr_paths);
	return 0;
}

static int read_one(const struct options *o, const char *path, struct profile *p)
{
	if (profile_file_read_diff(path, p))
		return -EINVAL;
	profile_name_frames(p, o->raw_names ? NAMES_RAW : NAMES_WITHOUT_IDS);
	if (!*p->title) {
		free(p->title);
		p->title = xstrdup(name_of(path));
	}
	return 0;
}

static int mode_of(const char *name)
{
	int mode = 0;

	while (name && mode < (int)ARRAY_SIZE(modes) && strcmp(modes[mode], name))
		mode++;
	return mode;
}

static void print(const struct options *o, const struct profile *p)
{
	size_t width = terminal_width(STDOUT_FILENO);
	size_t nr = o->top == TOP_UNSET ? NR_CHANGES : (size_t)o->top;
	int mode = mode_of(o->mode);

	if (mode < 3) {
		text_diff(p, (enum text_diff_mode)mode, nr, width, stdout);
		return;
	}
	auto_tree struct tree t;
	u32 type = mode == 3; /* the second type holds the values from before */
	tree_make(p, type, &t);
	text_top(p, type, &t, nr, width, stdout);
}

static int diff(const struct options *o, char **paths, int nr_paths)
{
	auto_profile struct profile *p = profile_new();
	const struct format *f = o->output ? profile_file_format(o->format, o->output) : NULL;

	if (o->output && !f)
		return EXIT_USAGE;
	if (o->mode && f && !f->has_view) {
		log_error("--mode %s: %s has no modes; use html, or leave out -o", o->mode,
			  f->name);
		return EXIT_USAGE;
	}
	bool is_both = nr_paths == 1 && !is_of_one_file(o);
	if (is_both ? read_one(o, paths[0], p) : read_two(o, paths, nr_paths, p))
		return EXIT_FAILED;
	if (o->title) {
		free(p->title);
		p->title = xstrdup(o->title);
	}
	if (transforming_apply(&o->transforms, f, p))
		return EXIT_FAILED;
	if (o->by_counts)
		diff_by_counts(p);
	if (f && f->has_view && mode_of(o->mode)) {
		const char digit[] = { (char)('0' + mode_of(o->mode)), '\0' };
		view_add(p, "m", digit);
	}
	if (f)
		return profile_file_write(p, o->output, f, o->force, NULL) ? EXIT_FAILED : 0;
	progress_line_end();
	print(o, p);
	return output_finish();
}

static int check_choices(const struct options *o, char **paths, int nr_paths)
{
	const struct opt_list *const all[] = { &o->with, &o->before, &o->after };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		vec_each(one, all[i])
			if (!named_label_is_choice(*one)) {
				log_error("diff: %s is not NAME=VALUE, as in version=1.2", *one);
				return -EINVAL;
			}
	if (nr_paths != 1)
		return 0;
	if ((o->with.nr || o->before.nr || o->after.nr) && !is_of_one_file(o))
		log_error("diff: labels of one file need both --before and --after");
	else if (is_of_one_file(o) && !strcmp(paths[0], "-"))
		log_error("diff: standard input cannot be read twice; --before and --after "
			  "need a file");
	else
		return 0;
	return -EINVAL;
}

static int check(const struct options *o, int nr_paths)
{
	if (nr_paths != 1 && nr_paths != 2)
		log_error(
			"diff: takes two files, before and after, or one that holds both; see diff "
			"--help");
	else if (o->event && nr_paths == 1 && !is_of_one_file(o))
		log_error("--event %s: the file is already a comparison", o->event);
	else if (mode_of(o->mode) == ARRAY_SIZE(modes))
		log_error("--mode %s: takes changed, before, after, only-before, only-after",
			  o->mode);
	else if (o->top != TOP_UNSET && (o->top < 1 || o->top > CHANGES_MAX))
		log_error("--top %d: takes 1 to %d methods", o->top, CHANGES_MAX);
	else if (o->top != TOP_UNSET && o->output)
		log_error("--top %d: with -o no list is printed; leave out one of them", o->top);
	else
		return profile_file_check_output(o->output, o->format, o->title, o->force);
	return -EINVAL;
}

static int parse_and_diff(struct options *o, int argc, char **argv)
{
	const struct opt opts[] = {
		OUTPUT_OPT(&o->output),
		FORMAT_OPT(&o->format),
		FORCE_OPT(&o->force),
		{ 0, "title", OPT_STRING, &o->title, "TEXT", "set the comparison's title" },
		{ 0, "event", OPT_STRING, &o->event, "NAME",
		  "compare this event; NAME/UNIT if the name is not unique" },
		{ 0, "before", OPT_LIST, &o->before, "NAME=VALUE",
		  "of the first file, take the samples with this label, as in version=1.2" },
		{ 0, "after", OPT_LIST, &o->after, "NAME=VALUE",
		  "the same of the second file, or of the only one" },
		{ 0, "with", OPT_LIST, &o->with, "NAME=VALUE",
		  "of both, keep the samples with this label" },
		{ 0, "mode", OPT_STRING, &o->mode, "MODE",
		  "order: changed, before, after; or one file alone: only-before, only-after" },
		{ 0, "counts", OPT_BOOL, &o->by_counts, NULL, "compare weights, not shares" },
		RAW_NAMES_OPT(&o->raw_names),
		TRANSFORM_OPT(&o->transform_words),
		{ 0, "top", OPT_INT, &o->top, "N", "print N methods (30)" },
		{ 'q', "quiet", OPT_BOOL, &o->quiet, NULL, "show no progress on the terminal" },
		{ 'h', "help", OPT_BOOL, &o->help, NULL, "show this help" },
	};
	int nr_paths = opt_parse_mixed(opts, ARRAY_SIZE(opts), argc, argv);

	if (nr_paths < 0)
		return EXIT_USAGE;
	if (o->help) {
		help(opts, ARRAY_SIZE(opts));
		return 0;
	}
	if (check(o, nr_paths) || check_choices(o, argv, nr_paths) ||
	    transforming_parse(&o->transform_words, &o->transforms))
		return EXIT_USAGE;
	progress_line_begin(o->quiet);
	return diff(o, argv, nr_paths);
}

int diff_main(int argc, char **argv)
{
	struct options o = { .top = TOP_UNSET };
	int status = parse_and_diff(&o, argc, argv);

	vec_fini(&o.transform_words);
	vec_fini(&o.with);
	vec_fini(&o.before);
	vec_fini(&o.after);
	transforms_fini(&o.transforms);
	progress_line_end();
	return status;
}
