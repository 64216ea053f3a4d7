/* SPDX-License-Identifier: Apache-2.0 */
/* `sysflame report`: reads profiles, merges them, writes one. */
#include "cmd/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/str.h"
#include "cmd/profile_file.h"
#include "cmd/terminal.h"
#include "cmd/transforming.h"
#include "export/split.h"
#include "export/text.h"
#include "profile/count.h"
#include "profile/diff.h"
#include "profile/names.h"

enum {
	STATUS_FAILED = 1,
	STATUS_USAGE = 2,
};

struct options {
	const char *output, *format, *title, *event, *split;
	int top; /* methods to print, 0 for no such list */
	bool tree, lines, raw_names, help;
	struct opt_list transform_words;
	struct transforms transforms;
};

#define TREE_LEAST_PERCENT 0.5
#define TOP_MAX            1000000

static void print_help(const struct opt *opts, size_t nr_opts)
{
	puts("usage: sysflame report [OPTION].. IN.. -o OUT\n"
	     "       sysflame report --top N | --tree IN..\n"
	     "Reads profiles, merges them and writes one, or prints it; - is standard input or\n"
	     "output. Read are collapsed stacks (also async-profiler's), pprof, OTLP, JFR, the "
	     "text\n"
	     "of perf script and our own pages, also compressed by gzip; the content tells.\n");
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
		if (o->top)
			text_top(p, type, &t, (size_t)o->top, width, stdout);
		if (o->tree)
			text_tree(p, type, &t, TREE_LEAST_PERCENT, width, stdout);
	}
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	log_error("standard output: %s", strerror(errno));
	return STATUS_FAILED;
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
	log_error("--event %s: there is no such event; there is %s", name, names.at);
	return -EINVAL;
}

/* A page gets all stacks and splits them itself, so that one can change it there. */
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
		transforming_add_view(p, "split", o->split);
	return err;
}

static int report(const struct options *o, char **inputs, size_t nr_inputs)
{
	const struct format *f = o->output ? profile_file_format(o->format, o->output) : NULL;
	if (o->output && !f)
		return STATUS_USAGE;

	auto_profile struct profile *p = profile_new();
	if (o->lines)
		frames_keep_lines(p->frames);
	for (size_t i = 0; i < nr_inputs; i++)
		if (profile_file_read(inputs[i], p))
			return STATUS_FAILED;
	profile_name_frames(p, o->raw_names ? NAMES_RAW : NAMES_SHOWN);
	if (o->event && choose_event(p, o->event))
		return STATUS_USAGE;
	if (o->title) {
		free(p->title);
		p->title = xstrdup(o->title);
	}
	if (f && (change(o, f, p) || profile_file_write(p, o->output, f, NULL)))
		return STATUS_FAILED;
	if (!o->top && !o->tree)
		return 0;
	if ((!f || f->has_view) && change(o, NULL, p))
		return STATUS_FAILED;
	return print(p, o);
}

static int check(const struct options *o, int nr_inputs)
{
	if (o->top < 0 || o->top > TOP_MAX)
		log_error("--top %d: takes 1 to %d methods", o->top, TOP_MAX);
	else if (!nr_inputs)
		log_error("report: no file to read; see report --help");
	else if (!o->output && !o->top && !o->tree)
		log_error("report: -o FILE, --top N or --tree is missing; see report --help");
	else
		return 0;
	return -EINVAL;
}

static int parse_and_report(struct options *o, int argc, char **argv)
{
	const struct opt opts[] = {
		{ 'o', "output", OPT_STRING, &o->output, "FILE", "where to, - is standard output" },
		{ 0, "format", OPT_STRING, &o->format, "NAME", "instead of FILE's extension" },
		{ 0, "title", OPT_STRING, &o->title, "TEXT", "the profile's title" },
		{ 0, "event", OPT_STRING, &o->event, "NAME",
		  "of several events this one first; NAME/UNIT if others have the name" },
		RAW_NAMES_OPT(&o->raw_names),
		{ 0, "split", OPT_STRING, &o->split, "BY",
		  "a level by process, thread, container, .. or tier" },
		TRANSFORM_OPT(&o->transform_words),
		{ 0, "lines", OPT_BOOL, &o->lines, NULL,
		  "a frame for each line, where the file tells lines" },
		{ 0, "top", OPT_INT, &o->top, "N", "print the N hottest methods" },
		{ 0, "tree", OPT_BOOL, &o->tree, NULL, "print the call tree" },
		{ 'h', "help", OPT_BOOL, &o->help, NULL, "show this text" },
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
	return report(o, argv, (size_t)nr_inputs);
}

int report_main(int argc, char **argv)
{
	struct options o = { 0 };
	int status = parse_and_report(&o, argc, argv);

	vec_fini(&o.transform_words);
	transforms_fini(&o.transforms);
	return status;
}
