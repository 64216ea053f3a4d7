/* SPDX-License-Identifier: Apache-2.0 */
/* Prints one message to standard error. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/str.h"

static enum log_level current = LOG_INFO;
static struct str *kept;
static void (*before)(void);

void log_set_level(enum log_level level)
{
	current = level;
}

void log_keep(struct str *to)
{
	kept = to;
}

void log_before_lines(void (*fn)(void))
{
	before = fn;
}

enum log_level log_get_level(void)
{
	return current;
}

/* A terminal gets lines of its width. Files and pipes get one line for each message. */
static void print_line(const char *prefix, const char *text)
{
	auto_str struct str line = { 0 };
	size_t columns = isatty(STDERR_FILENO) ? wrap_columns(STDERR_FILENO) : SIZE_MAX;

	str_add(&line, prefix);
	wrap_add(&line, text, line.len, wrap_hanging(*prefix ? prefix : text), columns);
	fprintf(stderr, "%s\n", line.at);
}

void log_print(enum log_level level, const char *fmt, ...)
{
	static const char *const prefix[] = {
		[LOG_ERROR] = "sysflame: ",
		[LOG_WARN] = "sysflame: warning: ",
		[LOG_INFO] = "",
		[LOG_DEBUG] = "debug: ",
	};
	auto_free char *text = NULL;
	va_list args;

	if (level > current)
		return;

	va_start(args, fmt);
	int len = vasprintf(&text, fmt, args);
	va_end(args);
	if (len < 0) {
		text = NULL;
		return;
	}

	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	if (before)
		before();
	print_line(prefix[level], text);
	if (kept && level <= LOG_WARN)
		str_addf(kept, "%s%s", kept->len ? "; " : "", text);
}
