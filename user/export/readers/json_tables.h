/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the readers of JSON formats: numbers with bounds, and the table of the formats. */
#pragma once

#include <jansson.h>

#include "base/str.h"
#include "export/format/varint.h"
#include "export/interchange/external.h"

/*
 * A format in JSON. `read` adds a value to the profile of `stacks`, which all values of a file
 * share, and fails like reader.read.
 */
struct json_format {
	bool (*is)(const json_t *all);
	int (*read)(const json_t *all, struct stack_adder *stacks, struct str *why);
};

bool speedscope_is(const json_t *all);
int speedscope_read(const json_t *all, struct stack_adder *stacks, struct str *why);
bool cpuprofile_is(const json_t *all);
int cpuprofile_read(const json_t *all, struct stack_adder *stacks, struct str *why);
bool heapprofile_is(const json_t *all);
int heapprofile_read(const json_t *all, struct stack_adder *stacks, struct str *why);
bool gecko_is(const json_t *all);
int gecko_read(const json_t *all, struct stack_adder *stacks, struct str *why);
bool otlp_json_is(const json_t *all);
int otlp_json_read(const json_t *all, struct stack_adder *stacks, struct str *why);

/* The string of a key, "" if the object lacks it. */
static inline const char *json_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key)) ?: "";
}

/* The number as an index; -1 if it is no whole number from 0 to `nr` - 1. */
static inline s64 json_index(const json_t *number, size_t nr)
{
	json_int_t value = json_is_integer(number) ? json_integer_value(number) : -1;

	return value >= 0 && (u64)value < nr ? (s64)value : -1;
}

/* Rounds a number from 0 to 2^53 - 1. A double does not hold such a number and a half. */
static inline s64 json_rounded(long double value)
{
	return (s64)(value + 0.5L);
}

/* The number times `scale`, rounded; -1 if it is no number from 0 to 2^53 - 1. */
static inline s64 json_scaled(const json_t *number, double scale)
{
	long double value =
		json_is_number(number) ? (long double)json_number_value(number) * scale : -1;

	return value >= 0 && value <= VARINT_MAX ? json_rounded(value) : -1;
}
