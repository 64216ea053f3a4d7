/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first line of a sample: "comm PID/TID [CPU] TIME: PERIOD EVENT:", and the shorter forms that
 * -F leaves. A process chooses its name, which may look like the rest of the line. perf's names
 * have at most 15 bytes. Thus a name never reaches over the ids or the time behind it, and the last
 * place that leaves a name of that length is the right one. Source: perf-script(1).
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
static bool is_time(const char *word, size_t len)
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
		if (!word[i] || !strchr(letters, word[i]))
			return false;
	return len > 0;
}

/* "[003]", or the flags of -F +misc */
static bool is_cpu_or_misc(const char *word, size_t len)
{
	return (len > 2 && word[0] == '[' && word[len - 1] == ']') ||
	       (len <= 3 && text_is_made_of(word, len, "KUHGgMEFS"));
}

/* Sets h->comm to the words of [line, end). Returns false if there are no words. */
static bool take_comm(const char *line, const char *end, struct perf_heading *h)
{
	const char *start = line;

	while (line < end && text_is_space(*line))
		line++;
	while (end > line && text_is_space(end[-1]))
		end--;
	h->name_end = line < end ? (size_t)(end - start) : 0;
	free(h->comm);
	h->comm = xstrndup(line, (size_t)(end - line));
	return line < end;
}

/* Reads what precedes the time: comm, which may be empty, ids, and maybe flags and a CPU. */
static bool take_who(const char *line, const char *end, struct perf_heading *h)
{
	const char *word;
	size_t len = last_word(line, &end, &word);

	for (int i = 0; i < 2 && is_cpu_or_misc(word, len); i++)
		len = last_word(line, &end, &word);
	if (!take_ids(word, len, h))
		return false;
	h->has_pair = memchr(word, '/', len);
	take_comm(line, end, h);
	return true;
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

#define PERIOD_WIDTH 10 /* perf prints a period with "%10lu " and a TID with "%7d " */

/* Whether the last word of [line, end) is a number that perf pads to the width of a period. */
static bool is_wide_number(const char *line, const char *end)
{
	const char *at = end, *word;
	size_t len = last_word(line, &at, &word);

	return text_is_made_of(word, len, "0123456789") && word + len - at > PERIOD_WIDTH;
}

/*
 * Cuts the period off the end of "[CPU] PERIOD", "PID/TID PERIOD" or "TID PERIOD" if there is one.
 * A name may look like the ids before a TID; then the number is narrow. Returns where it starts.
 */
static const char *take_last_period(const char *line, const char *end, struct perf_heading *h)
{
	const char *at = end, *word, *period;
	size_t period_len = last_word(line, &at, &period);
	const char *before = at;
	size_t len = last_word(line, &at, &word);
	bool is_cpu = len > 2 && *word == '[' && text_is_made_of(word, len, "[0123456789]");
	bool is_pair =
		len > 2 && memchr(word, '/', len) && text_is_made_of(word, len, "0123456789/-");
	bool is_tid = at > line && text_is_made_of(word, len, "0123456789");

	if (!is_cpu && !(is_wide_number(line, end) && (is_pair || is_tid)))
		return end;
	return take_period(period, period_len, h) ? before : end;
}

/* Reads "comm PERIOD". */
static bool take_comm_and_period(const char *line, const char *end, struct perf_heading *h)
{
	const char *at = end, *word;

	if (!is_wide_number(line, end))
		return take_comm(line, end, h);
	size_t len = last_word(line, &at, &word);
	return take_period(word, len, h) && take_comm(line, at, h);
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

static bool is_hex_digit(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f');
}

bool perf_is_frame(const char *line, size_t len)
{
	const char *at = line + ADDRESS_WIDTH; /* the last digit */

	if (len <= ADDRESS_WIDTH || *line != '\t' || (at + 1 < line + len && at[1] != ' '))
		return false;
	while (at > line && is_hex_digit(*at))
		at--;
	if (at == line + ADDRESS_WIDTH)
		return false;
	while (at > line && *at == ' ')
		at--;
	return at == line;
}

/*
 * Whether the line begins like another kind of line: a comment, a source line (-F +srccode) or a
 * frame.
 */
static bool begins_as_other(const char *line)
{
	return *line == '#' || *line == '|' || *line == '\t';
}

/*
 * Whether [at, end) may follow the event. A line that begins with blanks may also be a source line.
 * perf itself begins a line with blanks only without -g. In that case the name is padded, or a
 * frame follows the event.
 */
static bool may_follow(const char *line, const char *at, const char *end,
		       const struct perf_heading *h)
{
	return !text_is_space(*line) || perf_is_padded(line, h) || perf_is_address(at, end);
}

bool perf_is_padded(const char *line, const struct perf_heading *h)
{
	return *line == ' ' && h->name_end == PERF_NAME_WIDTH;
}

static bool is_record_word(const char *word, const char *end)
{
	static const char mark[] = "PERF_RECORD_";

	return (size_t)(end - word) >= strlen(mark) && !memcmp(word, mark, strlen(mark));
}

/* Reads what follows the time: "[PERIOD] [EVENT:] REST", or another record. */
static bool take_what(const char *at, const char *end, struct perf_heading *h)
{
	const char *rest = at, *word;
	size_t len = text_next_word(&at, end, &word);

	h->is_record = is_record_word(word, end);
	if (h->is_record)
		return true;
	if (!perf_is_address(rest, end) && take_period(word, len, h)) {
		rest = at;
		len = text_next_word(&at, end, &word);
	}
	if (len && word[len - 1] == ':') {
		h->event = event_of(word, len);
		h->rest = xstrndup(at, (size_t)(end - at));
		return true;
	}
	h->event = xstrdup(h->has_period ? "events" : "samples"); /* -F without the event */
	h->rest = xstrndup(rest, (size_t)(end - rest));
	return !len || perf_is_address(rest, end);
}

/*
 * One way to read a line: [word, at) is the word that it depends on. May leave a part in *h on
 * failure.
 */
typedef bool match_fn(const char *line, const char *word, const char *at, const char *end,
		      struct perf_heading *h);

/* "comm PID/TID [CPU] TIME: PERIOD EVENT:" at its time */
static bool match_time_and_ids(const char *line, const char *word, const char *at, const char *end,
			       struct perf_heading *h)
{
	h->has_time = is_time(word, (size_t)(at - word));
	return h->has_time && take_who(line, word, h) && take_what(at, end, h);
}

/* "comm TIME: PERIOD EVENT:" at its time */
static bool match_time(const char *line, const char *word, const char *at, const char *end,
		       struct perf_heading *h)
{
	h->has_time = is_time(word, (size_t)(at - word));
	if (!h->has_time || !take_comm(line, word, h) || !take_what(at, end, h))
		return false;
	if (!begins_as_other(line))
		return true;
	return !h->is_record && at < end &&
	       (!*h->rest || perf_is_address(h->rest, h->rest + strlen(h->rest)));
}

static bool ends_in_time(const char *text)
{
	const char *end = text + strlen(text), *word;
	size_t len = last_word(text, &end, &word);

	return is_time(word, len);
}

/* "comm PID/TID [CPU] PERIOD EVENT:" at its event, or another record */
static bool match_event_and_ids(const char *line, const char *word, const char *at, const char *end,
				struct perf_heading *h)
{
	h->is_record = is_record_word(word, end);
	if (!h->is_record && (at - word < 2 || at[-1] != ':'))
		return false;
	const char *before = h->is_record ? word : take_last_period(line, word, h);
	if (before == word && is_wide_number(line, word))
		return false;
	if (!take_who(line, before, h) || ends_in_time(h->comm))
		return false;
	if (!h->has_pair && (!*h->comm || begins_as_other(line) || !may_follow(line, at, end, h)))
		return false;
	h->event = event_of(word, (size_t)(at - word));
	h->rest = xstrndup(at, (size_t)(end - at));
	return true;
}

#define PLACE_MAX 128 /* more than the name, the ids, the CPU, the time and the period take */

/*
 * Reads the line at the last place that leaves a name of perf's length, or with `is_any` at the
 * first place.
 */
static bool take_at_place(const char *line, const char *end, match_fn *match, bool is_any,
			  struct perf_heading *h)
{
	const char *at = line, *word;
	bool is_found = false;

	while (text_next_word(&at, end, &word) && (is_any || word - line <= PLACE_MAX)) {
		struct perf_heading one = { 0 };
		if (!match(line, word, at, end, &one) ||
		    (!is_any && one.name_end > PERF_NAME_WIDTH)) {
			perf_heading_fini(&one);
			continue;
		}
		perf_heading_fini(h);
		*h = one;
		is_found = true;
		if (is_any)
			break;
	}
	return is_found;
}

/* Reads "comm EVENT:" or "comm PERIOD EVENT:", alone or with a frame behind it. */
static bool take_heading_without_ids(const char *line, const char *end, struct perf_heading *h)
{
	const char *at = line, *word;
	size_t len;

	while ((len = text_next_word(&at, end, &word))) {
		perf_heading_fini(h);
		if (len < 2 || word[len - 1] != ':' || (at < end && !perf_is_address(at, end)))
			continue;
		if (!take_comm_and_period(line, word, h) || !may_follow(line, at, end, h))
			continue;
		h->event = event_of(word, len);
		h->rest = xstrndup(at, (size_t)(end - at));
		return true;
	}
	return false;
}

/* Reads "comm PID/TID", "comm PERIOD" or "comm PID/TID PERIOD", all that -F leaves of a line. */
static bool take_heading_of_numbers(const char *line, const char *end, struct perf_heading *h)
{
	const char *before = take_last_period(line, end, h);
	bool is_period = before == end && is_wide_number(line, end);

	if (is_period ? !take_comm_and_period(line, end, h) : !take_who(line, before, h))
		return false;
	if (!*h->comm || !may_follow(line, end, end, h))
		return false;
	h->event = xstrdup(h->has_period ? "events" : "samples");
	h->rest = xstrdup("");
	return true;
}

bool perf_take_heading(const char *line, size_t line_len, struct perf_heading *h)
{
	static match_fn *const all[] = { match_time_and_ids, match_event_and_ids, match_time };
	const char *end = line + line_len;

	*h = (struct perf_heading){ 0 };
	while (end > line && text_is_space(end[-1]))
		end--;
	if (end == line)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (take_at_place(line, end, all[i], false, h))
			return true;
	if (begins_as_other(line))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (take_at_place(line, end, all[i], true, h))
			return true;
	h->is_record = memmem(line, (size_t)(end - line), " PERF_RECORD_", strlen(" PERF_RECORD_"));
	if (h->is_record || take_heading_without_ids(line, end, h) ||
	    take_heading_of_numbers(line, end, h))
		return true;
	perf_heading_fini(h);
	return false;
}
