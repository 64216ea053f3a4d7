/* SPDX-License-Identifier: Apache-2.0 */
/* Slices of continuous profiling: profiles are equal after writing and reading. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "base/auto.h"
#include "base/time.h"
#include "export/format/encode.h"
#include "export/slices/slice_reader.h"
#include "export/slices/slice_record.h"
#include "export/slices/slice_thin.h"
#include "export/slices/slice_writer.h"

#define SLICE_NS (10 * NS_PER_SEC)
#define START_NS (1763640000 * NS_PER_SEC) /* a full hour */

static u32 next_random(u32 *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static struct labels random_labels(u32 *seed)
{
	u32 r = next_random(seed);

	return (struct labels){
		.pid = 100 + (r & 3),
		.tid = r & 4 ? 100 + (r & 3) : 5 + (r >> 3 & 7),
		.comm = r & 1 ? "java" : "c",
		.thread = r & 8 ? "main" : "",
		.container = r & 1 ? "shop" : NULL,
		.container_id = r & 1 ? "0123456789ab" : NULL,
		.pod = r & 32 ? "web-7d" : NULL,
		.service = r & 64 ? "cart" : NULL,
	};
}

/* Stacks with few names, so that paths, frames and labels recur; some names are new every time. */
static void add_random_stacks(struct profile *p, u32 *seed, int nr)
{
	for (int i = 0; i < nr; i++) {
		node_id node = 0;
		for (u32 depth = next_random(seed) % 9 + 1; depth > 0; depth--) {
			char name[16];
			u32 r = next_random(seed);
			snprintf(name, sizeof(name), "f%u", r % 97 ? r % 13 : r % 5000);
			node = profile_child(
				p, node,
				frames_intern(p->frames, r >> 8 & 7, name, r & 3 ? "" : "lib.so"));
		}
		struct labels labels = random_labels(seed);
		profile_add(p, node, profile_intern_labels(p, &labels), next_random(seed) & 1,
			    52631578ull * (1 + next_random(seed) % 3));
	}
}

static struct profile *profile_with_types(void)
{
	struct profile *p = profile_new();

	profile_add_type(p, "cpu", "ns");
	profile_add_type(p, "alloc", "bytes");
	return p;
}

static void add_slice(struct slice_writer *w, u32 seed, u64 begin, struct str *out)
{
	struct profile *p = profile_with_types();
	bool begins;

	p->rate_hz = 19;
	profile_note(p, "samples", "samples taken", seed % 101);
	add_random_stacks(p, &seed, 61);
	assert_int_equal(slice_writer_add(w, p, begin, begin + SLICE_NS, out, &begins), 0);
	profile_free(p);
}

/* `nr` slices from START_NS on; the seed of slice i is `seed` + i. */
static struct str file_of(u32 seed, u32 nr)
{
	struct slice_writer *w = slice_writer_new();
	struct str file = { 0 };

	for (u32 i = 0; i < nr; i++)
		add_slice(w, seed + i, START_NS + i * SLICE_NS, &file);
	slice_writer_free(w);
	return file;
}

static struct slice_query all_slices(void)
{
	return (struct slice_query){ .to_wall_ns = UINT64_MAX };
}

static struct profile *read_slices(const struct str *file, const struct slice_query *q)
{
	struct profile *p = profile_with_types();
	auto_str struct str why = { 0 };

	if (slices_read((const u8 *)file->at, file->len, q, p, &why))
		fail_msg("%s", why.at);
	return p;
}

static void assert_same_stacks(const struct profile *a, const struct profile *b)
{
	auto_str struct str bytes_a = { 0 }, bytes_b = { 0 };
	u32 nr;

	assert_int_equal(body_encode(a, NULL, &bytes_a, &nr), 0);
	assert_int_equal(body_encode(b, NULL, &bytes_b, &nr), 0);
	assert_int_equal(bytes_a.len, bytes_b.len);
	assert_memory_equal(bytes_a.at, bytes_b.at, bytes_a.len);
}

/* The profile that reading slices [first, end) must give. */
static struct profile *expected(u32 seed, u32 first, u32 end)
{
	struct profile *p = profile_with_types();
	u64 samples = 0;

	for (u32 i = first; i < end; i++) {
		u32 own = seed + i;
		samples += own % 101;
		add_random_stacks(p, &own, 61);
	}
	p->rate_hz = 19;
	p->start_wall_ns = START_NS + first * SLICE_NS;
	p->duration_ns = (end - first) * SLICE_NS;
	profile_note(p, "samples", "samples taken", samples);
	return p;
}

static void slices_of_any_range_equal_the_merge_of_their_profiles(void **state)
{
	enum {
		SLICES = 59,
		ROUNDS = 12
	};
	u32 seed = 11;

	for (int round = 0; round < ROUNDS; round++) {
		auto_str struct str file = file_of(1000 * round, SLICES);
		u32 first = next_random(&seed) % SLICES;
		u32 end = first + 1 + next_random(&seed) % (SLICES - first);
		struct slice_query q = { .from_wall_ns = START_NS + first * SLICE_NS,
					 .to_wall_ns = START_NS + end * SLICE_NS };
		struct profile *read = read_slices(&file, &q);
		struct profile *merged = expected(1000 * round, first, end);
		assert_same_stacks(read, merged);
		profile_free(read);
		profile_free(merged);
	}
}

static void files_read_one_after_another_add_up(void **state)
{
	auto_str struct str file = file_of(7, 20);
	struct slice_query halves[] = {
		{ .from_wall_ns = START_NS, .to_wall_ns = START_NS + 9 * SLICE_NS },
		{ .from_wall_ns = START_NS + 9 * SLICE_NS, .to_wall_ns = UINT64_MAX },
	};
	struct profile *p = profile_with_types();
	struct profile *merged = expected(7, 0, 20);
	auto_str struct str why = { 0 };

	for (int i = 0; i < 2; i++)
		assert_int_equal(slices_read((u8 *)file.at, file.len, &halves[i], p, &why), 0);
	assert_same_stacks(p, merged);
	profile_free(p);
	profile_free(merged);
}

static void a_sealed_file_and_one_with_a_tail_read_alike(void **state)
{
	auto_str struct str file = file_of(3, 30), sealed = { 0 };
	struct slice_query q = all_slices();
	struct profile *plain = read_slices(&file, &q);
	struct slice_head head;
	size_t half = 0;

	for (int i = 0; i < 15; i++) {
		assert_int_equal(slice_head_read((u8 *)file.at + half, file.len - half, &head), 0);
		half += head.len;
	}
	size_t parts[] = { half, file.len }; /* bytes that are compressed */
	for (int i = 0; i < 2; i++) {
		size_t bound = ZSTD_compressBound(file.len);
		auto_free char *packed = xmalloc(bound);
		size_t nr = ZSTD_compress(packed, bound, file.at, parts[i], 9);
		str_clear(&sealed);
		str_add_bytes(&sealed, packed, nr);
		str_add_bytes(&sealed, file.at + parts[i], file.len - parts[i]);
		struct profile *read = read_slices(&sealed, &q);
		assert_same_stacks(read, plain);
		profile_free(read);
	}
	profile_free(plain);
}

static bool has_labels(const struct profile *p, const char *comm, const char *pod)
{
	vec_each(w, &p->weights) {
		const struct labels *l = &p->labels.at[w->labels];
		if ((comm && strcmp(l->comm, comm) != 0) || (pod && strcmp(l->pod, pod) != 0))
			return false;
	}
	return p->weights.nr > 0;
}

static void only_the_wanted_label_sets_are_read(void **state)
{
	auto_str struct str file = file_of(5, 10);
	struct slice_query comm = all_slices(), pod = comm, pid = comm, service = comm, box = comm;

	comm.comm = "java";
	pod.pod = "web-7d";
	pid.pid = 101;
	service.service = "cart";
	box.container = "0123456789ab";
	struct profile *by_comm = read_slices(&file, &comm), *by_pod = read_slices(&file, &pod);
	struct profile *by_pid = read_slices(&file, &pid), *by_box = read_slices(&file, &box);
	struct profile *by_service = read_slices(&file, &service);
	assert_true(has_labels(by_comm, "java", NULL));
	assert_true(has_labels(by_pod, NULL, "web-7d"));
	assert_true(has_labels(by_box, "java", NULL));
	assert_true(by_pid->weights.nr > 0 && by_service->weights.nr > 0);
	vec_each(w, &by_pid->weights)
		assert_int_equal(by_pid->labels.at[w->labels].pid, 101);
	vec_each(w, &by_service->weights)
		assert_string_equal(by_service->labels.at[w->labels].service, "cart");
	struct profile *all[] = { by_comm, by_pod, by_pid, by_box, by_service };
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		profile_free(all[i]);
}

static void a_profile_that_keeps_time_gets_the_slice_as_label(void **state)
{
	auto_str struct str file = file_of(5, 7);
	struct slice_query q = { .from_wall_ns = START_NS - SLICE_NS, .to_wall_ns = UINT64_MAX };
	struct profile *p = profile_with_types();
	auto_str struct str why = { 0 };
	bool seen[9] = { 0 };

	p->slot_ns = SLICE_NS;
	assert_int_equal(slices_read((u8 *)file.at, file.len, &q, p, &why), 0);
	vec_each(w, &p->weights) {
		int slot = atoi(p->labels.at[w->labels].time);
		assert_in_range(slot, 1, 7);
		seen[slot] = true;
	}
	for (int i = 1; i <= 7; i++)
		assert_true(seen[i]);
	assert_int_equal(p->start_wall_ns, START_NS - SLICE_NS);
	profile_free(p);
}

/* Every stack has one weight in a slot, in any order of the slices and over several files. */
static void a_clock_that_was_set_back_gives_no_stack_two_weights(void **state)
{
	static const u64 times[] = { 0, 1, 2, 3, 1, 2, 5, 4, 5, 6 };
	struct slice_query q = { .from_wall_ns = START_NS, .to_wall_ns = UINT64_MAX };
	struct profile *p = profile_with_types();
	auto_str struct str why = { 0 };
	u64 expected = 0;

	p->slot_ns = 2 * SLICE_NS;
	for (int file = 0; file < 2; file++) {
		struct slice_writer *w = slice_writer_new();
		auto_str struct str bytes = { 0 };
		for (size_t i = 0; i < ARRAY_SIZE(times); i++)
			add_slice(w, 7, START_NS + (times[i] + (u64)file * 6) * SLICE_NS, &bytes);
		slice_writer_free(w);
		assert_int_equal(slices_read((u8 *)bytes.at, bytes.len, &q, p, &why), 0);
		expected += ARRAY_SIZE(times);
	}
	struct profile *one = profile_with_types();
	u32 seed = 7;
	add_random_stacks(one, &seed, 61);
	assert_int_equal(profile_total(p, 0), expected * profile_total(one, 0));
	for (size_t i = 0; i < p->weights.nr; i++)
		for (size_t k = 0; k < i; k++) {
			const struct weight *a = &p->weights.at[i], *b = &p->weights.at[k];
			assert_false(a->node == b->node && a->labels == b->labels &&
				     a->type == b->type);
		}
	profile_free(one);
	profile_free(p);
}

static u64 lost_of(const struct profile *p)
{
	const struct note *n = profile_find_note(p, "slices_lost");

	return n ? n->value : 0;
}

static void a_torn_tail_is_left_out_and_counted(void **state)
{
	auto_str struct str file = file_of(9, 10);
	struct slice_query q = all_slices();
	struct profile *nine = expected(9, 0, 9);

	file.len -= 3;
	struct profile *p = read_slices(&file, &q);
	assert_int_equal(lost_of(p), 1);
	profile_note(nine, "slices_lost", "slices left out: the file is damaged", 1);
	assert_same_stacks(p, nine);
	profile_free(p);
	profile_free(nine);
}

static size_t offset_of(const struct str *file, int number)
{
	struct slice_head head;
	size_t at = 0;

	for (int i = 0; i < number; i++) {
		assert_int_equal(slice_head_read((u8 *)file->at + at, file->len - at, &head), 0);
		at += head.len;
	}
	return at;
}

static void a_damaged_file_is_not_thinned(void **state)
{
	auto_str struct str file = file_of(9, 3), out = { 0 }, why = { 0 };

	file.at[offset_of(&file, 1) + 50] ^= 1;
	assert_int_equal(slices_thin((u8 *)file.at, file.len, 60 * NS_PER_SEC, &out, &why),
			 -EINVAL);
	assert_string_equal(why.at, "parts of the file are damaged");
	assert_int_equal(out.len, 0);
}

/* Slices 0 to 4 are a book, and 5 to 9; slice 2 is damaged. */
static void damage_loses_the_rest_of_the_book_only(void **state)
{
	struct slice_writer *w = slice_writer_new();
	auto_str struct str file = { 0 };
	struct slice_query q = all_slices();
	struct profile *merged = expected(13, 0, 2), *rest = expected(13, 5, 10);

	for (u32 i = 0; i < 10; i++) {
		if (i == 5)
			slice_writer_begin(w);
		add_slice(w, 13 + i, START_NS + i * SLICE_NS, &file);
	}
	slice_writer_free(w);
	file.at[offset_of(&file, 2) + 50] ^= 1;
	struct profile *p = read_slices(&file, &q);
	assert_int_equal(profile_total(p, 0), profile_total(merged, 0) + profile_total(rest, 0));
	assert_int_equal(lost_of(p), 3);
	profile_free(p);
	profile_free(merged);
	profile_free(rest);
}

static void a_missing_record_loses_the_rest_of_the_book(void **state)
{
	auto_str struct str file = file_of(21, 6), short_file = { 0 };
	struct slice_query q = all_slices();
	size_t second = offset_of(&file, 2), third = offset_of(&file, 3);
	struct profile *merged = expected(21, 0, 2);

	str_add_bytes(&short_file, file.at, second);
	str_add_bytes(&short_file, file.at + third, file.len - third);
	struct profile *p = read_slices(&short_file, &q);
	assert_int_equal(profile_total(p, 0), profile_total(merged, 0));
	assert_int_equal(lost_of(p), 3);
	profile_free(p);
	profile_free(merged);
}

static void a_book_ends_with_the_hour(void **state)
{
	struct slice_writer *w = slice_writer_new();
	struct profile *p = profile_with_types();
	static const u64 minutes[] = { 0, 30, 59, 60, 61, 120 };
	static const bool expect[] = { true, false, false, true, false, true };
	auto_str struct str file = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(minutes); i++) {
		u64 begin = START_NS + minutes[i] * 60 * NS_PER_SEC;
		bool begins;
		assert_int_equal(slice_writer_add(w, p, begin, begin + 1, &file, &begins), 0);
		assert_int_equal(begins, expect[i]);
	}
	slice_writer_free(w);
	profile_free(p);
}

static void a_large_book_ends_by_itself(void **state)
{
	struct slice_writer *w = slice_writer_new();
	auto_str struct str file = { 0 };
	int nr_books = 0;

	for (int slice = 0; slice < 5; slice++) {
		struct profile *p = profile_with_types();
		bool begins;
		for (int i = 0; i < 110000; i++) {
			char name[32];
			snprintf(name, sizeof(name), "f%d_%d", slice, i);
			node_id node = profile_child(p, 0, frames_intern(p->frames, 2, name, ""));
			profile_add(p, node, profile_intern_labels(p, &(struct labels){ 0 }), 0, 1);
		}
		assert_int_equal(slice_writer_add(w, p, START_NS, START_NS, &file, &begins), 0);
		nr_books += begins;
		profile_free(p);
	}
	assert_int_equal(nr_books, 5);
	struct slice_query q = all_slices();
	struct profile *p = read_slices(&file, &q);
	assert_int_equal(profile_total(p, 0), 550000);
	profile_free(p);
	slice_writer_free(w);
}

static void short_processes_do_not_grow_a_book_for_an_hour(void **state)
{
	struct slice_writer *w = slice_writer_new();
	auto_str struct str file = { 0 };
	size_t largest = 0;
	int nr_books = 0;

	for (u32 slice = 0; slice < 100; slice++) {
		struct profile *p = profile_with_types();
		bool begins;
		node_id node = profile_child(p, 0, frames_intern(p->frames, 2, "main", ""));
		for (u32 i = 0; i < 1000; i++) {
			struct labels labels = { .pid = slice * 1000 + i + 1, .comm = "sh" };
			profile_add(p, node, profile_intern_labels(p, &labels), 0, 1);
		}
		str_clear(&file);
		assert_int_equal(slice_writer_add(w, p, START_NS, START_NS, &file, &begins), 0);
		nr_books += begins;
		if (slice_writer_bytes(w) > largest)
			largest = slice_writer_bytes(w);
		profile_free(p);
	}
	assert_true(nr_books > 1);
	/* The last slice may have doubled a table. */
	assert_true(largest < 2 * SLICE_BOOK_BYTES);
	slice_writer_free(w);
}

static void weights_that_are_too_large_append_nothing(void **state)
{
	struct slice_writer *w = slice_writer_new();
	struct profile *p = profile_with_types();
	auto_str struct str file = { 0 };
	bool begins;

	node_id node = profile_child(p, 0, frames_intern(p->frames, 2, "main", ""));
	profile_add(p, node, profile_intern_labels(p, &(struct labels){ 0 }), 0, 1ull << 53);
	assert_int_equal(slice_writer_add(w, p, 1, 2, &file, &begins), -EOVERFLOW);
	assert_int_equal(file.len, 0);
	profile_free(p);
	slice_writer_free(w);
}

static void an_hour_of_large_weights_is_thinned(void **state)
{
	struct slice_writer *w = slice_writer_new();
	struct profile *p = profile_with_types();
	auto_str struct str file = { 0 }, thinned = { 0 }, why = { 0 };
	struct slice_query q = all_slices();
	bool begins;

	node_id node = profile_child(p, 0, frames_intern(p->frames, 2, "main", ""));
	profile_add(p, node, profile_intern_labels(p, &(struct labels){ 0 }), 0, 1ull << 52);
	for (u64 minute = 0; minute < 3; minute++) {
		u64 at = START_NS + minute * 60 * NS_PER_SEC;
		assert_int_equal(slice_writer_add(w, p, at, at + 1, &file, &begins), 0);
	}
	assert_int_equal(slices_thin((u8 *)file.at, file.len, 60 * NS_PER_SEC, &thinned, &why), 0);
	profile_free(p);
	p = read_slices(&thinned, &q);
	assert_int_equal(profile_total(p, 0), 3ull << 52);
	profile_free(p);
	slice_writer_free(w);
}

static void a_stack_that_is_too_deep_appends_nothing(void **state)
{
	struct slice_writer *w = slice_writer_new();
	struct profile *p = profile_with_types();
	auto_str struct str file = { 0 };
	frame_id frame = frames_intern(p->frames, 2, "main", "");
	node_id node = 0;
	bool begins;

	for (int i = 0; i < 65536; i++)
		node = profile_child(p, node, frame);
	profile_add(p, node, profile_intern_labels(p, &(struct labels){ 0 }), 0, 1);
	assert_int_equal(slice_writer_add(w, p, 1, 2, &file, &begins), -EOVERFLOW);
	assert_int_equal(file.len, 0);
	add_slice(w, 1, START_NS, &file); /* a new book, which can be read */
	struct slice_query q = all_slices();
	profile_free(read_slices(&file, &q));
	profile_free(p);
	slice_writer_free(w);
}

static void any_changed_byte_is_noticed(void **state)
{
	auto_str struct str file = file_of(2, 1);
	struct slice_head head;

	assert_int_equal(slice_head_read((u8 *)file.at, file.len, &head), 0);
	assert_int_equal(head.len, file.len);
	for (size_t i = 0; i < file.len; i++) {
		file.at[i] ^= 4;
		assert_true(slice_head_read((u8 *)file.at, file.len, &head) < 0);
		file.at[i] ^= 4;
	}
	for (size_t len = 0; len < file.len; len++)
		assert_int_equal(slice_head_read((u8 *)file.at, len, &head), -EAGAIN);
}

static void a_bomb_is_refused(void **state)
{
	size_t nr = 300u << 20, bound = ZSTD_compressBound(nr);
	auto_free char *zeros = calloc(nr, 1), *packed = malloc(bound);
	struct slice_query q = all_slices();
	struct profile *p = profile_new();
	auto_str struct str why = { 0 };

	nr = ZSTD_compress(packed, bound, zeros, nr, 1);
	assert_false(ZSTD_isError(nr));
	assert_int_equal(slices_read((u8 *)packed, nr, &q, p, &why), -EINVAL);
	assert_string_equal(why.at, "the slices take more than 256 MB");
	profile_free(p);
}

static void a_file_without_slices_is_refused(void **state)
{
	static const char *const texts[] = { "", "SFLS", "\x28\xb5\x2f\xfd", "no slices" };
	struct slice_query q = all_slices();

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct profile *p = profile_new();
		auto_str struct str why = { 0 };
		assert_int_equal(slices_read((const u8 *)texts[i], strlen(texts[i]), &q, p, &why),
				 -EINVAL);
		assert_string_equal(why.at, "the file has no slices, or is damaged");
		profile_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_of_any_range_equal_the_merge_of_their_profiles),
		cmocka_unit_test(files_read_one_after_another_add_up),
		cmocka_unit_test(a_sealed_file_and_one_with_a_tail_read_alike),
		cmocka_unit_test(only_the_wanted_label_sets_are_read),
		cmocka_unit_test(a_profile_that_keeps_time_gets_the_slice_as_label),
		cmocka_unit_test(a_clock_that_was_set_back_gives_no_stack_two_weights),
		cmocka_unit_test(a_torn_tail_is_left_out_and_counted),
		cmocka_unit_test(damage_loses_the_rest_of_the_book_only),
		cmocka_unit_test(a_damaged_file_is_not_thinned),
		cmocka_unit_test(a_missing_record_loses_the_rest_of_the_book),
		cmocka_unit_test(a_book_ends_with_the_hour),
		cmocka_unit_test(a_large_book_ends_by_itself),
		cmocka_unit_test(short_processes_do_not_grow_a_book_for_an_hour),
		cmocka_unit_test(weights_that_are_too_large_append_nothing),
		cmocka_unit_test(an_hour_of_large_weights_is_thinned),
		cmocka_unit_test(a_stack_that_is_too_deep_appends_nothing),
		cmocka_unit_test(any_changed_byte_is_noticed),
		cmocka_unit_test(a_bomb_is_refused),
		cmocka_unit_test(a_file_without_slices_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
