/* SPDX-License-Identifier: Apache-2.0 */
/* `sysflame report`: reads profiles, merges them, writes one. */
#include "cmd/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/opt.h"
#include "cmd/terminal.h"
#include "export/export.h"
#include "export/read.h"
#include "export/text.h"

enum {
	STATUS_FAILED = 1,
	STATUS_USAGE = 2,
};

struct options {
	const char *output, *format, *title;
	int top; /* methods to print, 0 for no such list */
	bool tree, help;
};

AUTO_DEFINE(profile, struct profile *, profile_free)
#define auto_profile __attribute__((cleanup(auto_profile_run)))

#define TREE_LEAST_PERCENT 0.5
#define TOP_MAX            1000000

static void print_help(const struct opt *opts, size_t nr_opts)
{
	puts("usage: sysflame report [OPTION].. IN.. -o OUT\n"
	     "       sysflame report --top N | --tree IN..\n"
	     "Reads profiles, merges them and writes one, or prints it; - is standard input or\n"
	     "output.\n");
	opt_help(opts, nr_opts);
	puts("\nformats:");
	for (const struct format *f = formats; f->name; f++)
		printf("  %-26s %s\n", f->name, f->help);
}

static const struct format *choose_format(const struct options *o)
{
	const struct format *f = o->format ? format_by_name(o->format) : format_by_path(o->output);

	if (!f && o->format)
		log_error("%s: unknown format; report --help lists them", o->format);
	else if (!f)
		log_error("%s: its extension names no format; give one by --format", o->output);
	return f;
}

static int read_input(const char *path, struct profile *p)
{
	auto_str struct str why = { 0 };
	bool is_stdin = !strcmp(path, "-");
	auto_fclose FILE *opened = is_stdin ? NULL : fopen(path, "re");
	if (!opened && !is_stdin) {
		log_error("%s: %s", path, strerror(errno));
		return -1;
	}

	int err = profile_read(opened ?: stdin, p, &why);
	if (err)
		log_error("%s: %s", is_stdin ? "standard input" : path, why.at);
	return err;
}

static int write_output(const struct profile *p, const struct options *o, const struct format *f)
{
	struct outfile *out;
	int err = outfile_open(o->output, &out);

	if (!err) {
		err = f->write(p, out->f);
		if (err)
			outfile_abort(out);
		else
			err = outfile_commit(out, NULL);
	}
	if (err == -EOVERFLOW)
		log_error("%s: the weights add up to more than 2^53 - 1", o->output);
	else if (err)
		log_error("%s: %s", o->output, strerror(-err));
	return err;
}

static int print(const struct profile *p, const struct options *o)
{
	size_t width = terminal_width(STDOUT_FILENO);

	for (u32 type = 0; type < p->types.nr; type++) {
		auto_tree struct tree t;

		tree_make(p, type, &t);
		if (p->types.nr > 1)
			printf("%s%s\n", type ? "\n" : "", p->types.at[type].name);
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

static int report(const struct options *o, char **inputs, size_t nr_inputs)
{
	const struct format *f = o->output ? choose_format(o) : NULL;
	if (o->output && !f)
		return STATUS_USAGE;

	auto_profile struct profile *p = profile_new();
	for (size_t i = 0; i < nr_inputs; i++)
		if (read_input(inputs[i], p))
			return STATUS_FAILED;
	if (o->title) {
		free(p->title);
		p->title = xstrdup(o->title);
	}
	if (f && write_output(p, o, f))
		return STATUS_FAILED;
	return o->top || o->tree ? print(p, o) : 0;
}

int report_main(int argc, char **argv)
{
	struct options o = { 0 };
	const struct opt opts[] = {
		{ 'o', "output", OPT_STRING, &o.output, "FILE", "where to, - is standard output" },
		{ 0, "format", OPT_STRING, &o.format, "NAME", "instead of FILE's extension" },
		{ 0, "title", OPT_STRING, &o.title, "TEXT", "the profile's title" },
		{ 0, "top", OPT_INT, &o.top, "N", "print the N hottest methods" },
		{ 0, "tree", OPT_BOOL, &o.tree, NULL, "print the call tree" },
		{ 'h', "help", OPT_BOOL, &o.help, NULL, "show this text" },
	};
	const size_t nr_opts = sizeof(opts) / sizeof(opts[0]);
	size_t nr_inputs = 0;

	/* Options may stand behind inputs; those are moved to the front of argv. */
	for (int i = 0; i + 1 < argc;) {
		int used = opt_parse(opts, nr_opts, argc - i, argv + i);
		if (used < 0)
			return STATUS_USAGE;
		i += used;
		if (i < argc)
			argv[nr_inputs++] = argv[i];
	}
	if (o.help) {
		print_help(opts, nr_opts);
		return 0;
	}
	if (o.top < 0 || o.top > TOP_MAX) {
		log_error("--top %d: takes 1 to %d methods", o.top, TOP_MAX);
		return STATUS_USAGE;
	}
	if (!nr_inputs || (!o.output && !o.top && !o.tree)) {
		log_error("report: %s; see report --help",
			  nr_inputs ? "-o FILE, --top N or --tree is missing" : "no file to read");
		return STATUS_USAGE;
	}
	return report(&o, argv, nr_inputs);
}
