/* SPDX-License-Identifier: Apache-2.0 */
/* Wraps texts at words. */
#include "base/wrap.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define HANGING_LEAST 2
#define HANGING_MAX   40 /* a wider column leaves no room for words */

size_t wrap_columns(int fd)
{
	struct winsize size;

	return isatty(fd) && !ioctl(fd, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col
									  : WRAP_COLUMNS;
}

/* The columns of UTF-8: continuation bytes have none. */
static size_t width_of(const char *text, size_t len)
{
	size_t width = 0;

	for (size_t i = 0; i < len; i++)
		width += (text[i] & 0xc0) != 0x80;
	return width;
}

void wrap_add(struct str *out, const char *text, size_t at, size_t indent, size_t columns)
{
	bool has_word = at > indent; /* a break before the first word of a line gains nothing */

	str_add(out, "");
	while (*text) {
		size_t blanks = strspn(text, " "), len = strcspn(text + blanks, " ");
		size_t width = width_of(text + blanks, len);
		if (has_word && blanks && len && at + blanks + width > columns) {
			str_addf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else {
			str_add_bytes(out, text, blanks);
			at += blanks;
		}
		str_add_bytes(out, text + blanks, len);
		at += width;
		has_word |= len > 0;
		text += blanks + len;
	}
}

size_t wrap_hanging(const char *text)
{
	const char *gap = strstr(text, "  ");
	size_t at = gap ? (size_t)(gap - text) + strspn(gap, " ") : 0;

	return at && text[at] && at <= HANGING_MAX ? at : HANGING_LEAST;
}
