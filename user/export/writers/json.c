/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON as a stream. */
#include "export/writers/json.h"

#include "base/str.h"

#define TEXT_MAX 65535

void json_write_text(const char *text, FILE *out)
{
	auto_str struct str clean = { 0 };

	utf8_clean(&clean, text, TEXT_MAX);
	fputc('"', out);
	for (const char *c = clean.at; *c; c++)
		if (*c == '"' || *c == '\\')
			fprintf(out, "\\%c", *c);
		else if (*c == '<')
			fputs("\\u003c", out);
		else
			fputc(*c, out);
	fputc('"', out);
}
