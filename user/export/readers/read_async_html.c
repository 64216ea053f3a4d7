/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a flame graph page of async-profiler 3 and 4. Its script lists names, each as the number of
 * characters that it shares with the previous one and the rest, and one call per frame in preorder:
 * f(KEY,LEVEL,LEFT,WIDTH..), u(KEY,WIDTH..) for the first child of the frame before, n(KEY,WIDTH..)
 * for its next sibling. A missing width repeats the last one. KEY is name * 8 + type. Source:
 * src/res/flame.html and src/flameGraph.cpp of async-profiler 4.1.
 * Part of export/readers/reader.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/vec.h"
#include "export/format/section.h"
#include "export/interchange/external.h"
#include "export/readers/read_html.h"

/* A frame whose children may follow. */
struct open_frame {
	node_id node;
	u64 self; /* its width without the children read so far */
};

struct async_html {
	struct profile *p;
	struct str *why;
	struct stack_adder stacks;
	VEC(char *) names;
	VEC(frame_id) frames; /* by key; plus one, 0: not interned yet */
	VEC(struct open_frame) open;
	u64 level, width;
	u32 type;
	labels_id labels;
};

static int refuse(struct async_html *a, const char *fault)
{
	str_addf(a->why, "this page of async-profiler is damaged: %s", fault);
	return -EINVAL;
}

/* Reads the rest of a string in single quotes, in which only \\ and \' are escaped. */
static const char *read_string(const char *at, const char *end, struct str *out)
{
	for (; at < end && *at != '\''; at++) {
		at += *at == '\\' && at + 1 < end;
		str_add_char(out, *at);
	}
	return at < end ? at + 1 : NULL;
}

static int read_names(struct async_html *a, const char **at, const char *end)
{
	size_t bytes = 0;

	for (;;) {
		auto_str struct str text = { 0 }, name = { 0 };
		while (*at < end && strchr(", \r\n", **at) && **at)
			++*at;
		if (*at < end && **at == ']')
			return 0;
		if (*at == end || *(*at)++ != '\'' || !(*at = read_string(*at, end, &text)))
			return refuse(a, "a name has no end");
		const char *last = a->names.nr ? a->names.at[a->names.nr - 1] : "";
		size_t shared = a->names.nr && text.len ? (u8)text.at[0] - (size_t)' ' : 0;
		if (shared > strlen(last) || (a->names.nr && !text.len))
			return refuse(a, "a name shares more than the previous one has");
		str_add_bytes(&name, last, shared);
		str_add(&name, text.len ? text.at + (a->names.nr > 0) : "");
		bytes += name.len;
		if (bytes > EXTERNAL_NAMES_MAX)
			return refuse(a, "its names are too long");
		vec_push(&a->names, xstrdup(name.at ?: ""));
	}
}

static frame_id frame_of(struct async_html *a, u64 key)
{
	static const enum frame_kind kinds[] = { FRAME_INTERPRETED, FRAME_C2,     FRAME_INLINED,
						 FRAME_NATIVE,      FRAME_JVM,    FRAME_KERNEL,
						 FRAME_C1,          FRAME_UNKNOWN };
	frame_id *known = &a->frames.at[key];

	if (!*known)
		*known = frames_intern(a->p->frames, kinds[key & 7], a->names.at[key >> 3], "") + 1;
	return *known - 1;
}

static int close_to(struct async_html *a, size_t level)
{
	while (a->open.nr > level) {
		const struct open_frame *f = &a->open.at[--a->open.nr];
		auto_str struct str why = { 0 };
		if (f->self &&
		    stack_add(&a->stacks, f->node, a->labels, a->type, (s64)f->self, &why))
			return refuse(a, why.at);
	}
	return 0;
}

/* The root frame, "all", is no frame of ours. */
static int open_frame(struct async_html *a, u64 key)
{
	if (a->level > a->open.nr || a->level > FORMAT_DEPTH_MAX || key >= a->frames.nr)
		return refuse(a, "a frame has no parent or no name");
	int err = close_to(a, a->level);
	if (err)
		return err;
	struct open_frame *parent = a->level ? &a->open.at[a->level - 1] : NULL;
	if (parent && parent->self < a->width)
		return refuse(a, "the frames are wider than their caller");
	if (parent)
		parent->self -= a->width;
	node_id node = parent ? profile_child(a->p, parent->node, frame_of(a, key)) : 0;
	vec_push(&a->open, (struct open_frame){ node, a->width });
	return 0;
}

/* Reads "(1,2,3" into `out`; returns how many numbers there are, 0 if it is no such text. */
static size_t read_numbers(const char *at, u64 out[4])
{
	size_t nr = 0;

	if (*at++ != '(')
		return 0;
	while (nr < 4 && *at >= '0' && *at <= '9') {
		char *end;
		out[nr++] = strtoull(at, &end, 10);
		at = end + (*end == ',');
		if (*end != ',')
			break;
	}
	return nr;
}

static int read_call(struct async_html *a, const char *line)
{
	u64 numbers[4];
	size_t nr = read_numbers(line + 1, numbers);
	size_t width_at = *line == 'f' ? 3 : 1;

	if (!nr || (*line == 'f' && nr < 3))
		return refuse(a, "a frame has too few numbers");
	a->level = *line == 'f' ? numbers[1] : *line == 'u' ? a->level + 1 : a->level;
	if (nr > width_at && numbers[width_at])
		a->width = numbers[width_at];
	if (a->width > (u64)INT64_MAX >> 10)
		return refuse(a, "a frame is too wide");
	return open_frame(a, numbers[0]);
}

static int read_calls(struct async_html *a, const char *at, const char *end)
{
	int err = 0;

	for (; !err && at < end; at = memchr(at, '\n', (size_t)(end - at)) ?: end, at++)
		if (end - at > 2 && strchr("fun", *at) && at[1] == '(')
			err = read_call(a, at);
		else if (end - at > 6 && !strncmp(at, "search", 6))
			break;
	return err ?: close_to(a, 0);
}

/* "const units = 'bytes';" */
static u32 type_of(struct profile *p, const char *page, size_t len)
{
	static const char mark[] = "const units = '";
	const char *at = memmem(page, len, mark, strlen(mark));

	if (at && !strncmp(at + strlen(mark), "bytes'", 6))
		return profile_find_type(p, "alloc", "bytes");
	if (at && !strncmp(at + strlen(mark), "ns'", 3))
		return profile_find_type(p, "time", "ns");
	return profile_find_type(p, "samples", "samples");
}

bool async_html_is(const struct str *page)
{
	return memmem(page->at, page->len, ASYNC_HTML_NAMES, strlen(ASYNC_HTML_NAMES));
}

int async_html_read(const struct str *page, struct profile *p, struct str *why)
{
	struct async_html a = { .p = p, .why = why };
	const char *end = page->at + page->len;
	const char *at = memmem(page->at, page->len, ASYNC_HTML_NAMES, strlen(ASYNC_HTML_NAMES));

	at += strlen(ASYNC_HTML_NAMES);
	a.type = type_of(p, page->at, page->len);
	a.labels = profile_intern_labels(p, &(struct labels){ 0 });
	stack_adder_init(&a.stacks, p);
	int err = read_names(&a, &at, end);
	for (size_t i = 0; i < 8 * a.names.nr; i++)
		vec_push(&a.frames, 0);
	const char *calls = err ? NULL : memmem(at, (size_t)(end - at), "unpack(cpool);", 14);
	if (!err)
		err = calls ? read_calls(&a, calls + 14, end) : refuse(&a, "it has no frames");
	vec_each(name, &a.names)
		free(*name);
	vec_fini(&a.names);
	vec_fini(&a.frames);
	vec_fini(&a.open);
	stack_adder_fini(&a.stacks);
	return err;
}
