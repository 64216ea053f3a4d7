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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/dict.h"
#include "base/str.h"
#include "base/vec.h"
#include "export/interchange/external.h"
#include "export/readers/line_reader.h"
#include "export/readers/perf_heading.h"
#include "profile/frames/java_form.h"

/* Mappings that `perf script --show-mmap-events` prints. */
struct perf_mapping {
	u64 start, end, file_off;
	u32 earlier; /* the process's mapping before, plus one; 0: none */
};

struct perf_mappings {
	VEC(struct perf_mapping) all;
	struct dict last; /* pid -> its last mapping, plus one */
};

#define MAPPINGS_MAX 1000000
#define STEPS_MAX    4096 /* a file may have very many mappings of one process */

/* Adds the mapping if the line is its record. */
static void perf_mappings_add(struct perf_mappings *m, const char *line, size_t len)
{
	static const char mark[] = "PERF_RECORD_MMAP";
	const char *at = memmem(line, len, mark, strlen(mark));
	unsigned long long start, size, file_off;
	int pid;

	if (!at || m->all.nr == MAPPINGS_MAX)
		return;
	at += strlen(mark);
	auto_free char *rest = xstrndup(at, (size_t)(line + len - at));
	const char *fields = rest + (*rest == '2');
	if (sscanf(fields, " %d/%*d: [%llx(%llx) @ %llx", &pid, &start, &size, &file_off) != 4)
		return;
	u64 *last = dict_add(&m->last, (u32)pid);
	vec_push(&m->all, (struct perf_mapping){ start, start + size, file_off, (u32)*last });
	*last = m->all.nr;
}

/* Finds the offset of an address in its file. Returns false if the mapping is not known. */
static bool perf_mappings_find(const struct perf_mappings *m, u32 pid, u64 address, u64 *offset)
{
	const u64 *last = dict_find(&m->last, pid);
	u64 at = last ? *last : 0;

	for (int i = 0; at && i < STEPS_MAX; i++) {
		const struct perf_mapping *one = &m->all.at[at - 1];
		if (address >= one->start && address < one->end) {
			*offset = address - one->start + one->file_off;
			return true;
		}
		at = one->earlier;
	}
	return false;
}

static void perf_mappings_fini(struct perf_mappings *m)
{
	vec_fini(&m->all);
	dict_fini(&m->last);
}

struct perf_type {
	char *event; /* owned, with its modifier: "cycles:u" */
	bool has_period;
	bool is_count; /* a type that counts samples, beside the type of their periods */
};

/*
 * The types of one file are the last ones of the profile until perf_events_settle. By then it is
 * known which events differ by their modifier only.
 */
struct perf_events {
	struct profile *p;
	u32 first; /* the first type of this file */
	VEC(struct perf_type) types;
};

static void perf_events_init(struct perf_events *e, struct profile *p)
{
	*e = (struct perf_events){ .p = p, .first = (u32)p->types.nr };
}

static void perf_events_fini(struct perf_events *e)
{
	vec_each(t, &e->types)
		free(t->event);
	vec_fini(&e->types);
}

/* The length of the event's name without its modifier: 9 for "cpu-clock:ppp". */
static size_t len_without_modifier(const char *event)
{
	size_t len = strlen(event), at = len;

	while (at > 0 && strchr("ukhpPGHSDIWe", event[at - 1]))
		at--;
	return at > 1 && at < len && event[at - 1] == ':' ? at - 1 : len;
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

static char *type_name(const char *event, size_t len, bool is_count)
{
	return xasprintf("%.*s%s", (int)len, event, is_count ? "-samples" : "");
}

static u32 add_type(struct perf_events *e, const struct perf_type *t)
{
	size_t len = len_without_modifier(t->event);
	auto_free char *base = xstrndup(t->event, len);
	auto_free char *name = type_name(t->event, strlen(t->event), t->is_count);
	const char *unit = t->has_period && !t->is_count ? unit_of(base) : "samples";

	vec_push(&e->types, *t);
	return profile_add_type(e->p, name, unit);
}

/* The index of a type in the profile, added if missing. */
static u32 perf_events_find(struct perf_events *e, const char *event, bool has_period,
			    bool is_count)
{
	for (u32 i = 0; i < e->types.nr; i++) {
		const struct perf_type *t = &e->types.at[i];
		if (t->has_period == has_period && t->is_count == is_count &&
		    !strcmp(t->event, event))
			return e->first + i;
	}
	return add_type(e, &(struct perf_type){ xstrdup(event), has_period, is_count });
}

/* Whether the file has the event with another modifier, too. */
static bool has_other_modifier(const struct perf_events *e, const char *event, size_t len)
{
	vec_each(t, &e->types)
		if (strcmp(t->event, event) != 0 && len_without_modifier(t->event) == len &&
		    !strncmp(t->event, event, len))
			return true;
	return false;
}

/* Adds the weights of a type to an earlier one of the same name and unit if there is one. */
static int join_type(struct perf_events *e, u32 type, struct stack_adder *stacks, struct str *why)
{
	const struct value_type *t = &e->p->types.at[type];
	u32 earlier = profile_find_type(e->p, t->name, t->unit);

	if (earlier == type)
		return 0;
	for (size_t i = 0, nr = e->p->weights.nr; i < nr; i++) {
		const struct weight w = e->p->weights.at[i];
		int err = w.type == type
				  ? stack_add(stacks, w.node, w.labels, earlier, (s64)w.value, why)
				  : 0;
		if (err)
			return err;
	}
	profile_drop_type(e->p, type);
	return 0;
}

/*
 * Names the types: an event keeps its modifier if another one has the same name without it. Adds
 * the weights of types that earlier files have, too, to theirs. -EINVAL and a sentence if a sum is
 * too large.
 */
static int perf_events_settle(struct perf_events *e, struct stack_adder *stacks, struct str *why)
{
	for (u32 i = 0; i < e->types.nr; i++) {
		const struct perf_type *t = &e->types.at[i];
		size_t len = len_without_modifier(t->event);
		char **name = &e->p->types.at[e->first + i].name;
		if (len == strlen(t->event) || has_other_modifier(e, t->event, len))
			continue;
		free(*name);
		*name = type_name(t->event, len, t->is_count);
	}
	for (u32 i = (u32)e->types.nr; i-- > 0;) {
		int err = join_type(e, e->first + i, stacks, why);
		if (err)
			return err;
	}
	return 0;
}

#define TYPES_MAX       128 /* 64 events: for each the periods and the number of samples */
#define TOO_MANY_EVENTS "more than 64 events"

struct perf {
	struct line_reader lines;
	struct profile *p;
	struct str *why;
	struct perf_heading heading; /* of the current sample; comm is NULL without one */
	VEC(frame_id) frames;        /* of the current sample, leaf first */
	struct stack_adder stacks;
	struct perf_events events;
	struct perf_mappings mappings;
	struct str name_part; /* lines that may begin the name of the next sample */
	u64 name_part_line;   /* the number of the first of them */
	bool is_inside;       /* the last line may have a name that continues in the next line */
	/* other records with times were read, as in the output of perf for perf.data */
	bool has_records;
	bool is_headless; /* the last lines were frames without a sample */
	u64 nr_headless, nr_lines_left_out, first_left_out;
};

/* Whether the sample has a frame on its own line, as without -g. */
static bool has_frame(const struct perf_heading *h)
{
	return h->rest && perf_is_address(h->rest, h->rest + strlen(h->rest));
}

/* Whether the sample's line ends in the text of a tracepoint, or within the name of a file. */
static bool has_open_end(const struct perf_heading *h)
{
	return *h->rest && h->rest[strlen(h->rest) - 1] != ')';
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

/* Cuts " (/FILE" off the end of a frame, where a line end in the name of the file cuts the line. */
static char *take_cut_file(const char *start, const char **end)
{
	static const char mark[] = " (/";
	const char *open = memmem(start, (size_t)(*end - start), mark, strlen(mark)),
		   *file_end = *end;

	if (!open)
		return xstrdup("");
	*end = open;
	return xstrndup(open + 2, (size_t)(file_end - open - 2));
}

/*
 * Cuts " (FILE)" off the end of a frame. Returns the file, "" if there is none; the caller frees
 * it.
 */
static char *take_file(const char *start, const char **end)
{
	const char *close = *end - 1;

	if (*end <= start)
		return xstrdup("");
	if (*close != ')')
		return take_cut_file(start, end);
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
	/* An offset is left out for memory without a file, where it means nothing. */
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
	auto_free char *name = *h->comm ? xstrdup(h->comm) : xasprintf(":%u", h->tid); /* as perf */
	utf8_clean(&comm, name, 256);
	utf8_clean(&event, h->event, 256);
	vec_push(&x->stacks.frames, frames_intern(x->p->frames, FRAME_GROUP, comm.at, ""));
	while (x->frames.nr)
		vec_push(&x->stacks.frames, x->frames.at[--x->frames.nr]);
	const struct labels who = { .pid = h->pid, .tid = h->tid, .thread = comm.at };
	labels_id labels = profile_intern_labels(x->p, &who);
	int err =
		stack_find(&x->stacks, &node, &why) ?: add_weights(x, node, labels, event.at, &why);
	if (!err && x->events.types.nr > TYPES_MAX)
		err = line_reader_refuse(&x->lines, TOO_MANY_EVENTS, x->why);
	if (err && why.at)
		line_reader_refuse(&x->lines, why.at, x->why);
	perf_heading_fini(&x->heading);
	return err;
}

static int refuse_line(struct perf *x, u64 nr_line)
{
	x->lines.nr = nr_line;
	return line_reader_refuse(&x->lines, "neither a sample of perf script nor a frame", x->why);
}

/* Refuses or counts a line of an unknown kind. Such lines are parts of names with a line end. */
static int leave_out(struct perf *x, u64 nr_line)
{
	if (!x->is_inside && !x->has_records)
		return refuse_line(x, nr_line);
	if (!x->nr_lines_left_out++)
		x->first_left_out = nr_line;
	return 0;
}

/* Gives up the part of a name that was kept. It may be a source line if it begins with a blank. */
static int drop_name_part(struct perf *x)
{
	bool is_known = !x->name_part.len || text_is_space(*x->name_part.at);

	str_clear(&x->name_part);
	return is_known ? 0 : leave_out(x, x->name_part_line);
}

/* Keeps a line that may be the start of a name: a process may choose one with line ends. */
static int keep_name_part(struct perf *x, const char *line, size_t len)
{
	if (x->name_part.len + len >= PERF_NAME_WIDTH) {
		int err = drop_name_part(x);
		if (err)
			return err;
	}
	if (len >= PERF_NAME_WIDTH)
		return text_is_space(*line) ? 0 : leave_out(x, x->lines.nr);
	if (!x->name_part.len)
		x->name_part_line = x->lines.nr;
	str_add_bytes(&x->name_part, line, len);
	str_add_char(&x->name_part, '\n');
	return 0;
}

/*
 * Puts the lines before a sample into its name if the whole has the length of a name. Lines that
 * begin with blanks must be padded with it, because source lines begin so, too.
 */
static int join_name(struct perf *x, struct perf_heading *h)
{
	size_t len = x->name_part.len + h->name_end;

	if (!x->name_part.len)
		return 0;
	if (len > PERF_NAME_WIDTH || (*x->name_part.at == ' ' && len != PERF_NAME_WIDTH))
		return drop_name_part(x);
	char *name =
		xasprintf("%s%s", x->name_part.at + strspn(x->name_part.at, " "), h->comm ?: "");
	free(h->comm);
	h->comm = name;
	str_clear(&x->name_part);
	return 0;
}

static int take_heading(struct perf *x, const char *line, size_t len, struct perf_heading *h)
{
	int err = join_name(x, h);

	if (!err && h->is_record) {
		perf_mappings_add(&x->mappings, line, len);
		x->has_records |= h->has_time;
		x->is_inside = true;
	} else if (!err) {
		err = end_sample(x);
		x->heading = *h;
		*h = (struct perf_heading){ 0 };
		x->is_inside = has_open_end(&x->heading);
	}
	x->is_headless = false;
	perf_heading_fini(h);
	return err;
}

/* Takes a line that begins with a blank. `is_perfs`: it is a frame in perf's columns. */
static int take_indented(struct perf *x, const char *line, size_t len, bool is_perfs)
{
	if (!is_perfs && (!x->heading.comm || has_frame(&x->heading)) && len < PERF_NAME_WIDTH)
		return keep_name_part(x, line, len);
	int err = drop_name_part(x);
	if (x->heading.comm) {
		x->is_inside = true;
		if (x->frames.nr <= UINT16_MAX && (is_perfs || !has_frame(&x->heading)))
			take_frame(x, line, len);
	} else if (is_perfs && !x->is_headless) {
		x->is_headless = true;
		x->nr_headless++;
	}
	return err;
}

static int take_line(struct perf *x, const char *line, size_t len)
{
	struct perf_heading h;

	while (len && text_is_space(line[len - 1]))
		len--;
	if (!len) {
		x->is_inside = x->is_headless = false;
		int err = end_sample(x);
		return err || !x->name_part.len ? err : keep_name_part(x, line, 0);
	}
	if (perf_is_frame(line, len))
		return take_indented(x, line, len, true);
	/* With the time a sample takes more than a name: this is a name with a line end. */
	bool is_name = x->has_records && len < PERF_NAME_WIDTH;
	if (!is_name && perf_take_heading(line, len, &h))
		return take_heading(x, line, len, &h);
	if (*line == '#' || *line == '|') /* |: -F +srccode */
		return 0;
	if (text_is_space(*line))
		return take_indented(x, line, len, false);
	return x->is_inside ? leave_out(x, x->lines.nr) : keep_name_part(x, line, len);
}

static bool begins_with_hex(const char *at, const char *end)
{
	const char *word;
	size_t len = text_next_word(&at, end, &word);

	return text_is_made_of(word, len, "0123456789abcdef");
}

/* Whether the line is a frame below a sample: "\t 7f6d1cedd99a ..". */
static bool is_frame(const char *at, const char *end)
{
	const char *line_end = memchr(at, '\n', (size_t)(end - at)) ?: end;

	return at < line_end && text_is_space(*at) && begins_with_hex(at, line_end);
}

/*
 * Whether the line, which is followed by `next`, is surely perf's. Without a time it must have a
 * frame or the padding of perf, because text of stacks may look the same.
 */
static bool is_surely_perf(const char *line, const char *line_end, const char *next,
			   const char *end, const struct perf_heading *h)
{
	if (h->has_time || h->is_record)
		return h->has_time;
	return has_frame(h) || is_frame(next, end) ||
	       (perf_is_padded(line, h) && line_end[-1] == ' ');
}

/*
 * Whether the file is output of perf, decided by the line of the first sample. With --header, the
 * text before that sample may be longer than the head.
 */
bool perf_is(const u8 *head, size_t len)
{
	static const char header[] = "# ========\n";
	const char *at = (const char *)head, *end = at + len;
	bool has_header = len >= sizeof(header) - 1 && !memcmp(at, header, sizeof(header) - 1);
	size_t name_part = 0; /* length of the lines that may begin a name with line ends */

	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at)) ?: end;
		const char *next = line_end < end ? line_end + 1 : end;
		size_t line_len = (size_t)(line_end - at);
		struct perf_heading h;
		if (line_end == end && has_header) /* the head cuts it off */
			break;
		if (!perf_is_frame(at, line_len) && perf_take_heading(at, line_len, &h)) {
			bool is_sure = is_surely_perf(at, line_end, next, end, &h);
			bool is_name = name_part + h.name_end <= PERF_NAME_WIDTH;
			bool is_record = h.is_record;
			perf_heading_fini(&h);
			if (is_sure || !is_record)
				return is_sure && (!name_part || is_name);
			has_header = true; /* it may fill the head */
		} else if (*at != '#' && (line_len || name_part)) {
			name_part += line_len + 1;
			if (name_part > PERF_NAME_WIDTH)
				return false;
		}
		at = next;
	}
	return has_header;
}

/* Names the types of the file. Adds notes about lines and stacks that were left out. */
static int settle(struct perf *x)
{
	auto_str struct str why = { 0 };
	int err = end_sample(x) ?: drop_name_part(x);

	if (err)
		return err;
	if (x->nr_lines_left_out && !x->events.types.nr) /* of perf stat, for instance */
		return refuse_line(x, x->first_left_out);
	err = perf_events_settle(&x->events, &x->stacks, &why);
	if (err)
		return line_reader_refuse(&x->lines, why.at, x->why);
	if (x->p->types.nr > TYPES_MAX)
		return line_reader_refuse(&x->lines, TOO_MANY_EVENTS, x->why);
	if (x->nr_lines_left_out)
		profile_note(x->p, "lines_left_out",
			     "lines of perf script left out, neither a sample nor a frame",
			     x->nr_lines_left_out);
	if (x->nr_headless)
		profile_note(x->p, "stacks_left_out",
			     "stacks left out, without a readable line of their sample",
			     x->nr_headless);
	return 0;
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
	str_fini(&x.name_part);
	perf_mappings_fini(&x.mappings);
	vec_fini(&x.frames);
	return err;
}
