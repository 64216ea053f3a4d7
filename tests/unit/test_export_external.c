/* SPDX-License-Identifier: Apache-2.0 */
/* Input as other tools write it in pprof and OTLP, and as a hostile one would. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "export/export.h"
#include "export/format/varint.h"
#include "export/interchange/external.h"
#include "export/interchange/pb.h"
#include "export/read.h"

static int read_bytes(struct str *bytes, struct profile *p, struct str *why)
{
	FILE *f = fmemopen(bytes->at, bytes->len, "r");
	int err = profile_read(f, p, why);

	fclose(f);
	str_fini(bytes);
	return err;
}

static void assert_refused(struct str *bytes, const char *expected)
{
	struct profile *p = profile_new();
	auto_str struct str why = { 0 };

	assert_int_equal(read_bytes(bytes, p, &why), -EINVAL);
	if (!strstr(why.at, expected))
		fail_msg("'%s', not '%s'", why.at, expected);
	profile_free(p);
}

static void add_number(struct str *out, u32 field, u64 value)
{
	varint_add(out, field << 3);
	varint_add(out, value);
}

static void add_text(struct str *out, u32 field, const char *text)
{
	pb_add_bytes(out, field, text, strlen(text));
}

/* Appends the message and frees it. */
static void add_message(struct str *out, u32 field, struct str *message)
{
	pb_add_bytes(out, field, message->at ?: "", message->len);
	str_fini(message);
}

static void fill(char *text, size_t len)
{
	memset(text, 'z', len);
	text[len] = '\0';
}

/* 8 bytes of the file require 64 KB of work, and with other lines or modules as much memory. */
static void too_many_names_of_pprof_are_refused(void **state)
{
	static char name[65536];
	struct str bytes = { 0 }, type = { 0 }, function = { 0 };

	fill(name, 65535);
	add_number(&type, 1, 1);
	add_message(&bytes, 1, &type);
	add_number(&function, 1, 1);
	add_number(&function, 2, 2);
	add_message(&bytes, 5, &function);
	for (u64 id = 1; id < 4200; id++) {
		struct str location = { 0 }, line = { 0 };
		add_number(&line, 1, 1);
		add_number(&location, 1, id);
		add_message(&location, 4, &line);
		add_message(&bytes, 4, &location);
	}
	add_text(&bytes, 6, "");
	add_text(&bytes, 6, "cpu");
	add_text(&bytes, 6, name);
	assert_refused(&bytes, "names of more than 256 MB");
}

static void too_many_names_of_otlp_are_refused(void **state)
{
	static char name[65536];
	struct str bytes = { 0 }, dictionary = { 0 }, function = { 0 };

	fill(name, 65535);
	add_text(&dictionary, 5, "");
	add_text(&dictionary, 5, name);
	add_number(&function, 1, 1);
	add_text(&dictionary, 3, "");
	add_message(&dictionary, 3, &function);
	for (int i = 0; i < 4200; i++) {
		struct str location = { 0 }, line = { 0 };
		add_number(&line, 1, 1);
		add_message(&location, 3, &line);
		add_message(&dictionary, 2, &location);
	}
	add_message(&bytes, 2, &dictionary);
	assert_refused(&bytes, "names of more than 256 MB");
}

/*
 * Adds an attribute to the dictionary: `key` is the number of its text, the value a text or a
 * number.
 */
static void add_attribute(struct str *dictionary, u64 key, u64 text, u64 number)
{
	struct str attribute = { 0 }, value = { 0 };

	add_number(&attribute, 1, key);
	add_number(&value, text ? 8 : 3, text ?: number);
	add_message(&attribute, 2, &value);
	add_message(dictionary, 6, &attribute);
}

/*
 * One sample of weight 7 with attributes 1 to 3. Key and value of the resource are texts 6 and 7.
 */
static struct str otlp_of_references(void)
{
	static const char *const texts[] = { "",          "thread.name", "worker",    "process.pid",
					     "thread.id", "f",           "host.name", "node-7",
					     "cpu",       "count" };
	struct str bytes = { 0 }, d = { 0 }, resources = { 0 }, scopes = { 0 }, profile = { 0 };
	struct str type = { 0 }, sample = { 0 }, resource = { 0 }, attribute = { 0 }, value = { 0 };

	add_number(&type, 1, 8);
	add_number(&type, 2, 9);
	add_message(&profile, 1, &type);
	add_number(&sample, 1, 1);
	pb_add_bytes(&sample, 2, "\1\2\3", 3);
	pb_add_bytes(&sample, 4, "\7", 1);
	add_message(&profile, 2, &sample);
	add_message(&scopes, 2, &profile);
	add_number(&attribute, 3, 6);
	add_number(&value, 8, 7);
	add_message(&attribute, 2, &value);
	add_message(&resource, 1, &attribute);
	add_message(&resources, 1, &resource);
	add_message(&resources, 2, &scopes);
	add_message(&bytes, 1, &resources);

	/* The attributes precede the texts that they refer to. */
	add_text(&d, 6, "");
	add_attribute(&d, 1, 2, 0);
	add_attribute(&d, 3, 0, 17);
	add_attribute(&d, 4, 0, 18);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		add_text(&d, 5, texts[i]);
	add_text(&d, 3, "");
	pb_add_bytes(&d, 3, "\10\5", 2);
	add_text(&d, 2, "");
	pb_add_bytes(&d, 2, "\x1a\2\10\1", 4);
	add_text(&d, 7, "");
	pb_add_bytes(&d, 7, "\12\1\1", 3);
	add_message(&bytes, 2, &d);
	return bytes;
}

static void texts_of_otlp_may_be_in_the_dictionary(void **state)
{
	struct profile *p = profile_new();
	struct str bytes = otlp_of_references();
	auto_str struct str why = { 0 };

	if (read_bytes(&bytes, p, &why))
		fail_msg("%s", why.at);
	assert_string_equal(p->host, "node-7");
	assert_int_equal(profile_total(p, 0), 7);
	const struct labels *l = &p->labels.at[p->weights.at[0].labels];
	assert_string_equal(l->thread, "worker");
	assert_int_equal(l->pid, 17);
	assert_int_equal(l->tid, 18);
	profile_free(p);
}

/* One sample of the frame with that name and no other facts. */
static struct profile *pprof_of(const char *name)
{
	struct profile *p = profile_new();
	struct str bytes = { 0 };
	auto_str struct str why = { 0 };

	pb_add_bytes(&bytes, 1, "\10\1\20\2", 4);
	pb_add_bytes(&bytes, 2, "\12\1\1\22\1\3", 6);
	pb_add_bytes(&bytes, 4, "\10\1\42\2\10\1", 6);
	pb_add_bytes(&bytes, 5, "\10\1\20\3", 4);
	add_text(&bytes, 6, "");
	add_text(&bytes, 6, "cpu");
	add_text(&bytes, 6, "count");
	add_text(&bytes, 6, name);
	if (read_bytes(&bytes, p, &why))
		fail_msg("%s", why.at);
	return p;
}

static void java_is_recognised_by_its_names_as_in_text(void **state)
{
	static const struct {
		const char *name;
		enum frame_kind kind;
	} all[] = { { "java/lang/Thread.run", FRAME_C2 },
		    { "App$$Lambda/0x00007f00.run", FRAME_C2 },
		    { "runtime/internal/atomic.(*Int64).Load", FRAME_NATIVE },
		    { "main.main", FRAME_NATIVE },
		    { "std::vector<a/b.c>::push", FRAME_NATIVE } };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct profile *p = pprof_of(all[i].name);
		const struct frame *f = frames_get(p->frames, p->nodes.at[1].frame);
		assert_string_equal(f->name, all[i].name);
		assert_int_equal(f->kind, all[i].kind);
		profile_free(p);
	}
}

/* One stack with a weight of 3 and one of 9; `texts` are "", and name and unit of both. */
static struct str pprof_of_two(const char *const texts[5], u64 default_type)
{
	struct str bytes = { 0 };

	pb_add_bytes(&bytes, 1, "\10\1\20\2", 4);
	pb_add_bytes(&bytes, 1, "\10\3\20\4", 4);
	pb_add_bytes(&bytes, 2, "\12\1\1\22\2\3\11", 7);
	pb_add_bytes(&bytes, 4, "\10\1\30\1", 4);
	for (size_t i = 0; i < 5; i++)
		add_text(&bytes, 6, texts[i]);
	if (default_type)
		add_number(&bytes, 14, default_type);
	return bytes;
}

/* profile.proto: "If unset, clients should default to the last sample value." */
static void the_default_type_of_pprof_is_first(void **state)
{
	static const char *const texts[] = { "", "objects", "count", "space", "bytes" };

	for (u64 wanted = 0; wanted < 4; wanted++) {
		struct profile *p = profile_new();
		struct str bytes = pprof_of_two(texts, wanted);
		auto_str struct str why = { 0 };
		if (read_bytes(&bytes, p, &why))
			fail_msg("%s", why.at);
		assert_string_equal(p->types.at[0].name, wanted == 1 ? "objects" : "space");
		assert_int_equal(profile_total(p, 0), wanted == 1 ? 3 : 9);
		assert_int_equal(profile_total(p, 1), wanted == 1 ? 9 : 3);
		profile_free(p);
	}
}

static void a_count_is_of_samples_only_if_its_name_says_so(void **state)
{
	static const char *const samples[] = { "samples", "alloc-samples", "cycles_sample",
					       "cpu",     "cpu-time",      "wall" };
	static const char *const others[] = { "alloc_objects", "contentions", "goroutine" };

	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		assert_string_equal(unit_from_external(samples[i], "count"), "samples");
		assert_string_equal(unit_to_external(samples[i], "samples"), "count");
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		assert_string_equal(unit_from_external(others[i], "count"), "count");
		assert_string_equal(
			unit_from_external(others[i], unit_to_external(others[i], "samples")),
			"samples");
	}
}

/* As Node.js's pprof writes it. */
static void times_and_memory_of_other_units_become_ours(void **state)
{
	static const char *const texts[] = { "", "wall", "microseconds", "space", "kilobytes" };
	struct profile *p = profile_new();
	struct str bytes = pprof_of_two(texts, 0);
	auto_str struct str why = { 0 };

	assert_int_equal(read_bytes(&bytes, p, &why), 0);
	assert_string_equal(p->types.at[0].unit, "bytes");
	assert_int_equal(profile_total(p, 0), 9 << 10);
	assert_string_equal(p->types.at[1].unit, "ns");
	assert_int_equal(profile_total(p, 1), 3000);
	profile_free(p);
	assert_int_equal(value_from_external(INT64_MAX / 1000 + 1, 1000), INT64_MAX);
	assert_int_equal(value_from_external(INT64_MIN / 1000 - 1, 1000), INT64_MIN);
}

/* main with f inlined into it, and main that calls f. The first sample has labels. */
static struct str pprof_of_inlined_code(void)
{
	static const char *const texts[] = { "",        "samples", "count", "f", "main",
					     "handler", "/a, b=c", "bytes", "kB" };
	struct str bytes = { 0 };

	pb_add_bytes(&bytes, 1, "\10\1\20\2", 4);
	pb_add_bytes(&bytes, 2, "\12\1\1\22\1\3\32\4\10\5\20\6\32\6\10\7\30\7\40\10", 20);
	pb_add_bytes(&bytes, 2, "\12\2\3\2\22\1\4", 7);
	pb_add_bytes(&bytes, 4, "\10\1\42\2\10\1\42\2\10\2", 10);
	pb_add_bytes(&bytes, 4, "\10\2\42\2\10\2", 6);
	pb_add_bytes(&bytes, 4, "\10\3\42\2\10\1", 6);
	pb_add_bytes(&bytes, 5, "\10\1\20\3", 4);
	pb_add_bytes(&bytes, 5, "\10\2\20\4", 4);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		add_text(&bytes, 6, texts[i]);
	return bytes;
}

/* The library is mapped to [0x1000, 0x3000), from 0x100 in its file on. */
static void pprof_without_symbols_has_offsets_in_libraries(void **state)
{
	struct profile *p = profile_new();
	struct str bytes = { 0 };
	auto_str struct str why = { 0 };
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	pb_add_bytes(&bytes, 1, "\10\1\20\2", 4);
	pb_add_bytes(&bytes, 2, "\12\3\1\2\3\22\1\7", 8);
	pb_add_bytes(&bytes, 3, "\10\1\20\x80\x20\30\x80\x60\40\x80\2\50\3", 13);
	pb_add_bytes(&bytes, 4, "\10\1\20\1\30\x9f\x20", 7);
	pb_add_bytes(&bytes, 4, "\10\2\20\1\30\x9f\3", 7);
	pb_add_bytes(&bytes, 4, "\10\3\30\x9f\3", 5);
	add_text(&bytes, 6, "");
	add_text(&bytes, 6, "cpu");
	add_text(&bytes, 6, "count");
	add_text(&bytes, 6, "/usr/lib/lib z.so");
	if (read_bytes(&bytes, p, &why))
		fail_msg("%s", why.at);
	assert_int_equal(collapsed_write(p, f), 0);
	fclose(f);
	assert_string_equal(text, "[unknown];[lib z.so]+0x19f;[lib z.so]+0x11f 7\n");
	free(text);
	profile_free(p);
}

static struct profile *written_and_read(struct profile *p)
{
	struct profile *back = profile_new();
	struct str bytes = { 0 };
	auto_str struct str why = { 0 };
	FILE *f = open_memstream(&bytes.at, &bytes.len);

	assert_int_equal(pprof_write(p, f), 0);
	fclose(f);
	assert_int_equal(read_bytes(&bytes, back, &why), 0);
	profile_free(p);
	return back;
}

static void labels_and_inlining_of_pprof_are_kept(void **state)
{
	struct profile *p = profile_new();
	struct str bytes = pprof_of_inlined_code();
	auto_str struct str why = { 0 };

	assert_int_equal(read_bytes(&bytes, p, &why), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(p->weights.nr, 2);
		vec_each(w, &p->weights) {
			bool is_inlined = w->value == 3;
			node_id parent = p->nodes.at[w->node].parent;
			const struct frame *f = frames_get(p->frames, p->nodes.at[w->node].frame);
			assert_string_equal(f->name, "f");
			assert_int_equal(f->is_inlined, is_inlined);
			assert_false(frames_get(p->frames, p->nodes.at[parent].frame)->is_inlined);
			assert_string_equal(p->labels.at[w->labels].tags,
					    is_inlined ? "bytes:7 kB, handler=/a%2C b=c" : "");
		}
		p = written_and_read(p);
	}
	profile_free(p);
}

static void inlined_and_other_code_of_a_method_is_one_method(void **state)
{
	struct profile *p = profile_new();
	struct str bytes = pprof_of_inlined_code();
	auto_str struct str why = { 0 };
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(read_bytes(&bytes, p, &why), 0);
	assert_int_equal(collapsed_write(p, f), 0);
	fclose(f);
	assert_string_equal(text, "main;f 7\n");
	free(text);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(too_many_names_of_pprof_are_refused),
		cmocka_unit_test(too_many_names_of_otlp_are_refused),
		cmocka_unit_test(texts_of_otlp_may_be_in_the_dictionary),
		cmocka_unit_test(java_is_recognised_by_its_names_as_in_text),
		cmocka_unit_test(the_default_type_of_pprof_is_first),
		cmocka_unit_test(a_count_is_of_samples_only_if_its_name_says_so),
		cmocka_unit_test(times_and_memory_of_other_units_become_ours),
		cmocka_unit_test(labels_and_inlining_of_pprof_are_kept),
		cmocka_unit_test(pprof_without_symbols_has_offsets_in_libraries),
		cmocka_unit_test(inlined_and_other_code_of_a_method_is_one_method),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
