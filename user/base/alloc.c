/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation that ends the program when memory runs out. */
#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *or_die(void *p)
{
	static const char text[] = "sysflame: out of memory\n";

	if (p)
		return p;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(1);
	_exit(1);
}

void *xmalloc(size_t size)
{
	return or_die(malloc(size ? size : 1));
}

void *xcalloc(size_t nr, size_t size)
{
	return or_die(calloc(nr ? nr : 1, size ? size : 1));
}

void *xreallocarray(void *old, size_t nr, size_t size)
{
	return or_die(reallocarray(old, nr ? nr : 1, size));
}

char *xstrdup(const char *s)
{
	return or_die(strdup(s));
}

char *xstrndup(const char *s, size_t len)
{
	return or_die(strndup(s, len));
}

void *xmemdup(const void *data, size_t len)
{
	void *copy = xmalloc(len);
	return len ? memcpy(copy, data, len) : copy;
}

char *xasprintf(const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	int len = vasprintf(&text, fmt, args);
	va_end(args);
	return or_die(len < 0 ? NULL : text);
}
