/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdlib.h>

#include "base/dict.h"

static void a_key_that_was_added_is_found(void **state)
{
	struct dict d = { 0 };

	assert_null(dict_find(&d, 7));
	*dict_add(&d, 7) = 11;
	*dict_add(&d, 0) = 13;
	assert_int_equal(*dict_find(&d, 7), 11);
	assert_int_equal(*dict_find(&d, 0), 13);
	assert_int_equal(d.nr, 2);
	dict_fini(&d);
}

/* Compares with a plain array over a small key space, so that runs collide and wrap. */
static void random_adds_and_removes_agree_with_a_model(void **state)
{
	enum {
		KEYS = 97
	};
	u64 model[KEYS] = { 0 };
	struct dict d = { 0 };

	srand(5);
	for (int i = 0; i < 20011; i++) {
		u64 key = (u64)rand() % KEYS;
		if (rand() % 3) {
			*dict_add(&d, key) = model[key] = (u64)i + 1;
		} else {
			assert_int_equal(dict_remove(&d, key), model[key] != 0);
			model[key] = 0;
		}
		u64 other = (u64)rand() % KEYS, *value = dict_find(&d, other);
		assert_int_equal(value ? *value : 0, model[other]);
	}
	dict_fini(&d);
}

static u64 undo_shift(u64 x, int bits)
{
	u64 key = x;

	for (int done = bits; done < 64; done += bits)
		key = x ^ key >> bits;
	return key;
}

/* Newton's method doubles the number of correct bits in each step. */
static u64 inverse(u64 odd)
{
	u64 x = odd;

	for (int i = 0; i < 6; i++)
		x *= 2 - odd * x;
	return x;
}

/* The key that hash_u64 turns into `hash`. */
static u64 key_of(u64 hash)
{
	u64 key = undo_shift(hash, 31) * inverse(0x94d049bb133111ebull);

	key = undo_shift(key, 27) * inverse(0xbf58476d1ce4e5b9ull);
	return undo_shift(key, 30);
}

static size_t longest_run(const struct dict *d)
{
	size_t longest = 0, run = 0;

	for (size_t i = 0; i < d->cap; i++) {
		run = d->slots[i].key ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

static void keys_chosen_to_collide_are_spread(void **state)
{
	struct dict d = { 0 };

	for (u64 i = 1; i <= 10007; i++) {
		assert_int_equal(hash_u64(key_of(i << 20)), i << 20);
		*dict_add(&d, key_of(i << 20)) = i;
	}
	assert_in_range(longest_run(&d), 1, 1000);
	for (u64 i = 1; i <= 10007; i++)
		assert_int_equal(*dict_find(&d, key_of(i << 20)), i);
	dict_fini(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_that_was_added_is_found),
		cmocka_unit_test(keys_chosen_to_collide_are_spread),
		cmocka_unit_test(random_adds_and_removes_agree_with_a_model),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
