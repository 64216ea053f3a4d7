/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of an input, of any length up to a bound. */
#pragma once

#include "export/read.h"

struct lines {
	struct input *in;
	char *block; /* what was read and not yet handed out is [start, end) */
	size_t start, end, cap;
	u64 nr; /* of the line that was handed out last, the first one is 1 */
};

void lines_init(struct lines *l, struct input *in);
void lines_fini(struct lines *l);

/*
 * Returns 1 and a line without its end, valid until the next call and not NUL-terminated; 0 at the
 * end of the input; -EIO, or -EINVAL and a sentence for a line above 64 MiB.
 */
int lines_next(struct lines *l, char **line, size_t *len, struct str *why);

/* "line 7: WHAT"; returns -EINVAL. */
int lines_refuse(const struct lines *l, const char *what, struct str *why);
