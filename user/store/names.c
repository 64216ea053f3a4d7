/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the store's files. */
#include "store/names.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/time.h"

#define WORD_MAX 40
#define HOUR_S   3600
#define YEAR_MAX 9999

static struct tm calendar(u64 seconds)
{
	time_t at = (time_t)seconds;
	struct tm tm = { 0 };

	if (!gmtime_r(&at, &tm) || tm.tm_year + 1900 > YEAR_MAX)
		tm = (struct tm){ .tm_year = 70, .tm_mday = 1 };
	return tm;
}

/* Letters, digits, '_' and '.', at most 40; other characters become '_'. */
static void reduce(const char *text, char word[WORD_MAX + 1])
{
	size_t nr = 0;

	for (; *text && nr < WORD_MAX; text++)
		word[nr++] = isascii(*text) && (isalnum(*text) || *text == '.') ? *text : '_';
	if (!nr)
		word[nr++] = '_';
	word[nr] = '\0';
}

void profile_file_name(u64 start_ns, u64 id, const char *events, const char *target,
		       char name[FILE_NAME_BYTES])
{
	struct tm tm = calendar(start_ns / NS_PER_SEC);
	char time[32], event[WORD_MAX + 1], about[WORD_MAX + 1];

	strftime(time, sizeof(time), "%Y%m%d_%H%M%S", &tm);
	reduce(events, event);
	reduce(target, about);
	snprintf(name, FILE_NAME_BYTES, "%s-%llu-%s-%s.sflm", time, (unsigned long long)id, event,
		 about);
}

/* Moves *at past a decimal number without sign or leading zeros. */
static bool parse_number(const char **at, u64 *out)
{
	char *end;

	if (!isdigit(**at) || (**at == '0' && isdigit((*at)[1])) || strspn(*at, "0123456789") > 18)
		return false;
	*out = strtoull(*at, &end, 10);
	*at = end;
	return true;
}

static bool parse_word(const char **at, const char *end, char word[48])
{
	size_t len =
		strspn(*at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");

	if (*at + len > end)
		len = (size_t)(end - *at);
	if (!len || len > WORD_MAX)
		return false;
	memcpy(word, *at, len);
	word[len] = '\0';
	*at += len;
	return true;
}

/* Parses the begin of `name` by strptime. Returns the rest of the name, or NULL. */
static const char *parse_time(const char *name, const char *format, size_t len, u64 *seconds)
{
	struct tm tm = { 0 };

	if (strlen(name) < len || strspn(name, "0123456789_") < len || name[8] != '_')
		return NULL;
	const char *rest = strptime(name, format, &tm);
	time_t at = rest == name + len ? timegm(&tm) : -1;
	if (at < 0)
		return NULL;
	*seconds = (u64)at;
	return rest;
}

bool profile_file_parse(const char *name, struct profile_file *out)
{
	const char *end = name + strlen(name) - (strlen(name) > 5 ? 5 : 0);
	u64 seconds;
	const char *at = parse_time(name, "%Y%m%d_%H%M%S", 15, &seconds);

	if (!at || *at++ != '-' || !parse_number(&at, &out->id) || *at++ != '-' || !out->id)
		return false;
	if (!parse_word(&at, end, out->event) || *at++ != '-' ||
	    !parse_word(&at, end, out->target) || strcmp(at, ".sflm") != 0)
		return false;
	out->start_ns = seconds * NS_PER_SEC;
	return true;
}

void hour_file_name(u64 hour, char name[FILE_NAME_BYTES])
{
	struct tm tm = calendar(hour * HOUR_S);

	strftime(name, FILE_NAME_BYTES, "%Y%m%d_%H.sfls", &tm);
}

bool hour_file_parse(const char *name, u64 *hour)
{
	u64 seconds;
	const char *rest = parse_time(name, "%Y%m%d_%H", 11, &seconds);

	if (!rest || strcmp(rest, ".sfls") != 0)
		return false;
	*hour = seconds / HOUR_S;
	return true;
}

void part_file_name(struct part_range range, char name[FILE_NAME_BYTES])
{
	if (range.first == range.last)
		snprintf(name, FILE_NAME_BYTES, "%llu.sflm", (unsigned long long)range.first);
	else
		snprintf(name, FILE_NAME_BYTES, "%llu-%llu.sflm", (unsigned long long)range.first,
			 (unsigned long long)range.last);
}

bool part_file_parse(const char *name, struct part_range *out)
{
	const char *at = name;

	if (!parse_number(&at, &out->first))
		return false;
	out->last = out->first;
	if (*at == '-' && (at++, !parse_number(&at, &out->last)))
		return false;
	return out->first <= out->last && !strcmp(at, ".sflm");
}
