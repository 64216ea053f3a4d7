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

/* Against a plain array over a small key space, so that runs collide and wrap. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_that_was_added_is_found),
		cmocka_unit_test(random_adds_and_removes_agree_with_a_model),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
