/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads profiles in JSON: parses the text and finds the format by its keys.
 * Part of export/readers/reader.h.
 */
#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "export/readers/json_tables.h"
#include "export/readers/reader.h"

/* A value takes up to 25 times the bytes of its text. */
#define JSON_MAX (256u << 20)

AUTO_DEFINE(json, json_t *, json_decref)
#define auto_json __attribute__((cleanup(auto_json_run)))

bool json_is(const u8 *head, size_t len)
{
	size_t at = 0;

	while (at < len && strchr(" \t\r\n", head[at]) && head[at])
		at++;
	if (at == len || (head[at] != '{' && head[at] != '['))
		return false;
	/* Collapsed text may begin with a frame such as "[unknown]" or "{lambda}". */
	for (at++; at < len && strchr(" \t\r\n", head[at]) && head[at];)
		at++;
	return at < len && strchr("\"{[}]", head[at]) && head[at];
}

/* Formats that hold a profile in a form that is not read. */
static const char *other_format(const json_t *all)
{
	if (json_is_array(all) && !json_array_size(all))
		return "this is an empty list, without a profile";
	if (json_object_get(json_array_get(all, 0), "ph") || json_object_get(all, "traceEvents"))
		return "this is a trace of Chrome; save a CPU profile (.cpuprofile) instead, or "
		       "open the trace in speedscope and export it";
	if (json_object_get(all, "head"))
		return "this is an old CPU profile of Chrome with a tree in `head`; record it with "
		       "a current version";
	return "this JSON has none of the known formats: speedscope, CPU and heap profiles of "
	       "Chrome and Node, Firefox Profiler, OTLP";
}

static int read_value(const json_t *all, struct stack_adder *stacks, struct str *why)
{
	static const struct json_format formats[] = {
		{ speedscope_is, speedscope_read },   { cpuprofile_is, cpuprofile_read },
		{ heapprofile_is, heapprofile_read }, { gecko_is, gecko_read },
		{ otlp_json_is, otlp_json_read },
	};

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (formats[i].is(all))
			return formats[i].read(all, stacks, why);
	str_add(why, other_format(all));
	return -EINVAL;
}

static int nr_lines(const struct str *text, size_t before)
{
	int nr = 0;

	for (size_t i = 0; i < before; i++)
		nr += text->at[i] == '\n';
	return nr;
}

/* A collector for OTLP writes one value per line. */
static int read_values(const struct str *text, struct stack_adder *stacks, struct str *why)
{
	json_error_t fault;
	int err = 0;

	for (size_t at = 0; !err && at < text->len;) {
		auto_json json_t *all =
			json_loadb(text->at + at, text->len - at, JSON_DISABLE_EOF_CHECK, &fault);
		if (!all) {
			str_addf(why, "line %d: damaged JSON: %s", nr_lines(text, at) + fault.line,
				 fault.text);
			return -EINVAL;
		}
		err = read_value(all, stacks, why);
		at += (size_t)fault.position;
		while (at < text->len && strchr(" \t\r\n", text->at[at]) && text->at[at])
			at++;
	}
	return err;
}

int json_read(struct input *in, struct profile *p, struct str *why)
{
	auto_str struct str text = { 0 };
	struct stack_adder stacks;
	int err = input_read_all(in, &text, why);

	if (err)
		return err;
	if (text.len > JSON_MAX) {
		str_add(why, "it is larger than 256 MB of JSON");
		return -EINVAL;
	}
	stack_adder_init(&stacks, p);
	err = read_values(&text, &stacks, why);
	stack_adder_fini(&stacks);
	return err;
}
