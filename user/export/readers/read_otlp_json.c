/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads OTLP profiles in JSON: packs the fields that sysflame reads as protocol buffers, which
 * read_otlp.c reads. Numbers of 64 bits are texts or numbers. Other fields are skipped, also the
 * profiles' ids. The ids of links are hexadecimal digits. Names: profiles/v1development of
 * opentelemetry-proto 1.11 in lowerCamelCase, as its encoding in JSON demands. Part of
 * export/readers/json_tables.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/interchange/external.h"
#include "export/interchange/pb.h"
#include "export/readers/json_tables.h"
#include "export/readers/reader.h"

enum field_kind {
	FIELD_END,
	FIELD_NUMBER,
	FIELD_FIXED64,
	FIELD_TEXT,
	FIELD_ID, /* bytes as hexadecimal digits */
	FIELD_MESSAGE,
};

struct json_field {
	const char *key;
	u32 number;
	enum field_kind kind;
	const struct json_field *fields; /* of a message */
};

static const struct json_field value[] = {
	{ "stringValue", 1, FIELD_TEXT, NULL },
	{ "intValue", 3, FIELD_NUMBER, NULL },
	{ "stringValueStrindex", 8, FIELD_NUMBER, NULL },
	{ NULL, 0, FIELD_END, NULL },
};
static const struct json_field attribute[] = {
	{ "key", 1, FIELD_TEXT, NULL },
	{ "value", 2, FIELD_MESSAGE, value },
	{ "keyStrindex", 3, FIELD_NUMBER, NULL },
	{ NULL, 0, FIELD_END, NULL },
};
static const struct json_field indexed_attribute[] = {
	{ "keyStrindex", 1, FIELD_NUMBER, NULL },
	{ "value", 2, FIELD_MESSAGE, value },
	{ "unitStrindex", 3, FIELD_NUMBER, NULL },
	{ NULL, 0, FIELD_END, NULL },
};
static const struct json_field mapping[] = {
	{ "memoryStart", 1, FIELD_NUMBER, NULL },
	{ "memoryLimit", 2, FIELD_NUMBER, NULL },
	{ "fileOffset", 3, FIELD_NUMBER, NULL },
	{ "filenameStrindex", 4, FIELD_NUMBER, NULL },
	{ NULL, 0, FIELD_END, NULL },
};
static const struct json_field function[] = {
	{ "nameStrindex", 1, FIELD_NUMBER, NULL },
	{ "systemNameStrindex", 2, FIELD_NUMBER, NULL },
	{ "filenameStrindex", 3, FIELD_NUMBER, NULL },
	{ NULL, 0, FIELD_END, NULL },
};
static const struct json_field line[] = {
	{ "functionIndex", 1, FIELD_NUMBER, NULL },
	{ "line", 2, FIELD_NUMBER, NULL },
	{ NULL, 0, FIELD_END, NULL },
};
static const struct json_field location[] = {
	{ "mappingIndex", 1, FIELD_NUMBER, NULL },
	{ "address", 2, FIELD_NUMBER, NULL },
	{ "lines", 3, FIELD_MESSAGE, line },
	{ "attributeIndices", 4, FIELD_NUMBER, NULL },
	{ NULL, 0, FIELD_END, NULL },
};
static const struct json_field stack[] = {
	{ "locationIndices", 1, FIELD_NUMBER, NULL },
	{ NULL, 0, FIELD_END, NULL },
};
static const struct json_field link[] = {
	{ "traceId", 1, FIELD_ID, NULL },
	{ "spanId", 2, FIELD_ID, NULL },
	{ NULL, 0, FIELD_END, NULL },
};
static const struct json_field dictionary[] = {
	{ "mappingTable", 1, FIELD_MESSAGE, mapping },
	{ "locationTable", 2, FIELD_MESSAGE, location },
	{ "functionTable", 3, FIELD_MESSAGE, function },
	{ "linkTable", 4, FIELD_MESSAGE, link },
	{ "stringTable", 5, FIELD_TEXT, NULL },
	{ "attributeTable", 6, FIELD_MESSAGE, indexed_attribute },
	{ "stackTable", 7, FIELD_MESSAGE, stack },
	{ NULL, 0, FIELD_END, NULL },
};
static const struct json_field value_type[] = {
	{ "typeStrindex", 1, FIELD_NUMBER, NULL },
	{ "unitStrindex", 2, FIELD_NUMBER, NULL },
	{ NULL, 0, FIELD_END, NULL },
};
static const struct json_field sample[] = {
	{ "stackIndex", 1, FIELD_NUMBER, NULL },
	{ "attributeIndices", 2, FIELD_NUMBER, NULL },
	{ "linkIndex", 3, FIELD_NUMBER, NULL },
	{ "values", 4, FIELD_NUMBER, NULL },
	{ "timestampsUnixNano", 5, FIELD_FIXED64, NULL },
	{ NULL, 0, FIELD_END, NULL },
};
static const struct json_field profile[] = {
	{ "sampleType", 1, FIELD_MESSAGE, value_type }, { "samples", 2, FIELD_MESSAGE, sample },
	{ "timeUnixNano", 3, FIELD_FIXED64, NULL },     { "durationNano", 4, FIELD_NUMBER, NULL },
	{ "periodType", 5, FIELD_MESSAGE, value_type }, { "period", 6, FIELD_NUMBER, NULL },
	{ "attributeIndices", 11, FIELD_NUMBER, NULL }, { 0 },
};
static const struct json_field scope[] = {
	{ "profiles", 2, FIELD_MESSAGE, profile },
	{ NULL, 0, FIELD_END, NULL },
};
static const struct json_field resource[] = {
	{ "attributes", 1, FIELD_MESSAGE, attribute },
	{ NULL, 0, FIELD_END, NULL },
};
static const struct json_field resource_profiles[] = {
	{ "resource", 1, FIELD_MESSAGE, resource },
	{ "scopeProfiles", 2, FIELD_MESSAGE, scope },
	{ NULL, 0, FIELD_END, NULL },
};
static const struct json_field request[] = {
	{ "resourceProfiles", 1, FIELD_MESSAGE, resource_profiles },
	{ "dictionary", 2, FIELD_MESSAGE, dictionary },
	{ NULL, 0, FIELD_END, NULL },
};

static int refuse(struct str *why, const struct json_field *f, const char *fault)
{
	str_addf(why, "OTLP in JSON: `%s` %s", f->key, fault);
	return -EINVAL;
}

/* Appends a number without its tag. */
static int pack_number(const json_t *json, const struct json_field *f, struct str *out,
		       struct str *why)
{
	const char *text = json_string_value(json);
	char *end = NULL;
	u64 number = (u64)json_integer_value(json);

	errno = 0;
	if (text)
		number = *text == '-' ? (u64)strtoll(text, &end, 10) : strtoull(text, &end, 10);
	if (text ? errno || end == text || *end : !json_is_integer(json))
		return refuse(why, f, "is no integer of 64 bits");
	if (f->kind == FIELD_NUMBER) {
		varint_add(out, number);
		return 0;
	}
	for (int i = 0; i < 8; i++)
		str_add_char(out, (char)(number >> 8 * i));
	return 0;
}

static int pack_message(const json_t *json, const struct json_field *f, struct str *out,
			struct str *why);

/* An element of an array of messages or texts, or the only one. */
static int pack_one(const json_t *json, const struct json_field *f, struct str *out,
		    struct str *why)
{
	auto_str struct str bytes = { 0 };
	const char *text = json_string_value(json);

	if (f->kind != FIELD_MESSAGE && !text)
		return refuse(why, f, "is no text");
	if (f->kind == FIELD_ID) {
		u8 id[OTLP_TRACE_BYTES];
		size_t len = json_string_length(json) / 2;
		if (len > sizeof(id) || !id_from_hex(text, id, len))
			return refuse(why, f, "is no hexadecimal number");
		pb_add_bytes(out, f->number, id, len);
		return 0;
	}
	if (f->kind == FIELD_MESSAGE && !json_is_object(json))
		return refuse(why, f, "is no object");
	if (f->kind == FIELD_TEXT) {
		pb_add_bytes(out, f->number, text, json_string_length(json));
		return 0;
	}
	int err = pack_message(json, f, &bytes, why);
	if (!err)
		pb_add_bytes(out, f->number, bytes.at ?: "", bytes.len);
	return err;
}

/* Numbers of an array are packed; one alone has a tag. */
static int pack_numbers(const json_t *json, const struct json_field *f, struct str *out,
			struct str *why)
{
	auto_str struct str bytes = { 0 };
	const json_t *one;
	size_t i;
	int err = 0;

	if (!json_is_array(json)) {
		varint_add(out, (u64)f->number << 3 | (f->kind == FIELD_FIXED64));
		return pack_number(json, f, out, why);
	}
	json_array_foreach(json, i, one) err = err ?: pack_number(one, f, &bytes, why);
	if (!err && bytes.len)
		pb_add_bytes(out, f->number, bytes.at, bytes.len);
	return err;
}

static int pack_message(const json_t *json, const struct json_field *f, struct str *out,
			struct str *why)
{
	const json_t *one;
	size_t i;
	int err = 0;

	for (const struct json_field *inner = f->fields; inner->key && !err; inner++) {
		const json_t *all = json_object_get(json, inner->key);
		if (!all || json_is_null(all))
			continue;
		if (inner->kind == FIELD_NUMBER || inner->kind == FIELD_FIXED64)
			err = pack_numbers(all, inner, out, why);
		else if (!json_is_array(all))
			err = pack_one(all, inner, out, why);
		else
			json_array_foreach(all, i, one) err = err ?: pack_one(one, inner, out, why);
	}
	return err;
}

bool otlp_json_is(const json_t *all)
{
	return json_is_array(json_object_get(all, "resourceProfiles"));
}

int otlp_json_read(const json_t *all, struct stack_adder *stacks, struct str *why)
{
	static const struct json_field whole = { "profiles", 0, FIELD_MESSAGE, request };
	auto_str struct str bytes = { 0 };

	return pack_message(all, &whole, &bytes, why) ?: otlp_add(&bytes, stacks, why);
}
