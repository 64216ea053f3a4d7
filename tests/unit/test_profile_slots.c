/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "profile/slots.h"

#define SLOT (10 * NS_PER_MS)

/* Expects part `i` of a weight that lasted from `begin` to `end`: its slots and its value. */
static void has_part(u64 begin, u64 end, u64 value, size_t i, const char *slots, u64 part)
{
	struct slots_part parts[SLOTS_PARTS];
	size_t nr = slots_divide(begin, end, SLOT, value, parts);
	char text[SLOTS_TEXT_BYTES];

	assert_true(i < nr);
	slots_text(&parts[i].slots, text);
	assert_string_equal(text, slots);
	assert_int_equal(parts[i].value, part);
}

static void a_moment_is_in_one_slot(void **state)
{
	has_part(7 * SLOT, 7 * SLOT, 5, 0, "7", 5);
	has_part(7 * SLOT + SLOT - 1, 7 * SLOT + SLOT - 1, 5, 0, "7", 5);
}

static void a_wait_within_a_slot_is_in_that_slot(void **state)
{
	has_part(7 * SLOT, 8 * SLOT, 1000, 0, "7", 1000);
	has_part(7 * SLOT + 1, 8 * SLOT - 1, 1000, 0, "7", 1000);
}

static void a_wait_gives_each_slot_the_time_it_spent_there(void **state)
{
	/* From 3 ms before slot 2 to 4 ms into slot 7. */
	u64 begin = 2 * SLOT - 3 * NS_PER_MS, end = 7 * SLOT + 4 * NS_PER_MS;

	has_part(begin, end, end - begin, 0, "1", 3 * NS_PER_MS);
	has_part(begin, end, end - begin, 1, "2-6", 5 * SLOT);
	has_part(begin, end, end - begin, 2, "7", 4 * NS_PER_MS);
	has_part(2 * SLOT, end, end - 2 * SLOT, 0, "2-6", 5 * SLOT);
	has_part(2 * SLOT, 7 * SLOT, 50, 0, "2-6", 50);
	has_part(begin, 2 * SLOT + 1 * NS_PER_MS, 8, 0, "1", 6);
	has_part(begin, 2 * SLOT + 1 * NS_PER_MS, 8, 1, "2", 2);
}

/* Short waits stand for longer ones: a weight is not a duration. */
static void the_parts_add_up_to_the_weight(void **state)
{
	srand48(1);
	for (int i = 0; i < 100000; i++) {
		u64 begin = (u64)(drand48() * 100 * SLOT);
		u64 end = begin + (u64)(drand48() * drand48() * 1e6 * SLOT);
		u64 value = (u64)(drand48() * drand48() * 1e15), sum = 0, at;
		struct slots_part parts[SLOTS_PARTS];
		size_t nr = slots_divide(begin, end, SLOT, value, parts);

		at = begin / SLOT;
		for (size_t part = 0; part < nr; part++) {
			assert_int_equal(parts[part].slots.first, at);
			assert_true(parts[part].slots.end > at);
			at = parts[part].slots.end;
			sum += parts[part].value;
		}
		assert_int_equal(at, end > begin ? (end - 1) / SLOT + 1 : begin / SLOT + 1);
		assert_int_equal(sum, value);
	}
}

/* 10,000 threads that wait for an hour give 10,000 weights, not 3.6 billion. */
static void a_wait_of_an_hour_is_one_part(void **state)
{
	struct slots_part parts[SLOTS_PARTS];

	assert_int_equal(slots_divide(0, 3600 * NS_PER_SEC, SLOT, 3600 * NS_PER_SEC, parts), 1);
	assert_int_equal(parts[0].slots.end, 360000);
}

static void a_text_is_read_back(void **state)
{
	const struct slots all[] = { { 0, 1 }, { 7, 8 }, { 7, 120 }, { 0, 1u << 31 } };
	char text[SLOTS_TEXT_BYTES];
	struct slots out;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		slots_text(&all[i], text);
		assert_true(slots_parse(text, &out));
		assert_memory_equal(&out, &all[i], sizeof(out));
	}
}

static void an_invalid_slot_is_refused(void **state)
{
	static const char *const texts[] = { "",
					     "x",
					     "-1",
					     "1-",
					     "-",
					     "3-2",
					     "1-2x",
					     "1 2",
					     "99999999999999999999",
					     "0-4294967296" };
	struct slots out;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_false(slots_parse(texts[i], &out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_moment_is_in_one_slot),
		cmocka_unit_test(a_wait_within_a_slot_is_in_that_slot),
		cmocka_unit_test(a_wait_gives_each_slot_the_time_it_spent_there),
		cmocka_unit_test(the_parts_add_up_to_the_weight),
		cmocka_unit_test(a_wait_of_an_hour_is_one_part),
		cmocka_unit_test(a_text_is_read_back),
		cmocka_unit_test(an_invalid_slot_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
