/* SPDX-License-Identifier: Apache-2.0 */
/* Writes text inside HTML and XML. */
#include "export/writers/markup.h"

/* XML 1.0 excludes U+FFFE and U+FFFF, which UTF-8 can contain. */
void markup_escape(const char *text, FILE *out)
{
	for (; *text; text++)
		switch (*text) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\xef':
			if (text[1] == '\xbf' && (text[2] == '\xbe' || text[2] == '\xbf')) {
				fputs("\xef\xbf\xbd", out);
				text += 2;
				break;
			}
			/* fall through */
		default:
			fputc(*text, out);
		}
}
