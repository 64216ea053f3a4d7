/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first line of a sample: "comm PID/TID [CPU] TIME: PERIOD EVENT:", and what -F leaves of it.
 * Source: perf-script(1).
 */
#include "export/readers/perf_heading.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void perf_heading_fini(struct perf_heading *h)
{
	free(h->comm);
	free(h->event);
	free(h->rest);
	*h = (struct perf_heading){ 0 };
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool text_is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* "123.456789:" */
bool perf_is_time(const char *word, size_t len)
{
	size_t i = 0, dot;

	while (i < len && is_digit(word[i]))
		i++;
	dot = i;
	if (!dot || dot >= len || word[dot] != '.')
		return false;
	for (i++; i < len && is_digit(word[i]);)
		i++;
	return i > dot + 1 && i + 1 == len && word[i] == ':';
}

/* Returns the length of the next word in [*at, end) and moves *at past it. */
size_t text_next_word(const char **at, const char *end, const char **word)
{
	while (*at < end && text_is_space(**at))
		++*at;
	*word = *at;
	while (*at < end && !text_is_space(**at))
		++*at;
	return (size_t)(*at - *word);
}

/* Returns the length of the last word of [start, *end). Moves *end before it and its spaces. */
static size_t last_word(const char *start, const char **end, const char **word)
{
	while (*end > start && text_is_space((*end)[-1]))
		--*end;
	const char *word_end = *end;
	while (*end > start && !text_is_space((*end)[-1]))
		--*end;
	*word = *end;
	while (*end > start && text_is_space((*end)[-1]))
		--*end;
	return (size_t)(word_end - *word);
}

/* Reads "34", a TID unless -F has pid alone, or "12/34", PID and TID. A PID may be -1. */
static bool take_ids(const char *word, size_t len, struct perf_heading *h)
{
	char text[32];
	char *end;

	if (!len || len >= sizeof(text) || !(is_digit(*word) || *word == '-'))
		return false;
	memcpy(text, word, len);
	text[len] = '\0';
	long pid = 0, tid = strtol(text, &end, 10);
	if (*end == '/') {
		pid = tid;
		tid = strtol(end + 1, &end, 10);
	}
	if (*end || pid > INT32_MAX || tid > INT32_MAX)
		return false;
	h->pid = pid > 0 ? (u32)pid : 0;
	h->tid = tid > 0 ? (u32)tid : 0;
	return true;
}

/* Turns "cpu-clock:ppp:" into cpu-clock:ppp. */
static char *event_of(const char *word, size_t len)
{
	while (len && word[len - 1] == ':')
		len--;
	return len ? xstrndup(word, len) : xstrdup("samples");
}

bool text_is_made_of(const char *word, size_t len, const char *letters)
{
	for (size_t i = 0; i < len; i++)
		if (!strchr(letters, word[i]))
			return false;
	return len > 0;
}

/* "[003]", or the flags of -F +misc */
static bool is_cpu_or_misc(const char *word, size_t len)
{
	return (len > 2 && word[0] == '[' && word[len - 1] == ']') ||
	       (len <= 3 && text_is_made_of(word, len, "KUHGgMEFS"));
}

/* Takes the words of [line, end) as the name of the thread. */
static bool take_comm(const char *line, const char *end, struct perf_heading *h)
{
	while (line < end && text_is_space(*line))
		line++;
	while (end > line && text_is_space(end[-1]))
		end--;
	if (line == end)
		return false;
	h->comm = xstrndup(line, (size_t)(end - line));
	return true;
}

/* Reads the words before the time: comm, ids, and optionally flags and a CPU. */
static bool take_who(const char *line, const char *end, struct perf_heading *h)
{
	const char *word;
	size_t len = last_word(line, &end, &word);

	for (int i = 0; i < 2 && is_cpu_or_misc(word, len); i++)
		len = last_word(line, &end, &word);
	return take_ids(word, len, h) && take_comm(line, end, h);
}

/* Reads the period of the sample. Returns whether the word is a number. */
static bool take_period(const char *word, size_t len, struct perf_heading *h)
{
	char text[32];

	if (len >= sizeof(text) || !text_is_made_of(word, len, "0123456789"))
		return false;
	memcpy(text, word, len);
	text[len] = '\0';
	h->period = strtoull(text, NULL, 10);
	if (h->period > INT64_MAX)
		h->period = INT64_MAX;
	h->has_period = true;
	return true;
}

#define PERIOD_WIDTH 10 /* perf prints a period with "%10lu " and a TID with "%5d " */

/*
 * Cuts the period off the end of "[CPU] PERIOD", "PID/TID PERIOD" or "TID PERIOD" if there is one.
 * Returns where it starts.
 */
static const char *take_last_period(const char *line, const char *end, struct perf_heading *h)
{
	const char *at = end, *word, *period;
	size_t period_len = last_word(line, &at, &period);
	const char *before = at;

	if (!text_is_made_of(period, period_len, "0123456789"))
		return end;
	size_t len = last_word(line, &at, &word);
	bool is_cpu = len > 2 && *word == '[' && text_is_made_of(word, len, "[0123456789]");
	bool is_pair =
		len > 2 && memchr(word, '/', len) && text_is_made_of(word, len, "0123456789/-");
	bool is_wide = period + period_len - before > PERIOD_WIDTH;
	bool is_tid = is_wide && at > line && text_is_made_of(word, len, "0123456789");
	if (!is_cpu && !is_pair && !is_tid)
		return end;
	return take_period(period, period_len, h) ? before : end;
}

#define ADDRESS_WIDTH 16 /* perf prints the address of a frame with "%16lx" */

/* Whether a frame follows on the line of its sample. */
bool perf_is_address(const char *at, const char *end)
{
	const char *start = at, *word;
	size_t len = text_next_word(&at, end, &word);

	return word + len - start >= ADDRESS_WIDTH &&
	       text_is_made_of(word, len, "0123456789abcdef");
}

/*
 * Whether [at, end) may follow the event. A line that begins with blanks may also be a source line.
 * perf begins so only without -g, and then the event has a frame behind it.
 */
static bool may_follow(const char *line, const char *at, const char *end)
{
	return !text_is_space(*line) || perf_is_address(at, end);
}

/* Reads "comm EVENT:", alone or with a frame behind it. */
static bool take_heading_without_ids(const char *line, const char *end, struct perf_heading *h)
{
	const char *at = line, *word;
	size_t len;

	while ((len = text_next_word(&at, end, &word))) {
		if (len < 2 || word[len - 1] != ':' || !may_follow(line, at, end) ||
		    (at < end && !perf_is_address(at, end)))
			continue;
		*h = (struct perf_heading){ 0 };
		if (!take_comm(line, word, h))
			return false;
		h->event = event_of(word, len);
		h->rest = xstrndup(at, (size_t)(end - at));
		return true;
	}
	return false;
}

/* Reads "comm PID/TID", all that -F leaves of a line. */
static bool take_heading_of_ids(const char *line, const char *end, struct perf_heading *h)
{
	*h = (struct perf_heading){ 0 };
	if (text_is_space(*line) || !take_who(line, end, h))
		return false;
	h->event = xstrdup("samples");
	h->rest = xstrdup("");
	return true;
}

/* Reads "comm PID/TID [CPU] PERIOD EVENT:", which -F without the time prints. */
static bool take_heading_without_time(const char *line, const char *end, struct perf_heading *h)
{
	const char *at = line, *word;
	size_t len;

	while ((len = text_next_word(&at, end, &word))) {
		*h = (struct perf_heading){ 0 };
		if (len > 1 && word[len - 1] == ':' && may_follow(line, at, end) &&
		    take_who(line, take_last_period(line, word, h), h)) {
			h->event = event_of(word, len);
			h->rest = xstrndup(at, (size_t)(end - at));
			return true;
		}
	}
	return take_heading_without_ids(line, end, h) || take_heading_of_ids(line, end, h);
}

/* Returns whether the line begins a sample, and fills *h. */
bool perf_take_heading(const char *line, size_t line_len, struct perf_heading *h)
{
	const char *end = line + line_len, *at = line, *word;
	size_t len;

	if (!line_len || *line == '#' || *line == '\t')
		return false;
	while (end > line && text_is_space(end[-1]))
		end--;
	while ((len = text_next_word(&at, end, &word)))
		if (perf_is_time(word, len))
			break;
	if (!len)
		return take_heading_without_time(line, end, h);
	if (!take_who(line, word, h) && !take_comm(line, word, h))
		return false;
	const char *rest = at;
	len = text_next_word(&at, end, &word);
	if (!perf_is_address(rest, end) && take_period(word, len, h))
		len = text_next_word(&at, end, &word);
	if (!len) { /* -F without the event */
		h->event = xstrdup(h->has_period ? "events" : "samples");
		h->rest = xstrdup("");
		return true;
	}
	if (word[len - 1] != ':' && perf_is_address(rest, end)) {
		h->event = xstrdup("samples");
		h->rest = xstrndup(rest, (size_t)(end - rest));
		return true;
	}
	if (word[len - 1] != ':') {
		perf_heading_fini(h);
		return false;
	}
	h->event = event_of(word, len);
	h->rest = xstrndup(at, (size_t)(end - at));
	return true;
}
