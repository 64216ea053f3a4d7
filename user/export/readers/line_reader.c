/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of an input. */
#include "export/readers/line_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define LINE_MAX_BYTES (64u << 20)
#define BLOCK          (1u << 20)

void line_reader_init(struct line_reader *l, struct input *in)
{
	*l = (struct line_reader){ .in = in, .cap = 2 * BLOCK };
	l->block = xmalloc(l->cap);
}

void line_reader_fini(struct line_reader *l)
{
	free(l->block);
}

int line_reader_refuse(const struct line_reader *l, const char *what, struct str *why)
{
	str_addf(why, "line %llu: %s", (unsigned long long)l->nr, what);
	return -EINVAL;
}

int line_reader_next(struct line_reader *l, char **line, size_t *len, struct str *why)
{
	size_t seen = 0;

	for (;;) {
		char *from = l->block + l->start;
		char *newline = memchr(from + seen, '\n', l->end - l->start - seen);
		seen = l->end - l->start;
		if (newline) {
			*line = from;
			*len = (size_t)(newline - from);
			l->start += *len + 1;
			break;
		}
		if (seen > LINE_MAX_BYTES) {
			l->nr++;
			return line_reader_refuse(
				l, "longer than 64 MiB; is this a text of stacks?", why);
		}
		memmove(l->block, from, seen);
		l->start = 0;
		l->end = seen;
		if (l->cap < seen + BLOCK)
			l->block = xreallocarray(l->block, l->cap = 2 * (seen + BLOCK), 1);
		size_t got = input_read(l->in, l->block + seen, BLOCK);
		l->end += got;
		if (got)
			continue;
		if (!seen)
			return ferror(l->in->f) ? -EIO : 0;
		*line = l->block;
		*len = seen;
		l->start = l->end;
		break;
	}
	l->nr++;
	return 1;
}
