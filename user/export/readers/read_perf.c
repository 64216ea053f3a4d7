/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the output of `perf script`. A sample is one line "comm PID/TID [CPU] TIME: PERIOD EVENT:",
 * then its frames, leaf first, as "ADDRESS SYMBOL+OFFSET (FILE)", then an empty line. With -F the
 * first line may lack everything except comm, a number, and the time or the event. A sample weighs
 * its period, the events counted since the previous sample, as in `perf report`; without a period
 * it weighs 1. The root frame is the thread's name. Source: perf-script(1).
 * Part of export/readers/reader.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/utf8.h"
#include "export/interchange/external.h"
#include "export/readers/line_reader.h"
#include "profile/java_form.h"

#define TYPES_MAX 128 /* 64 events: for each the periods and the number of samples */

/* The words of the first line of a sample. */
struct heading {
	char *comm, *event, *rest; /* owned; rest: the text after the event, a frame without -g */
	u32 pid, tid;
	u64 period;
	bool has_period;
};

struct perf {
	struct line_reader lines;
	struct profile *p;
	struct str *why;
	struct heading heading; /* of the current sample; comm is NULL without one */
	VEC(frame_id) frames;   /* of the current sample, leaf first */
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

/* Returns the length of the next word in [*at, end) and moves *at past it. */
static size_t next_word(const char **at, const char *end, const char **word)
{
	while (*at < end && is_space(**at))
		++*at;
	*word = *at;
	while (*at < end && !is_space(**at))
		++*at;
	return (size_t)(*at - *word);
}

/* Returns the length of the last word of [start, *end). Moves *end before it and its spaces. */
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

/* Reads "12" or "12/34": PID and TID. A PID may be -1. */
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

/* Turns "cpu-clock:ppp:" into cpu-clock and "sched:sched_switch:" into itself. */
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

/* Reads the words before the time: comm, ids and optionally a CPU. */
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

/* Reads the period of the sample. Returns whether the word is a number. */
static bool take_period(const char *word, size_t len, struct heading *h)
{
	char text[32];

	if (len >= sizeof(text) || !is_made_of(word, len, "0123456789"))
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
static const char *take_last_period(const char *line, const char *end, struct heading *h)
{
	const char *at = end, *word, *period;
	size_t period_len = last_word(line, &at, &period);
	const char *before = at;

	if (!is_made_of(period, period_len, "0123456789"))
		return end;
	size_t len = last_word(line, &at, &word);
	bool is_cpu = len > 2 && *word == '[' && is_made_of(word, len, "[0123456789]");
	bool is_pair = len > 2 && memchr(word, '/', len) && is_made_of(word, len, "0123456789/-");
	bool is_wide = period + period_len - before > PERIOD_WIDTH;
	bool is_tid = is_wide && at > line && is_made_of(word, len, "0123456789");
	if (!is_cpu && !is_pair && !is_tid)
		return end;
	return take_period(period, period_len, h) ? before : end;
}

/* Reads "comm PID/TID [CPU] PERIOD EVENT:", which -F without the time prints. */
static bool take_heading_without_time(const char *line, const char *end, struct heading *h)
{
	const char *at = line, *word;
	size_t len;

	if (is_space(*line))
		return false;
	while ((len = next_word(&at, end, &word))) {
		*h = (struct heading){ 0 };
		if (len > 1 && word[len - 1] == ':' &&
		    take_who(line, take_last_period(line, word, h), h)) {
			h->event = event_of(word, len);
			h->rest = xstrndup(at, (size_t)(end - at));
			return true;
		}
	}
	return false;
}

/* Returns whether the line begins a sample, and fills *h. */
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
	if (take_period(word, len, h))
		len = next_word(&at, end, &word);
	if (!len) { /* -F without the event */
		h->event = xstrdup(h->has_period ? "events" : "samples");
		h->rest = xstrdup("");
		return true;
	}
	if (word[len - 1] != ':') {
		heading_fini(h);
		return false;
	}
	h->event = event_of(word, len);
	h->rest = xstrndup(at, (size_t)(end - at));
	return true;
}

/* Names of generated code come from a map of its process. */
static bool is_map(const char *file)
{
	const char *map = strstr(file, "/perf-");

	return map && strstr(map, ".map");
}

/*
 * The kind of code from a map. It is HotSpot's or another runtime's, such as Node's "JS:*f
 * /a.js:1:2".
 */
static enum frame_kind kind_of_generated(const char *name, size_t len)
{
	static const char *const stubs[] = { "stub",  "Stub",     "Blob",
					     "_blob", "adapters", "vtable chunks" };

	if (name_is_java(name, len) || java_form_is_method(name, len))
		return FRAME_C2;
	if (len == strlen("Interpreter") && !memcmp(name, "Interpreter", len))
		return FRAME_INTERPRETED;
	for (size_t i = 0; i < ARRAY_SIZE(stubs) && !memchr(name, ':', len); i++)
		if (memmem(name, len, stubs[i], strlen(stubs[i])))
			return FRAME_STUB;
	return FRAME_NATIVE;
}

/* The kind by the file. */
static enum frame_kind kind_of(const char *file)
{
	static const char *const no_module[] = { "[unknown]", "[vdso]", "[vsyscall]",
						 "[stack]",   "[heap]", "[anon]" };

	if (strstr(file, "vmlinux") || strstr(file, ".ko"))
		return FRAME_KERNEL;
	for (size_t i = 0; i < ARRAY_SIZE(no_module); i++)
		if (!strcmp(file, no_module[i]))
			return FRAME_NATIVE;
	if (*file == '[')
		return FRAME_KERNEL;
	return strstr(file, "libjvm.so") ? FRAME_JVM : FRAME_NATIVE;
}

/*
 * Cuts " (FILE)" off the end of a frame. Returns the file, "" if there is none; the caller frees
 * it.
 */
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

/* The end of the symbol before "+0xOFFSET". Names of classes may contain "+0x" too. */
static const char *before_offset(const char *start, const char *end)
{
	const char *plus = memrchr(start, '+', (size_t)(end - start));

	if (!plus || plus == start || end - plus < 4 || strncmp(plus, "+0x", 3) != 0)
		return end;
	return is_made_of(plus + 3, (size_t)(end - plus - 3), "0123456789abcdef") ? plus : end;
}

static void take_name(struct perf *x, const char *start, const char *end, enum frame_kind kind)
{
	auto_free char *name = xstrndup(start, (size_t)(end - start));

	vec_push(&x->frames, frames_intern(x->p->frames, kind, name, ""));
}

/* "La/B;::m->La/C;::n": perf-map-agent's name of code of m that has n inlined. */
static void take_generated(struct perf *x, const char *start, const char *end)
{
	const char *arrow = memmem(start, (size_t)(end - start), "->", 2), *inlined;
	const char *outer_end = arrow ?: end;

	if (!java_form_is_method(start, (size_t)(outer_end - start)))
		outer_end = end;
	while (end > outer_end && x->frames.nr <= UINT16_MAX) {
		inlined = end;
		while (inlined > outer_end + 2 && memcmp(inlined - 2, "->", 2) != 0)
			inlined--;
		take_name(x, inlined, end, FRAME_INLINED);
		end = inlined - 2;
	}
	take_name(x, start, end, kind_of_generated(start, (size_t)(end - start)));
}

/*
 * Reads "ADDRESS SYMBOL+0xOFFSET (FILE)" or "ADDRESS SYMBOL (inlined)". Skips other lines, which
 * are source lines.
 */
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
	end = before_offset(at, end);

	if (is_map(file)) {
		take_generated(x, at, end);
		return;
	}
	auto_free char *name = xstrndup(at, (size_t)(end - at));
	vec_push(&x->frames, frames_intern(x->p->frames, kind_of(file), name,
					   strcmp(file, "inlined") ? file : ""));
}

/* The unit of the event's periods, as in record. */
static const char *unit_of(const char *event)
{
	static const struct {
		const char *event, *unit;
	} all[] = {
		{ "cpu-clock", "ns" },
		{ "task-clock", "ns" },
		{ "page-faults", "faults" },
		{ "faults", "faults" },
		{ "minor-faults", "faults" },
		{ "major-faults", "faults" },
		{ "alignment-faults", "faults" },
		{ "emulation-faults", "faults" },
		{ "context-switches", "switches" },
		{ "cs", "switches" },
		{ "cpu-migrations", "migrations" },
		{ "migrations", "migrations" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (!strcmp(event, all[i].event))
			return all[i].unit;
	if (!strncmp(event, "sched:sched_stat_", strlen("sched:sched_stat_")))
		return "ns"; /* these tracepoints count their delay */
	return strchr(event, ':') ? "hits" : "events";
}

/* Adds a weight. A period is followed by the number of samples (profile/count.h). */
static int add_weights(struct perf *x, node_id node, labels_id labels, const char *event,
		       struct str *why)
{
	const struct heading *h = &x->heading;
	u32 type = profile_find_type(x->p, event, h->has_period ? unit_of(event) : "samples");
	int err =
		stack_add(&x->stacks, node, labels, type, h->has_period ? (s64)h->period : 1, why);

	if (err || !h->has_period)
		return err;
	auto_free char *count = xasprintf("%s-samples", event);
	type = profile_find_type(x->p, count, "samples");
	return stack_add(&x->stacks, node, labels, type, 1, why);
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
	int err =
		stack_find(&x->stacks, &node, &why) ?: add_weights(x, node, labels, event.at, &why);
	if (!err && x->p->types.nr > TYPES_MAX)
		err = line_reader_refuse(&x->lines, "more than 64 events", x->why);
	if (err && why.at)
		line_reader_refuse(&x->lines, why.at, x->why);
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
		return line_reader_refuse(&x->lines, "neither a sample of perf script nor a frame",
					  x->why);
	if (x->heading.comm && x->frames.nr <= UINT16_MAX)
		take_frame(x, line, len);
	return 0;
}

/* Whether the line is a frame below a sample: "\t 7f6d1cedd99a ..". */
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

/*
 * Decides by the line of the first sample. Without a time a frame must follow, because text of
 * stacks may look the same. With --header more text precedes the sample than fits into the head.
 */
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

	line_reader_init(&x.lines, in);
	stack_adder_init(&x.stacks, p);
	while ((err = line_reader_next(&x.lines, &line, &len, why)) > 0)
		if ((err = take_line(&x, line, len)))
			break;
	err = err ?: end_sample(&x);

	heading_fini(&x.heading);
	line_reader_fini(&x.lines);
	stack_adder_fini(&x.stacks);
	vec_fini(&x.frames);
	return err;
}
