/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sysflame report`: reads profiles, merges them, and writes or prints the result.
 * Part of cmd/cmd.h.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/profile_file.h"
#include "cmd/progress_line.h"
#include "cmd/stack_options.h"
#include "cmd/terminal.h"
#include "export/format/split.h"
#include "export/source_text.h"
#include "export/writers/text.h"
#include "profile/count.h"
#include "profile/diff.h"
#include "profile/names.h"
#include "profile/view.h"

enum {
	STATUS_FAILED = 1,
	STATUS_USAGE = 2,
};

struct options {
	const char *output, *format, *title, *event, *split, *source_path;
	int top; /* methods to print; 0: no list, TOP_UNSET: not given */
	bool tree, lines, signatures, raw_names, force, quiet, help;
	struct stack_options stacks;
	struct opt_list transform_words;
	struct transforms transforms;
};

#define TREE_LEAST_PERCENT 0.5
#define NR_TOP             20
#define TOP_MAX            1000000
#define TOP_UNSET          INT_MIN

static void print_help(const struct opt *opts, size_t nr_opts)
{
	puts("usage: sysflame report [OPTION].. IN.. -o OUT\n"
	     "       sysflame report [--top N] [--tree] IN..\n"
	     "\nReads profiles, merges them, and writes or prints the result. Without -o and\n"
	     "--tree, prints the hottest methods. - is standard input or output. Reads\n"
	     "collapsed stacks (also of async-profiler), pprof, OTLP, JFR, the output of perf\n"
	     "script, and pages of sysflame, also compressed by gzip. The content decides, not\n"
	     "the name.\n");
	opt_help(opts, nr_opts);
	puts("\nformats:");
	for (const struct format *f = formats; f->name; f++)
		printf("  %-26s %s\n", f->name, f->help);
}

static int print(const struct profile *p, const struct options *o)
{
	size_t width = terminal_width(STDOUT_FILENO);

	for (u32 type = 0; type < p->types.nr; type++) {
		const struct value_type *v = &p->types.at[type];
		auto_tree struct tree t = { 0 };

		if (type && count_is_only(p, type))
			continue;
		tree_make(p, type, &t);
		if (p->types.nr > 1)
			printf("%s%s/%s\n", type ? "\n" : "", v->name, v->unit);
		if (!t.nodes.at[0].total)
			puts("no samples");
		else if (o->top)
			text_top(p, type, &t, (size_t)o->top, width, stdout);
		if (o->tree && t.nodes.at[0].total)
			text_tree(p, type, &t, TREE_LEAST_PERCENT, width, stdout);
	}
	return output_finish();
}

static int choose_event(struct profile *p, const char *name)
{
	auto_str struct str names = { 0 };

	for (u32 i = 0; i < p->types.nr; i++)
		if (value_type_is(&p->types.at[i], name)) {
			profile_move_type_first(p, i);
			diff_settle(p);
			return 0;
		}
	profile_name_types(p, &names);
	log_error("--event %s: no such event; the profile has %s", name, names.at);
	return -EINVAL;
}

/* The first type of a file may be 0 everywhere: a heap in which nothing is in use, say. */
static int show_weighed_first(struct profile *p, const char *event)
{
	u32 weighed;

	if (!p->types.nr || profile_is_diff(p) || profile_total(p, 0) ||
	    !count_find_weighed(p, &weighed))
		return 0;
	if (event) {
		log_error("--event %s: it is 0 in every sample", event);
		return -ENODATA;
	}
	const struct value_type *old = &p->types.at[0], *new = &p->types.at[weighed];
	log_warn("%s/%s is 0 in every sample; %s/%s is shown first", old->name, old->unit,
		 new->name, new->unit);
	profile_move_type_first(p, weighed);
	return 0;
}

/* A page gets all stacks and splits them itself: the reader can change the split there. */
static int change(const struct options *o, const struct format *f, struct profile *p)
{
	auto_str struct str why = { 0 };

	bool is_page = f && f->has_view;
	int err = !o->split ? 0
		  : is_page ? profile_split_check(p, o->split, &why)
			    : profile_split(p, o->split, &why);
	if (err) {
		log_error("--split %s: %s", o->split, why.at);
		return err;
	}
	err = transforming_apply(&o->transforms, f, p);
	if (!err && o->split && is_page)
		view_add(p, "split", o->split);
	if (!err && f)
		stack_options_turn(&o->stacks, f, p);
	return err;
}

static int add_sources(struct profile *p, const char *folders)
{
	struct source_texts texts;
	int err = source_texts_add(p, folders, &texts);

	if (err)
		log_error("--source-path %s: %s", folders, strerror(-err));
	else if (!texts.nr_found && !texts.nr_missing && texts.nr_refused)
		log_warn("--source-path: the profile does not name its files, or with a folder "
			 "(%zu lines); only names such as Shop.java are looked for",
			 texts.nr_refused);
	else if (!texts.nr_found && !texts.nr_missing)
		log_warn("--source-path: the profile has no lines; record with --lines");
	else if (texts.nr_missing || texts.nr_left)
		log_warn("--source-path: %zu lines found, %zu without a source, %zu beyond the "
			 "limit",
			 texts.nr_found, texts.nr_missing, texts.nr_left);
	return err;
}

static int report(const struct options *o, char **inputs, size_t nr_inputs)
{
	const struct format *f = o->output ? profile_file_format(o->format, o->output) : NULL;
	if ((o->output && !f) || stack_options_check(&o->stacks, f))
		return STATUS_USAGE;

	auto_profile struct profile *p = profile_new();
	if (o->lines || o->source_path)
		frames_keep_lines(p->frames);
	if (o->signatures)
		frames_keep_signatures(p->frames);
	for (size_t i = 0; i < nr_inputs; i++)
		if (profile_file_read(inputs[i], p))
			return STATUS_FAILED;
	profile_name_frames(p, o->raw_names ? NAMES_RAW : NAMES_SHOWN);
	if (o->event && choose_event(p, o->event))
		return STATUS_USAGE;
	if (show_weighed_first(p, o->event))
		return STATUS_FAILED;
	stack_options_filter(&o->stacks, p);
	if (o->title) {
		free(p->title);
		p->title = xstrdup(o->title);
	}
	if (o->source_path && add_sources(p, o->source_path))
		return STATUS_FAILED;
	if (f && (change(o, f, p) || profile_file_write(p, o->output, f, o->force, NULL)))
		return STATUS_FAILED;
	if (!o->top && !o->tree)
		return 0;
	progress_line_step("counting", NULL, -1);
	if ((!f || f->has_view) && change(o, NULL, p))
		return STATUS_FAILED;
	if (!f || f->has_view)
		stack_options_turn(&o->stacks, NULL, p);
	progress_line_end();
	return print(p, o);
}

/* Whether the list of methods is printed: by --top, or if nothing else is asked for. */
static bool has_list(const struct options *o)
{
	return o->top != TOP_UNSET || (!o->output && !o->tree);
}

static int check(const struct options *o, int nr_inputs)
{
	if (o->top != TOP_UNSET && (o->top < 1 || o->top > TOP_MAX))
		log_error("--top %d: takes 1 to %d methods", o->top, TOP_MAX);
	else if (!nr_inputs)
		log_error("report: no file to read; see report --help");
	else if (o->stacks.is_reversed && has_list(o))
		log_error("--reverse: the list of methods is the same for stacks turned around; "
			  "use --tree or -o");
	else
		return profile_file_check_output(o->output, o->format, o->title, o->force);
	return -EINVAL;
}

static int parse_and_report(struct options *o, int argc, char **argv)
{
	const struct opt opts[] = {
		OPT_GROUP_OF("Output"),
		OUTPUT_OPT(&o->output),
		FORMAT_OPT(&o->format),
		FORCE_OPT(&o->force),
		{ 0, "top", OPT_INT, &o->top, "N", "print the N hottest methods (20)" },
		{ 0, "tree", OPT_BOOL, &o->tree, NULL, "print the call tree" },
		{ 0, "title", OPT_STRING, &o->title, "TEXT", "set the profile's title" },
		{ 0, "event", OPT_STRING, &o->event, "NAME",
		  "show this event first; NAME/UNIT if the name is not unique" },
		OPT_GROUP_OF("Stacks and names"),
		RAW_NAMES_OPT(&o->raw_names),
		{ 0, "split", OPT_STRING, &o->split, "BY",
		  "add a level: process, thread, container, .. or tier" },
		TRANSFORM_OPT(&o->transform_words),
		STACK_OPTS(&o->stacks),
		{ 0, "lines", OPT_BOOL, &o->lines, NULL,
		  "add a frame for each line, where the file has lines" },
		{ 0, "sig", OPT_BOOL, &o->signatures, NULL,
		  "JFR: add its signature to the name of each Java method" },
		{ 0, "source-path", OPT_STRING, &o->source_path, "DIR[:DIR..]",
		  "show the text of lines in the page, from sources below DIR" },
		OPT_GROUP_OF("Messages"),
		{ 'q', "quiet", OPT_BOOL, &o->quiet, NULL, "show no progress on the terminal" },
		{ 'h', "help", OPT_BOOL, &o->help, NULL, "show this help" },
	};
	int nr_inputs = opt_parse_mixed(opts, ARRAY_SIZE(opts), argc, argv);

	if (nr_inputs < 0)
		return STATUS_USAGE;
	if (o->help) {
		print_help(opts, ARRAY_SIZE(opts));
		return 0;
	}
	if (check(o, nr_inputs) || transforming_parse(&o->transform_words, &o->transforms))
		return STATUS_USAGE;
	if (o->top == TOP_UNSET)
		o->top = has_list(o) ? NR_TOP : 0;
	progress_line_begin(o->quiet);
	return report(o, argv, (size_t)nr_inputs);
}

int report_main(int argc, char **argv)
{
	struct options o = { .top = TOP_UNSET };
	int status = parse_and_report(&o, argc, argv);

	vec_fini(&o.transform_words);
	stack_options_fini(&o.stacks);
	transforms_fini(&o.transforms);
	progress_line_end();
	return status;
}
