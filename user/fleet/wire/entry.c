/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of audit lists, and of triggers. */
#include "fleet/wire/entry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/auto.h"
#include "base/str.h"
#include "fleet/wire/selector.h"

#define AT_DIGITS 15        /* of milliseconds: up to the year 33658 */
#define CLOCK_MS  300000ull /* clocks may differ by so much */

void entry_add(struct str *out, u64 at_ms, const char *who, const char *what)
{
	str_addf(out, "%llu\t", (unsigned long long)at_ms);
	utf8_clean(out, who, ENTRY_WHO_MAX);
	str_add_char(out, '\t');
	utf8_clean(out, what, ENTRY_WHAT_MAX);
}

static char *clean(const char *text, size_t max)
{
	struct str s = { 0 };

	str_add(&s, "");
	utf8_clean(&s, text, max);
	return str_take(&s);
}

int entry_parse(const void *bytes, size_t len, struct entry *out)
{
	auto_free char *line = xstrndup(bytes, len);
	size_t digits = strspn(line, "0123456789");
	char *who = line + digits, *what = digits && *who == '\t' ? strchr(++who, '\t') : NULL;

	if (digits > AT_DIGITS || !what)
		return -EINVAL;
	*what++ = '\0';
	*out = (struct entry){ .at_ms = strtoull(line, NULL, 10),
			       .who = clean(who, ENTRY_WHO_MAX),
			       .what = clean(what, ENTRY_WHAT_MAX) };
	return 0;
}

/* The rest of the subject behind the prefix if that can be a node's name; else NULL. */
static const char *name_after(const char *subject, const char *prefix)
{
	size_t len = strlen(prefix);

	return !strncmp(subject, prefix, len) && node_name_is_valid(subject + len) ? subject + len
										   : NULL;
}

int entry_parse_stored(const char *subject, const void *bytes, size_t len, struct entry *out)
{
	const char *node = name_after(subject, "sysflame.v1.audit.node.")
				   ?: name_after(subject, "sysflame.v1.audit.trigger.");
	struct entry e;

	if (!node || entry_parse(bytes, len, &e))
		return -EINVAL;
	copy_text(e.node, sizeof(e.node), node);
	*out = e;
	return 0;
}

void entry_fini(struct entry *e)
{
	free(e->who);
	free(e->what);
}

static int latest_first(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->is_future != y->is_future)
		return x->is_future ? 1 : -1;
	if (x->at_ms != y->at_ms)
		return x->at_ms < y->at_ms ? 1 : -1;
	return strcmp(x->node, y->node) ?: strcmp(x->who, y->who) ?: strcmp(x->what, y->what);
}

void entries_sort(struct entries *all, u64 now_ms)
{
	size_t kept = 0;

	vec_each(e, &all->list)
		e->is_future = e->at_ms > now_ms + CLOCK_MS;
	if (all->list.nr)
		qsort(all->list.at, all->list.nr, sizeof(all->list.at[0]), latest_first);
	vec_each(e, &all->list) {
		if (kept && !latest_first(&all->list.at[kept - 1], e))
			entry_fini(e);
		else
			all->list.at[kept++] = *e;
	}
	all->list.nr = kept;
}

void entries_fini(struct entries *all)
{
	vec_each(e, &all->list)
		entry_fini(e);
	vec_fini(&all->list);
}

void entry_time(u64 at_ms, char *text)
{
	time_t at = (time_t)(at_ms / 1000);
	struct tm tm;

	if (!gmtime_r(&at, &tm) || !strftime(text, ENTRY_TIME_TEXT, "%F %T", &tm))
		copy_text(text, ENTRY_TIME_TEXT, "?");
}
