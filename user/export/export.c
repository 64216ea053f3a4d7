/* SPDX-License-Identifier: Apache-2.0 */
/* The table of formats that a profile can be written in. */
#include "export/export.h"

#include <string.h>

const struct format formats[] = {
	{ .name = "html",
	  .extensions = { "html", "htm" },
	  .help = "interactive flame graph, one file, works offline",
	  .write = html_write,
	  .has_stacks = true,
	  .has_view = true },
	{ .name = "collapsed",
	  .extensions = { "txt", "collapsed", "folded" },
	  .help = "one line per stack: a;b;c COUNT",
	  .write = collapsed_write,
	  .has_stacks = true,
	  .has_one_value = true },
	{ .name = "annotated",
	  .help = "collapsed, marked by kind: a_[0];b_[j];c_[k] COUNT",
	  .write = annotated_write,
	  .has_stacks = true,
	  .has_one_value = true },
	{ .name = "pprof",
	  .extensions = { "pb.gz", "pprof" },
	  .help = "for `go tool pprof`, Pyroscope, Parca",
	  .write = pprof_write },
	{ .name = "otlp",
	  .extensions = { "otlp" },
	  .help = "OpenTelemetry profiles, proto 1.10 and later",
	  .write = otlp_write },
	{ .name = "jfr",
	  .extensions = { "jfr" },
	  .help = "for `jfr print`, JDK Mission Control, jfrconv",
	  .write = jfr_write,
	  .has_times = true },
	{ .name = "speedscope",
	  .extensions = { "json" },
	  .help = "for speedscope.app",
	  .write = speedscope_write },
	{ .name = "firefox",
	  .help = "for profiler.firefox.com",
	  .write = firefox_write,
	  .has_one_value = true },
	{ .name = "svg",
	  .extensions = { "svg" },
	  .help = "static flame graph, needs no scripts",
	  .write = svg_write,
	  .has_stacks = true,
	  .has_one_value = true },
	{ .name = "text", .help = "hottest methods and call tree as text", .write = text_write },
	{ 0 },
};

const struct format *format_by_name(const char *name)
{
	for (const struct format *f = formats; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

static bool has_extension(const char *path, const char *extension)
{
	size_t len = strlen(path), ext_len = strlen(extension);

	return len > ext_len + 1 && path[len - ext_len - 1] == '.' &&
	       !strcmp(path + len - ext_len, extension);
}

const struct format *format_by_path(const char *path)
{
	for (const struct format *f = formats; f->name; f++)
		for (const char *const *ext = f->extensions; *ext; ext++)
			if (has_extension(path, *ext))
				return f;
	return NULL;
}
