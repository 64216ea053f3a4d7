/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/types.h"
#include "jvm/agent/agent_wire.h"
#include "jvmmap/wire.h"
#include "jvmmap/wire_records.h"

#define CODE 0x7f0000000000ull

/* Writes records as the agent does. */
static void number(struct str *s, u64 n)
{
	for (; n >= 0x80; n >>= 7)
		str_add_char(s, (char)(n | 0x80));
	str_add_char(s, (char)n);
}

static void record(struct str *s, enum wire_kind kind, const u64 *numbers, size_t nr,
		   const char *text)
{
	auto_str struct str body = { 0 };

	for (size_t i = 0; i < nr; i++)
		number(&body, numbers[i]);
	str_add(&body, text);
	str_add_char(s, (char)kind);
	number(s, body.len);
	str_add_bytes(s, body.at, body.len);
}

#define RECORD(s, kind, text, ...)                    \
	record(s, kind, (const u64[]){ __VA_ARGS__ }, \
	       sizeof((const u64[]){ __VA_ARGS__ }) / sizeof(u64), text)

/* Zigzag-encodes a signed number. */
static u64 step(s64 n)
{
	return n < 0 ? 2 * (u64)-n - 1 : 2 * (u64)n;
}

/* Adds methods 1, a.B.run, and 2, a.B.get. */
static void add_names(struct str *s)
{
	RECORD(s, WIRE_STRING, "La/B;", 5);
	RECORD(s, WIRE_STRING, "run", 6);
	RECORD(s, WIRE_STRING, "()V", 8191);
	RECORD(s, WIRE_METHOD, "", step(5), step(6), step(8191));
	RECORD(s, WIRE_STRING, "get", 7);
	RECORD(s, WIRE_METHOD, "", step(0), step(1), step(0));
}

static ssize_t decode(struct agent_wire *w, const struct str *s)
{
	return agent_wire_decode(w, (const u8 *)s->at, s->len);
}

static void texts_without_room_are_left_out_and_counted(void **state)
{
	struct codemap *map = codemap_new();
	auto_str struct str s = { 0 };
	struct agent_wire w;
	struct java_frame frame;

	agent_wire_init(&w, map, 0);
	size_t fixed_bytes = agent_wire_bytes(&w);
	w.max_string_bytes = 10;
	RECORD(&s, WIRE_STRING, "123456789", 6);
	RECORD(&s, WIRE_STRING, "abcd", 7);
	RECORD(&s, WIRE_STRING, "abcd", 6);
	RECORD(&s, WIRE_STRING, "efgh", 6);
	RECORD(&s, WIRE_CODE, "", 0, step(CODE), 64, 6);
	RECORD(&s, WIRE_CODE, "", 0, step(0), 64, 7);
	assert_int_equal(decode(&w, &s), s.len);
	assert_int_equal(w.nr_left_out, 1);
	assert_int_equal(agent_wire_bytes(&w), fixed_bytes + 5);
	assert_int_equal(codemap_find(map, CODE, 1, 0, &frame, 1), 1);
	assert_string_equal(frame.method, "efgh");
	assert_int_equal(codemap_find(map, CODE + 64, 1, 0, &frame, 1), 1);
	assert_string_equal(frame.method, "?");
	agent_wire_fini(&w);
	codemap_free(map);
}

static void names_of_threads_are_stored(void **state)
{
	struct codemap *map = codemap_new();
	auto_str struct str s = { 0 };
	struct agent_wire w;

	agent_wire_init(&w, map, 0);
	RECORD(&s, WIRE_THREAD, "worker-\xed\xa0\xbd\xed\xba\x80", 4242);
	assert_int_equal(decode(&w, &s), s.len); /* without a reader for thread names */
	w.threads = thread_names_new();
	assert_int_equal(decode(&w, &s), s.len);
	assert_string_equal(thread_names_find(w.threads, 4242), "worker-\xf0\x9f\x9a\x80");
	str_clear(&s);
	RECORD(&s, WIRE_THREAD, "x", 1ull << 40);
	assert_int_equal(decode(&w, &s), -EBADMSG);
	thread_names_free(w.threads);
	agent_wire_fini(&w);
	codemap_free(map);
}

static void loads_inlines_and_unloads_reach_the_map(void **state)
{
	struct codemap *map = codemap_new();
	struct java_frame out[4];
	auto_str struct str s = { 0 };
	struct agent_wire w;

	agent_wire_init(&w, map, 0);
	add_names(&s);
	RECORD(&s, WIRE_LOAD, "", 5000, step(CODE), 128, step(-1));
	RECORD(&s, WIRE_INLINE, "", 16, 16, 4 * 0 + 1, step(1), 8, 4 * 0 + 1, step(-1));
	RECORD(&s, WIRE_UNLOAD, "", 3000000000, CODE);
	assert_int_equal(decode(&w, &s), s.len);
	assert_int_equal(codemap_find(map, CODE + 16, 6000, 0, out, 4), 1);
	assert_string_equal(out[0].class_name, "a.B");
	assert_string_equal(out[0].method, "run");
	assert_int_equal(codemap_find(map, CODE + 32, 6000, 0, out, 4), 2);
	assert_string_equal(out[0].method, "get");
	assert_int_equal(codemap_find(map, CODE + 40, 6000, 0, out, 4), 3);
	assert_string_equal(out[0].method, "run");
	assert_string_equal(out[1].method, "get");
	assert_int_equal(codemap_find(map, CODE + 40, 4000000001, 0, out, 4), 0);
	agent_wire_fini(&w);
	codemap_free(map);
}

static void times_are_converted_from_the_time_namespace(void **state)
{
	struct codemap *map = codemap_new();
	struct java_frame out;
	auto_str struct str s = { 0 };
	struct agent_wire w;

	agent_wire_init(&w, map, -7000000000);
	add_names(&s);
	RECORD(&s, WIRE_LOAD, "", 17000000000, step(CODE), 128, step(0));
	assert_int_equal(decode(&w, &s), s.len);
	assert_int_equal(codemap_find(map, CODE, 10000000000, 0, &out, 1), 1);
	assert_int_equal(codemap_find(map, CODE, 8000000000, 0, &out, 1), 0);
	agent_wire_fini(&w);
	codemap_free(map);
}

static void a_replay_restores_lost_code(void **state)
{
	struct codemap *map = codemap_new();
	struct java_frame out;
	auto_str struct str s = { 0 };
	struct agent_wire w;

	agent_wire_init(&w, map, 0);
	add_names(&s);
	RECORD(&s, WIRE_LOAD, "", 0, step(CODE), 128, step(0));
	RECORD(&s, WIRE_LOAD, "", 5000, step(0), 128, step(0));
	RECORD(&s, WIRE_LOST, "", 3);
	assert_int_equal(decode(&w, &s), s.len);
	assert_true(w.is_dirty);
	assert_int_equal(w.nr_lost, 3);
	str_clear(&s);
	RECORD(&s, WIRE_REPLAY_BEGIN, "", 9000000000);
	RECORD(&s, WIRE_LOAD, "", 0, step(-256), 128, step(0));
	RECORD(&s, WIRE_REPLAY_END, "", 9000001000);
	assert_int_equal(decode(&w, &s), s.len);
	assert_false(w.is_dirty);
	assert_int_equal(codemap_find(map, CODE, 9000000000, 0, &out, 1), 1);
	assert_int_equal(codemap_find(map, CODE + 128, 9000000000, 0, &out, 1), 0);
	agent_wire_fini(&w);
	codemap_free(map);
}

static void an_incomplete_replay_restores_nothing(void **state)
{
	struct codemap *map = codemap_new();
	auto_str struct str s = { 0 };
	struct agent_wire w;

	agent_wire_init(&w, map, 0);
	add_names(&s);
	RECORD(&s, WIRE_LOAD, "", 0, step(CODE), 128, step(0));
	RECORD(&s, WIRE_REPLAY_BEGIN, "", 9000);
	RECORD(&s, WIRE_LOST, "", 1);
	RECORD(&s, WIRE_REPLAY_END, "", 9001);
	assert_int_equal(decode(&w, &s), s.len);
	assert_true(w.is_dirty);
	assert_int_equal(codemap_size(map).nr_live, 1);
	agent_wire_fini(&w);
	codemap_free(map);
}

static void an_incomplete_record_is_left(void **state)
{
	auto_str struct str s = { 0 };

	add_names(&s);
	size_t whole = s.len;
	RECORD(&s, WIRE_LOAD, "", 0, step(CODE), 128, step(0));
	for (size_t len = whole; len < s.len; len++) {
		struct codemap *map = codemap_new();
		struct agent_wire w;
		agent_wire_init(&w, map, 0);
		assert_int_equal(agent_wire_decode(&w, (const u8 *)s.at, len), whole);
		agent_wire_fini(&w);
		codemap_free(map);
	}
}

static void decoding_stops_at_its_deadline_and_continues_there(void **state)
{
	struct codemap *map = codemap_new();
	auto_str struct str s = { 0 };
	struct agent_wire w;
	size_t done = 0;

	agent_wire_init(&w, map, 0);
	for (u64 i = 0; i < 101; i++)
		RECORD(&s, WIRE_UNLOAD, "", 1, i);
	w.deadline_ns = 1;
	for (u64 nr = 0; done < s.len; nr = w.nr_records) {
		ssize_t used = agent_wire_decode(&w, (const u8 *)s.at + done, s.len - done);
		assert_true(used > 0);
		assert_true(w.nr_records - nr <= 8);
		done += (size_t)used;
	}
	assert_int_equal(w.nr_records, 101);
	agent_wire_fini(&w);
	codemap_free(map);
}

static void classes_are_known_by_their_numbers(void **state)
{
	struct codemap *map = codemap_new();
	auto_str struct str s = { 0 };
	struct agent_wire w;

	agent_wire_init(&w, map, 0);
	RECORD(&s, WIRE_CLASS, "[Ljava/lang/String;", UINT64_MAX);
	assert_int_equal(decode(&w, &s), s.len);
	assert_string_equal(codemap_find_class(map, UINT64_MAX), "java.lang.String[]");
	assert_null(codemap_find_class(map, 1));
	agent_wire_fini(&w);
	codemap_free(map);
}

static void invalid_records_are_refused(void **state)
{
	struct codemap *map = codemap_new();
	struct agent_wire w;

	agent_wire_init(&w, map, 0);
#define REFUSED(kind, text, ...)                            \
	do {                                                \
		auto_str struct str s = { 0 };              \
		RECORD(&s, kind, text, __VA_ARGS__);        \
		assert_int_equal(decode(&w, &s), -EBADMSG); \
	} while (0)
	REFUSED(0, "", 1);
	REFUSED(200, "", 1);
	REFUSED(WIRE_STRING, "x", WIRE_STRING_SLOTS);
	REFUSED(WIRE_METHOD, "", step(1), step(1), step(WIRE_STRING_SLOTS));
	REFUSED(WIRE_METHOD, "", step(1), step(-9), step(1));
	REFUSED(WIRE_METHOD, "", 1, 1);
	REFUSED(WIRE_LOAD, "", 1, 2, 3, step(WIRE_METHOD_SLOTS));
	REFUSED(WIRE_LOAD, "", 1, 2, 3, step(-1));
	REFUSED(WIRE_LOAD, "x", 1, 2, 3, 4);
	REFUSED(WIRE_UNLOAD, "", 1);
	REFUSED(WIRE_CODE, "", 1, 2, 3, WIRE_STRING_SLOTS);
	REFUSED(WIRE_INLINE, "", 0, 16, 4);          /* leaves a frame that does not exist */
	REFUSED(WIRE_INLINE, "", 0, 16, 1, step(7)); /* a slot that was never filled */
	REFUSED(WIRE_INLINE, "", 0, 16, 3, WIRE_INLINE_DEPTH_MAX - 2);
	REFUSED(WIRE_INLINE, "", 0, 16, UINT64_MAX);
	REFUSED(WIRE_INLINE, "", UINT64_MAX, UINT64_MAX, 0);
	REFUSED(WIRE_UNLOAD, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 1);
	const u8 long_record[] = { WIRE_UNLOAD, 0x81, 0x40 };
	assert_int_equal(agent_wire_decode(&w, long_record, 3), -EBADMSG);
	const u8 endless[] = { WIRE_UNLOAD, 0xff, 0xff, 0xff, 0xff, 0xff,
			       0xff,        0xff, 0xff, 0xff, 0xff, 0xff };
	assert_int_equal(agent_wire_decode(&w, endless, 12), -EBADMSG);
	agent_wire_fini(&w);
	codemap_free(map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_without_room_are_left_out_and_counted),
		cmocka_unit_test(names_of_threads_are_stored),
		cmocka_unit_test(loads_inlines_and_unloads_reach_the_map),
		cmocka_unit_test(times_are_converted_from_the_time_namespace),
		cmocka_unit_test(a_replay_restores_lost_code),
		cmocka_unit_test(an_incomplete_replay_restores_nothing),
		cmocka_unit_test(an_incomplete_record_is_left),
		cmocka_unit_test(decoding_stops_at_its_deadline_and_continues_there),
		cmocka_unit_test(classes_are_known_by_their_numbers),
		cmocka_unit_test(invalid_records_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
