/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/dict.h"

/* The example of the paper's appendix A. */
static void the_papers_example_has_the_papers_hash(void **state)
{
	u8 key[SIPHASH_KEY_LEN], bytes[15];

	for (u8 i = 0; i < sizeof(key); i++)
		key[i] = i;
	for (u8 i = 0; i < sizeof(bytes); i++)
		bytes[i] = i;
	assert_true(siphash(key, bytes, sizeof(bytes)) == 0xa129ca6149be45e5);
}

static void every_bit_of_key_bytes_and_length_counts(void **state)
{
	u8 key[SIPHASH_KEY_LEN] = { 0 }, bytes[24] = { 0 };
	u64 zero = siphash(key, bytes, 16);

	assert_true(siphash(key, bytes, 17) != zero);
	for (size_t i = 0; i < 16 * 8; i++) {
		bytes[i / 8] ^= 1 << i % 8;
		assert_true(siphash(key, bytes, 16) != zero);
		bytes[i / 8] ^= 1 << i % 8;
		key[i / 8] ^= 1 << i % 8;
		assert_true(siphash(key, bytes, 16) != zero);
		key[i / 8] ^= 1 << i % 8;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_papers_example_has_the_papers_hash),
		cmocka_unit_test(every_bit_of_key_bytes_and_length_counts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
