/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the output of `perf script`. A sample is one line "comm PID/TID [CPU] TIME: PERIOD EVENT:",
 * then its frames, leaf first, as "ADDRESS SYMBOL+OFFSET (FILE)", then an empty line. With -F the
 * first line may lack everything except comm and one of the ids, the time and the event. A sample
 * weighs its period, the events counted since the previous sample, as in `perf report`; without a
 * period it weighs 1. Lines with PERF_RECORD_ are other records. The root frame is the thread's
 * name. Source: perf-script(1). Part of export/readers/reader.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/utf8.h"
#include "export/interchange/external.h"
#include "export/readers/line_reader.h"
#include "export/readers/perf_events.h"
#include "export/readers/perf_heading.h"
#include "export/readers/perf_mappings.h"
#include "profile/java_form.h"

#define TYPES_MAX 128 /* 64 events: for each the periods and the number of samples */

struct perf {
	struct line_reader lines;
	struct profile *p;
	struct str *why;
	struct perf_heading heading; /* of the current sample; comm is NULL without one */
	VEC(frame_id) frames;        /* of the current sample, leaf first */
	struct stack_adder stacks;
	struct perf_events events;
	struct perf_mappings mappings;
};

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
 * Finds the `(` that belongs to the `)` at `close` and follows a blank; NULL if no `(` does. A file
 * may have parentheses in its name: "/opt/App (x86)/lib.so (deleted)". If they do not pair, the
 * last
 * `(` after a blank is taken.
 */
static const char *start_of_group(const char *start, const char *close)
{
	const char *nearest = NULL;
	s64 depth = 0;

	for (const char *at = close; at > start; at--) {
		depth += (*at == ')') - (*at == '(');
		if (*at != '(' || !text_is_space(at[-1]))
			continue;
		if (depth <= 0)
			return at;
		nearest = nearest ?: at;
	}
	return nearest;
}

/*
 * Cuts " (FILE)" off the end of a frame. Returns the file, "" if there is none; the caller frees
 * it.
 */
static char *take_file(const char *start, const char **end)
{
	const char *close = *end - 1;

	if (*end <= start || *close != ')')
		return xstrdup("");
	const char *open = start_of_group(start, close);
	if (!open)
		return xstrdup("");
	*end = open;
	return xstrndup(open + 1, (size_t)(close - open - 1));
}

static const char *skip_back(const char *start, const char *end)
{
	while (end > start && text_is_space(end[-1]))
		end--;
	return end;
}

/* The end of the symbol before "+0xOFFSET". Names of classes may contain "+0x" too. */
static const char *before_offset(const char *start, const char *end)
{
	const char *plus = memrchr(start, '+', (size_t)(end - start));

	if (!plus || plus == start || end - plus < 4 || strncmp(plus, "+0x", 3) != 0)
		return end;
	return text_is_made_of(plus + 3, (size_t)(end - plus - 3), "0123456789abcdef") ? plus : end;
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

/* Cuts the offset off "FILE+0x1f", which -F +dsoff prints. Returns whether there was one. */
static bool take_file_offset(char *file, u64 *offset)
{
	const char *end = file + strlen(file), *plus = before_offset(file, end);

	if (plus == end)
		return false;
	*offset = strtoull(plus + 3, NULL, 16);
	file[plus - file] = '\0';
	return true;
}

/* perf marks files that were deleted or replaced, and memfds. */
static void cut_deleted(char *file)
{
	static const char mark[] = " (deleted)";
	size_t len = strlen(file), mark_len = sizeof(mark) - 1;

	if (len > mark_len && !strcmp(file + len - mark_len, mark))
		file[len - mark_len] = '\0';
}

/* "[lib.so]+0x1f" for "[unknown] (/usr/lib/lib.so)", without the offset if that is not known. */
static char *name_of_unknown(struct perf *x, const char *file, const char *address, bool has_offset,
			     u64 offset)
{
	/* Offsets in memory without a file say nothing. */
	bool has_file = strncmp(file, "//", 2) != 0 && strcmp(file, "[unknown]") != 0;

	/* A lone TID may be that of the main thread, which is the PID. */
	if (!has_offset)
		has_offset = perf_mappings_find(&x->mappings, x->heading.pid ?: x->heading.tid,
						strtoull(address, NULL, 16), &offset);
	return name_from_offset(file, has_file && has_offset ? &offset : NULL);
}

/*
 * Reads "ADDRESS SYMBOL+0xOFFSET (FILE)" or "ADDRESS SYMBOL (inlined)". Skips other lines, which
 * are source lines.
 */
static void take_frame(struct perf *x, const char *line, size_t len)
{
	const char *at = line, *end = line + len, *address;
	size_t address_len = text_next_word(&at, end, &address);

	for (size_t i = 0; i < address_len; i++)
		if (!memchr("0123456789abcdef", address[i], 16))
			return;
	if (!address_len)
		return;
	while (at < end && text_is_space(*at))
		at++;
	end = skip_back(at, end);
	auto_free char *file = take_file(at, &end);
	end = skip_back(at, end);
	end = before_offset(at, end);

	if (is_map(file)) {
		take_generated(x, at, end);
		return;
	}
	u64 offset = 0;
	bool has_offset = take_file_offset(file, &offset);
	cut_deleted(file);
	auto_free char *name = xstrndup(at, (size_t)(end - at));
	if (!strcmp(name, "[unknown]") && *file) {
		free(name);
		name = name_of_unknown(x, file, address, has_offset, offset);
	}
	vec_push(&x->frames, frames_intern(x->p->frames, kind_of(file), name,
					   strcmp(file, "inlined") ? file : ""));
}

/* Adds a weight. A period is followed by the number of samples (profile/count.h). */
static int add_weights(struct perf *x, node_id node, labels_id labels, const char *event,
		       struct str *why)
{
	const struct perf_heading *h = &x->heading;
	u32 type = perf_events_find(&x->events, event, h->has_period, false);
	int err =
		stack_add(&x->stacks, node, labels, type, h->has_period ? (s64)h->period : 1, why);

	if (err || !h->has_period)
		return err;
	type = perf_events_find(&x->events, event, true, true);
	return stack_add(&x->stacks, node, labels, type, 1, why);
}

static int end_sample(struct perf *x)
{
	auto_str struct str comm = { 0 }, event = { 0 }, why = { 0 };
	const struct perf_heading *h = &x->heading;
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
	if (!err && x->events.types.nr > TYPES_MAX)
		err = line_reader_refuse(&x->lines, "more than 64 events", x->why);
	if (err && why.at)
		line_reader_refuse(&x->lines, why.at, x->why);
	perf_heading_fini(&x->heading);
	return err;
}

/* Options such as --show-mmap-events print other records between the samples. */
static bool is_other_record(const char *line, size_t len)
{
	return memmem(line, len, " PERF_RECORD_", strlen(" PERF_RECORD_"));
}

static int take_line(struct perf *x, const char *line, size_t len)
{
	struct perf_heading h = { 0 };

	while (len && text_is_space(line[len - 1]))
		len--;
	if (!len)
		return end_sample(x);
	if (is_other_record(line, len)) {
		perf_mappings_add(&x->mappings, line, len);
		return 0;
	}
	if (*line == '#' || *line == '|') /* |: -F +srccode */
		return 0;
	if (perf_take_heading(line, len, &h)) {
		int err = end_sample(x);
		x->heading = h;
		return err;
	}
	if (!text_is_space(*line))
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

	if (at == line_end || !text_is_space(*at))
		return false;
	size_t len = text_next_word(&at, line_end, &word);
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
		struct perf_heading h = { 0 };
		if (line_end == end && has_header) /* the head cuts it off */
			break;
		if (is_other_record(at, (size_t)(line_end - at))) {
			at = next;
			has_header = true; /* it may fill the head */
			continue;
		}
		if (perf_take_heading(at, (size_t)(line_end - at), &h)) {
			bool has_frame = perf_is_address(h.rest, h.rest + strlen(h.rest));
			perf_heading_fini(&h);
			size_t word_len;
			while ((word_len = text_next_word(&first, line_end, &word)))
				if (perf_is_time(word, word_len))
					return true;
			return has_frame || is_frame(next, end);
		}
		if (*at != '#' && line_end != at)
			return false;
		at = next;
	}
	return has_header;
}

/* Ends the last sample and names the types. */
static int settle(struct perf *x)
{
	auto_str struct str why = { 0 };
	int err = end_sample(x);

	if (err)
		return err;
	err = perf_events_settle(&x->events, &x->stacks, &why);
	return err ? line_reader_refuse(&x->lines, why.at, x->why) : 0;
}

int perf_read(struct input *in, struct profile *p, struct str *why)
{
	struct perf x = { .p = p, .why = why };
	char *line;
	size_t len;
	int err;

	line_reader_init(&x.lines, in);
	stack_adder_init(&x.stacks, p);
	perf_events_init(&x.events, p);
	while ((err = line_reader_next(&x.lines, &line, &len, why)) > 0)
		if ((err = take_line(&x, line, len)))
			break;
	err = err ?: settle(&x);

	perf_heading_fini(&x.heading);
	line_reader_fini(&x.lines);
	stack_adder_fini(&x.stacks);
	perf_events_fini(&x.events);
	perf_mappings_fini(&x.mappings);
	vec_fini(&x.frames);
	return err;
}
