/* SPDX-License-Identifier: Apache-2.0 */
/* The comments of a pprof file. */
#include "export/readers/pprof_comments.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/str.h"
#include "base/utf8.h"

/*
 * Reads a note such as "lost: 5 samples lost". The key may contain colons that no number follows.
 */
static void take_note(struct profile *p, const char *comment)
{
	char *end;

	for (const char *colon = comment; (colon = strstr(colon, ": ")); colon++) {
		u64 value = strtoull(colon + 2, &end, 10);
		if (end == colon + 2 || *end != ' ' || value > INT64_MAX)
			continue;
		auto_free char *key = xstrndup(comment, (size_t)(colon - comment));
		auto_str struct str clean = { 0 }, clean_key = { 0 };
		utf8_clean(&clean, end + 1, 4096);
		utf8_clean(&clean_key, key, 256);
		profile_note(p, clean_key.at, clean.at, value);
		return;
	}
}

void pprof_comment_take(struct profile *p, const char *comment)
{
	const char *colon = strstr(comment, ": ");

	if (!colon)
		return;
	auto_free char *key = xstrndup(comment, (size_t)(colon - comment));
	const char *text = colon + 2;
	char **field = !strcmp(key, "title")    ? &p->title
		       : !strcmp(key, "host")   ? &p->host
		       : !strcmp(key, "target") ? &p->target
						: NULL;
	if (field) {
		auto_str struct str clean = { 0 };
		utf8_clean(&clean, text, 4096);
		free(*field);
		*field = str_take(&clean);
		return;
	}
	u64 value = strtoull(text, NULL, 10);
	if (strcmp(key, "slot_ns") != 0)
		take_note(p, comment);
	else if (value <= INT64_MAX)
		p->slot_ns = value;
}
