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

const struct format *format_by_path(const char *path)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');

	if (!dot)
		return NULL;
	for (const struct format *f = formats; f->name; f++)
		for (const char *const *ext = f->extensions; *ext; ext++)
			if (!strcmp(*ext, dot + 1))
				return f;
	return NULL;
}
