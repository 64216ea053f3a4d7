/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of mappings that processes share, and their budget. */
#include "proc/mapping.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static struct mapping mapping_at(u64 i, const char *path)
{
	return (struct mapping){ .start = i * 0x2000,
				 .end = i * 0x2000 + 0x1000,
				 .inode = 7,
				 .executable = true,
				 .path = path };
}

static bool insert(struct mapping_budget *b, struct mapping_block **block, uid_t uid, u64 i,
		   const char *path)
{
	const struct mapping m = mapping_at(i, path);

	return mapping_block_insert(b, block, uid, &m);
}

static void a_shared_list_is_copied_when_one_process_changes_it(void **state)
{
	struct mapping_budget b = { 0 };
	struct mapping_block *parent = NULL, *child;

	assert_true(insert(&b, &parent, 1, 1, "/lib"));
	size_t alone = b.bytes;
	child = mapping_block_share(parent);
	assert_int_equal(b.bytes, alone);
	assert_true(insert(&b, &child, 1, 2, "/lib"));
	assert_ptr_not_equal(parent, child);
	assert_int_equal(parent->all.nr, 1);
	assert_int_equal(child->all.nr, 2);
	assert_ptr_equal(parent->all.at[0].path, child->all.at[0].path);
	mapping_block_drop(&b, parent);
	mapping_block_drop(&b, child);
	assert_int_equal(b.bytes, 0);
	mapping_budget_fini(&b);
}

static void a_user_has_a_quarter_and_leaves_the_others_theirs(void **state)
{
	struct mapping_budget b = { 0 };
	struct mapping_block *greedy = NULL, *other = NULL;
	char path[4000];
	u64 nr = 0;

	memset(path, 'x', sizeof(path) - 1);
	do {
		snprintf(path, 16, "/%llu", (unsigned long long)nr);
		path[strlen(path)] = '/';
		path[sizeof(path) - 1] = '\0';
	} while (insert(&b, &greedy, 65534, ++nr, path));
	assert_in_range(b.bytes, MAPPING_USER_BYTES / 10 * 9, MAPPING_USER_BYTES);
	assert_true(insert(&b, &other, 1000, 1, path));
	mapping_block_drop(&b, greedy);
	mapping_block_drop(&b, other);
	assert_int_equal(b.bytes, 0);
	mapping_budget_fini(&b);
}

/* A process may have been forked by root for another user. */
static void a_list_moves_to_the_share_of_its_process(void **state)
{
	struct mapping_budget b = { 0 };
	struct mapping_block *block = NULL, *sharing;

	assert_true(insert(&b, &block, 0, 1, "/lib"));
	sharing = mapping_block_share(block);
	mapping_block_move(&b, block, 65534);
	assert_int_equal(mapping_budget_room(&b, 65534), MAPPING_USER_BYTES);
	mapping_block_drop(&b, sharing);
	mapping_block_move(&b, block, 65534);
	assert_int_equal(mapping_budget_room(&b, 0), MAPPING_USER_BYTES);
	assert_int_equal(mapping_budget_room(&b, 65534), MAPPING_USER_BYTES - b.bytes);
	mapping_block_drop(&b, block);
	mapping_budget_fini(&b);
}

/* A program that loads and unloads a library again and again, at one address. */
static void a_mapping_in_place_of_another_takes_no_more_room(void **state)
{
	struct mapping_budget b = { 0 };
	struct mapping_block *block = NULL;

	assert_true(insert(&b, &block, 1, 1, "/lib"));
	size_t once = b.bytes;
	for (int i = 0; i < 300007; i++)
		if (!insert(&b, &block, 1, 1, i % 2 ? "/lib" : "/a/longer/path/of/a/lib"))
			fail_msg("no room for load %d", i);
	assert_true(insert(&b, &block, 1, 1, "/lib"));
	assert_int_equal(b.bytes, once);
	assert_int_equal(mapping_budget_room(&b, 1), MAPPING_USER_BYTES - once);
	mapping_block_drop(&b, block);
	assert_int_equal(b.bytes, 0);
	mapping_budget_fini(&b);
}

static void the_budget_has_what_the_list_takes(void **state)
{
	static const char *const paths[] = { "", "/lib", "/lib64/a.so", "/usr/lib/b.so" };
	struct mapping_budget b = { 0 };
	struct mapping_block *block = NULL;

	srand(11);
	for (int i = 0; i < 20011; i++) {
		u64 start = (u64)rand() % 211, len = (u64)rand() % 23;
		const struct mapping m = { .start = start << 12,
					   .end = (start + len) << 12,
					   .path = paths[rand() % 4] };
		assert_true(mapping_block_insert(&b, &block, 1, &m));
		assert_int_equal(b.bytes, sizeof(*block) + mappings_bytes(&block->all));
		assert_int_equal(b.bytes, block->bytes);
	}
	mapping_block_drop(&b, block);
	mapping_budget_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_shared_list_is_copied_when_one_process_changes_it),
		cmocka_unit_test(a_user_has_a_quarter_and_leaves_the_others_theirs),
		cmocka_unit_test(a_list_moves_to_the_share_of_its_process),
		cmocka_unit_test(a_mapping_in_place_of_another_takes_no_more_room),
		cmocka_unit_test(the_budget_has_what_the_list_takes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
