/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what `perf script` prints: per sample one line "comm PID/TID [CPU] TIME: PERIOD EVENT:", of
 * which -F may leave out all but comm, a number and time or event, and
 * its frames, the leaf first, as "ADDRESS SYMBOL+OFFSET (FILE)", then an empty line. Every sample
 * counts one of its event; a thread's name is its root frame. Source: perf-script(1).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/utf8.h"
#include "export/foreign.h"
#include "export/lines.h"

/* The words of a sample's first line. */
struct heading {
	char *comm, *event, *rest; /* owned; rest: what follows the event, a frame without -g */
	u32 pid, tid;
};

struct perf {
	struct lines lines;
	struct profile *p;
	struct str *why;
	struct heading heading; /* of the sample that is read, comm NULL if none */
	VEC(frame_id) frames;   /* of it, the leaf first */
	struct stack_adder stacks;
};

static void heading_fini(struct heading *h)
{
	free(h->comm);
	free(h->event);
	free(h->rest);
	*h = (struct heading){ 0 };
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_space(char c)
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

/* The next word in [*at, end); *at is put behind it. */
static size_t next_word(const char **at, const char *end, const char **word)
{
	while (*at < end && is_space(**at))
		++*at;
	*word = *at;
	while (*at < end && !is_space(**at))
		++*at;
	return (size_t)(*at - *word);
}

/* The last word of [start, *end); *end is put before it and its blanks. */
static size_t last_word(const char *start, const char **end, const char **word)
{
	while (*end > start && is_space((*end)[-1]))
		--*end;
	const char *word_end = *end;
	while (*end > start && !is_space((*end)[-1]))
		--*end;
	*word = *end;
	while (*end > start && is_space((*end)[-1]))
		--*end;
	return (size_t)(word_end - *word);
}

/* "12" or "12/34", PID and TID; a PID may be -1. */
static bool take_ids(const char *word, size_t len, struct heading *h)
{
	char text[32];
	char *end;

	if (!len || len >= sizeof(text) || !(is_digit(*word) || *word == '-'))
		return false;
	memcpy(text, word, len);
	text[len] = '\0';
	long pid = strtol(text, &end, 10), tid = 0;
	if (*end == '/')
		tid = strtol(end + 1, &end, 10);
	else
		tid = pid;
	if (*end || pid > INT32_MAX || tid > INT32_MAX)
		return false;
	h->pid = pid > 0 ? (u32)pid : 0;
	h->tid = tid > 0 ? (u32)tid : 0;
	return true;
}

/* "cpu-clock:ppp:" is cpu-clock, "sched:sched_switch:" is itself. */
static char *event_of(const char *word, size_t len)
{
	while (len && word[len - 1] == ':')
		len--;
	size_t at = len;
	while (at > 0 && strchr("ukhpPGHSDIWe", word[at - 1]))
		at--;
	if (at > 0 && at < len && word[at - 1] == ':')
		len = at - 1;
	return len ? xstrndup(word, len) : xstrdup("samples");
}

/* What stands before the time: comm, ids and perhaps a CPU. */
static bool take_who(const char *line, const char *end, struct heading *h)
{
	const char *word;
	size_t len = last_word(line, &end, &word);

	if (len > 2 && word[0] == '[' && word[len - 1] == ']')
		len = last_word(line, &end, &word);
	if (!take_ids(word, len, h) || end == line)
		return false;
	while (line < end && is_space(*line))
		line++;
	h->comm = xstrndup(line, (size_t)(end - line));
	return true;
}

static bool is_made_of(const char *word, size_t len, const char *letters)
{
	for (size_t i = 0; i < len; i++)
		if (!strchr(letters, word[i]))
			return false;
	return len > 0;
}

/* The end of who ran, in front of a period if there is one: "[CPU] PERIOD" or "PID/TID PERIOD". */
static const char *before_period(const char *line, const char *end)
{
	const char *at = end, *word;
	size_t len = last_word(line, &at, &word);
	const char *before = at;

	if (!is_made_of(word, len, "0123456789"))
		return end;
	len = last_word(line, &at, &word);
	bool is_cpu = len > 2 && *word == '[' && is_made_of(word, len, "[0123456789]");
	bool is_pair = len > 2 && memchr(word, '/', len) && is_made_of(word, len, "0123456789/-");
	return is_cpu || is_pair ? before : end;
}

/* "comm PID/TID [CPU] PERIOD EVENT:", as -F without time prints it. */
static bool take_heading_without_time(const char *line, const char *end, struct heading *h)
{
	const char *at = line, *word;
	size_t len;

	if (is_space(*line))
		return false;
	while ((len = next_word(&at, end, &word)))
		if (len > 1 && word[len - 1] == ':' &&
		    take_who(line, before_period(line, word), h)) {
			h->event = event_of(word, len);
			h->rest = xstrndup(at, (size_t)(end - at));
			return true;
		}
	return false;
}

/* Returns whether the line begins a sample; fills *h. */
static bool take_heading(const char *line, size_t line_len, struct heading *h)
{
	const char *end = line + line_len, *at = line, *word;
	size_t len;

	if (!line_len || *line == '#' || *line == '\t')
		return false;
	while ((len = next_word(&at, end, &word)))
		if (is_time(word, len))
			break;
	if (!len)
		return take_heading_without_time(line, end, h);
	if (!take_who(line, word, h))
		return false;
	len = next_word(&at, end, &word);
	if (!len) { /* -F without the event */
		h->event = xstrdup("samples");
		h->rest = xstrdup("");
		return true;
	}
	bool is_period = len > 0;
	for (size_t i = 0; i < len; i++)
		is_period &= is_digit(word[i]);
	if (is_period)
		len = next_word(&at, end, &word);
	if (!len || word[len - 1] != ':') {
		heading_fini(h);
		return false;
	}
	h->event = event_of(word, len);
	h->rest = xstrndup(at, (size_t)(end - at));
	return true;
}

/* By the file; code of a JVM stands in a map file of its own. */
static enum frame_kind kind_of(const char *file)
{
	static const char *const no_module[] = { "[unknown]", "[vdso]", "[vsyscall]",
						 "[stack]",   "[heap]", "[anon]" };
	const char *map = strstr(file, "/perf-");

	if (strstr(file, "vmlinux") || strstr(file, ".ko"))
		return FRAME_KERNEL;
	for (size_t i = 0; i < ARRAY_SIZE(no_module); i++)
		if (!strcmp(file, no_module[i]))
			return FRAME_NATIVE;
	if (*file == '[')
		return FRAME_KERNEL;
	if (map && strstr(map, ".map"))
		return FRAME_C2;
	return strstr(file, "libjvm.so") ? FRAME_JVM : FRAME_NATIVE;
}

/* Cuts " (FILE)" off the end of a frame; the file is the caller's to free, "" if there is none. */
static char *take_file(const char *start, const char **end)
{
	const char *open = *end, *close = *end - 1;

	if (*end <= start || *close != ')')
		return xstrdup("");
	while (open > start && !(*open == '(' && is_space(open[-1])))
		open--;
	if (open == start)
		return xstrdup("");
	*end = open;
	return xstrndup(open + 1, (size_t)(close - open - 1));
}

static const char *skip_back(const char *start, const char *end)
{
	while (end > start && is_space(end[-1]))
		end--;
	return end;
}

/* "ADDRESS SYMBOL+0xOFFSET (FILE)" or "ADDRESS SYMBOL (inlined)"; others are source lines. */
static void take_frame(struct perf *x, const char *line, size_t len)
{
	const char *at = line, *end = line + len, *address;
	size_t address_len = next_word(&at, end, &address);

	for (size_t i = 0; i < address_len; i++)
		if (!memchr("0123456789abcdef", address[i], 16))
			return;
	if (!address_len)
		return;
	while (at < end && is_space(*at))
		at++;
	end = skip_back(at, end);
	auto_free char *file = take_file(at, &end);
	end = skip_back(at, end);
	const char *plus = memrchr(at, '+', (size_t)(end - at));
	if (plus && plus > at && end - plus > 3 && !strncmp(plus, "+0x", 3))
		end = plus;

	bool is_inlined = !strcmp(file, "inlined"), is_code_of_jvm = strstr(file, "/perf-");
	auto_free char *name = xstrndup(at, (size_t)(end - at));
	vec_push(&x->frames, frames_intern(x->p->frames, kind_of(file), name,
					   is_inlined || is_code_of_jvm ? "" : file));
}

static int end_sample(struct perf *x)
{
	auto_str struct str comm = { 0 }, event = { 0 }, why = { 0 };
	const struct heading *h = &x->heading;
	node_id node;

	if (!h->comm)
		return 0;
	if (!x->frames.nr)
		take_frame(x, h->rest, strlen(h->rest));
	utf8_clean(&comm, h->comm, 256);
	utf8_clean(&event, h->event, 256);
	vec_push(&x->stacks.frames, frames_intern(x->p->frames, FRAME_GROUP, comm.at, ""));
	while (x->frames.nr)
		vec_push(&x->stacks.frames, x->frames.at[--x->frames.nr]);
	const struct labels who = { .pid = h->pid, .tid = h->tid, .thread = comm.at };
	labels_id labels = profile_intern_labels(x->p, &who);
	u32 type = profile_find_type(x->p, event.at, "samples");
	int err = x->p->types.nr > 64 ? lines_refuse(&x->lines, "more than 64 events", x->why) : 0;
	err = err ?: stack_find(&x->stacks, &node, &why);
	err = err ?: stack_add(&x->stacks, node, labels, type, 1, &why);
	if (err && why.at)
		lines_refuse(&x->lines, why.at, x->why);
	heading_fini(&x->heading);
	return err;
}

static int take_line(struct perf *x, const char *line, size_t len)
{
	struct heading h = { 0 };

	while (len && is_space(line[len - 1]))
		len--;
	if (!len)
		return end_sample(x);
	if (*line == '#')
		return 0;
	if (take_heading(line, len, &h)) {
		int err = end_sample(x);
		x->heading = h;
		return err;
	}
	if (!is_space(*line))
		return lines_refuse(&x->lines, "neither a sample of perf script nor a frame",
				    x->why);
	if (x->heading.comm && x->frames.nr <= UINT16_MAX)
		take_frame(x, line, len);
	return 0;
}

/* "\t    7f6d1cedd99a ..": what stands below a sample. */
static bool is_frame(const char *at, const char *end)
{
	const char *line_end = memchr(at, '\n', (size_t)(end - at)) ?: end, *word;

	if (at == line_end || !is_space(*at))
		return false;
	size_t len = next_word(&at, line_end, &word);
	for (size_t i = 0; i < len; i++)
		if (!memchr("0123456789abcdef", word[i], 16))
			return false;
	return len > 0;
}

/* The first sample's line tells; without a time only if a frame follows, as text of stacks may look
 * like the rest. --header puts more before it than there is in the head. */
bool perf_is(const u8 *head, size_t len)
{
	static const char header[] = "# ========\n";
	const char *at = (const char *)head, *end = at + len;
	bool has_header = len >= sizeof(header) - 1 && !memcmp(at, header, sizeof(header) - 1);

	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at)) ?: end, *word;
		const char *next = line_end < end ? line_end + 1 : end, *first = at;
		struct heading h = { 0 };
		if (take_heading(at, (size_t)(line_end - at), &h)) {
			heading_fini(&h);
			size_t word_len;
			while ((word_len = next_word(&first, line_end, &word)))
				if (is_time(word, word_len))
					return true;
			return is_frame(next, end);
		}
		if (*at != '#' && line_end != at)
			return false;
		at = next;
	}
	return has_header;
}

int perf_read(struct input *in, struct profile *p, struct str *why)
{
	struct perf x = { .p = p, .why = why };
	char *line;
	size_t len;
	int err;

	lines_init(&x.lines, in);
	stack_adder_init(&x.stacks, p);
	while ((err = lines_next(&x.lines, &line, &len, why)) > 0)
		if ((err = take_line(&x, line, len)))
			break;
	err = err ?: end_sample(&x);

	heading_fini(&x.heading);
	lines_fini(&x.lines);
	stack_adder_fini(&x.stacks);
	vec_fini(&x.frames);
	return err;
}
