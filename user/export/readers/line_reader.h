/* SPDX-License-Identifier: Apache-2.0 */
/* Splits an input into lines of limited length. */
#pragma once

#include "export/readers/input.h"

struct line_reader {
	struct input *in;
	char *block; /* [start, end) holds bytes that were read but not yet returned */
	size_t start, end, cap;
	u64 nr; /* number of the line returned last, from 1 on */
};

void line_reader_init(struct line_reader *l, struct input *in);
void line_reader_fini(struct line_reader *l);

/*
 * Returns 1 and a line without its end. The line is not NUL-terminated and valid until the next
 * call. Returns 0 at the end of the input; -EIO; or -EINVAL and a sentence for a line longer than
 * 64 MiB.
 */
int line_reader_next(struct line_reader *l, char **line, size_t *len, struct str *why);

/* Adds "line 7: WHAT" and returns -EINVAL. */
int line_reader_refuse(const struct line_reader *l, const char *what, struct str *why);
