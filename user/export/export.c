/* SPDX-License-Identifier: Apache-2.0 */
/* The formats a profile can be written in. */
#include "export/export.h"

#include <string.h>

const struct format formats[] = {
	{ "html",
	  { "html", "htm" },
	  "interactive flame graph, one file, works offline",
	  html_write },
	{ "collapsed",
	  { "txt", "collapsed", "folded" },
	  "one line per stack: a;b;c COUNT",
	  collapsed_write },
	{ "pprof", { "pb.gz", "pprof" }, "for `go tool pprof`, Pyroscope, Parca", pprof_write },
	{ "otlp", { "otlp" }, "OpenTelemetry profiles, proto 1.10 and later", otlp_write },
	{ "speedscope", { "json" }, "for speedscope.app", speedscope_write },
	{ "firefox", { 0 }, "for profiler.firefox.com", firefox_write },
	{ "svg", { "svg" }, "still flame graph, readable without script", svg_write },
	{ "text", { 0 }, "hottest methods and call tree, for reading", text_write },
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
