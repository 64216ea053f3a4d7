/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the route of a path. */
#include "web/http/route.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyz"

/* A decimal number without leading zeros or signs; returns its end, or NULL. */
static const char *parse_number(const char *at, u64 *out)
{
	char *end;

	if (*at < '0' || *at > '9' || (*at == '0' && at[1] >= '0' && at[1] <= '9'))
		return NULL;
	errno = 0;
	*out = strtoull(at, &end, 10);
	return errno || *out > INT64_MAX ? NULL : end;
}

static bool take_word(const char *at, const char *end, const char *allowed, struct request *q)
{
	size_t nr = (size_t)(end - at);

	if (!nr || nr >= sizeof(q->word) || strspn(at, allowed) < nr)
		return false;
	memcpy(q->word, at, nr);
	q->word[nr] = '\0';
	return true;
}

/* Matches one part of a path against one of a pattern; the path's part ends at `end`. */
static bool match_part(const char *pattern, size_t len, const char *at, const char *end,
		       struct request *q)
{
	if (len == 2 && !memcmp(pattern, "ID", 2))
		return parse_number(at, &q->id) == end;
	if (len == 7 && !memcmp(pattern, "FROM-TO", 7)) {
		const char *middle = parse_number(at, &q->from_ms);
		return middle && *middle == '-' && parse_number(middle + 1, &q->to_ms) == end;
	}
	if (len == 3 && !memcmp(pattern, "KEY", 3))
		return take_word(at, end, LETTERS "_", q);
	if (len == 4 && !memcmp(pattern, "FILE", 4))
		return memchr(at, '.', (size_t)(end - at)) &&
		       take_word(at, end, LETTERS "0123456789.-", q);
	return len == (size_t)(end - at) && !memcmp(pattern, at, len);
}

static bool match(const char *pattern, const char *path, struct request *q)
{
	for (;;) {
		size_t len = strcspn(pattern, "/");
		const char *end = path + strcspn(path, "/");
		if (!match_part(pattern, len, path, end, q) || pattern[len] != *end)
			return false;
		if (!*end)
			return true;
		pattern += len + 1;
		path = end + 1;
	}
}

static bool has_head(const struct route *r)
{
	return !strcmp(r->method, "GET") && !r->is_change;
}

static void allow(struct request *q, const struct route *r)
{
	size_t len = strlen(q->allowed);

	snprintf(q->allowed + len, sizeof(q->allowed) - len, "%s%s%s", len ? ", " : "", r->method,
		 has_head(r) ? ", HEAD" : "");
}

const struct route *route_find(const struct route *routes, const char *method, const char *path,
			       struct request *q)
{
	bool is_head = !strcmp(method, "HEAD");

	q->allowed[0] = '\0';
	for (const struct route *r = routes; r->method; r++) {
		if (!match(r->pattern, path, q))
			continue;
		if (is_head ? has_head(r) : !strcmp(r->method, method))
			return r;
		allow(q, r);
	}
	return NULL;
}
