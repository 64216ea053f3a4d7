/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes of threads as a JVM has them, and as a hostile process forges them. */
#include "test.h"

#include <string.h>

#include "base/alloc.h"
#include "jvm/virtual/vthread_layout.h"
#include "proc/mem.h"

#define BASE  0x100000u
#define WORDS 0x4000u
#define AT(i) (BASE + 8ull * (i))

/* The process: words at BASE. Objects have their class at 8, references have 8 bytes. */
static u64 words[WORDS];

/* Places of things, in words. */
enum {
	CONTAINER_CLASS = 0x10, /* Klass of ThreadFlock$ThreadContainerImpl */
	OTHER_CLASS = 0x18,
	SCOPES = 0x100, /* 8 words each: previous at 16, flock at 24 */
	FLOCKS = 0x800, /* 4 words each: threads at 16 */
	SET = 0x1000,   /* map at 16 */
	MAP = 0x1010,   /* table at 16 */
	TABLE = 0x1020, /* length at 8 */
};

static struct vthread_layout layout(void)
{
	struct vthread_layout l = { .objects = { .reference_bytes = 8,
						 .class_off = 8,
						 .class_bytes = 8,
						 .array_length = 8 } };

	l.classes[OF_FLOCK_CONTAINER].klass = AT(CONTAINER_CLASS);
	l.fields[F_THREAD_SCOPES] = l.fields[F_SCOPE_PREVIOUS] = l.fields[F_FLOCK_THREADS] = 16;
	l.fields[F_CONTAINER_FLOCK] = 24;
	l.fields[F_VIEW_MAP] = l.fields[F_MAP_TABLE] = 16;
	return l;
}

static u64 scope_at(size_t i)
{
	return AT(SCOPES + 8 * i);
}

static void put_scope(size_t i, u64 class, u64 previous)
{
	u64 *scope = &words[SCOPES + 8 * i], *flock = &words[FLOCKS + 4 * i];

	scope[1] = class;
	scope[2] = previous;
	scope[3] = AT(FLOCKS + 4 * i);
	flock[2] = AT(SET);
}

static int build(void **state)
{
	memset(words, 0, sizeof(words));
	words[SET + 2] = AT(MAP);
	words[MAP + 2] = AT(TABLE);
	words[TABLE + 1] = 16;
	return 0;
}

static thread_set_list list(const struct scope_head *heads, size_t nr, u64 *left_out)
{
	static const struct mem_segment segment = { BASE, words, sizeof(words) };
	struct vm_memory j = { .mem = mem_of_segments(&segment, 1) };
	const struct vthread_layout l = layout();
	thread_set_list sets = { 0 };

	*left_out = 0;
	assert_true(thread_scopes_exist(&l));
	assert_int_equal(thread_scopes_list(&j, &l, heads, nr, &sets, left_out), 0);
	assert_true(mem_counts(j.mem).calls < 2000);
	mem_free(j.mem);
	return sets;
}

static void all_scopes_of_a_thread_are_listed(void **state)
{
	u64 left_out;

	put_scope(0, AT(CONTAINER_CLASS), scope_at(1));
	put_scope(1, AT(OTHER_CLASS), scope_at(2)); /* a scope without threads */
	put_scope(2, AT(CONTAINER_CLASS), 0);
	thread_set_list sets = list((struct scope_head[]){ { scope_at(0), 3 } }, 1, &left_out);
	assert_int_equal(sets.nr, 2);
	vec_each(set, &sets) {
		assert_int_equal(set->table.at, AT(TABLE));
		assert_int_equal(set->table.length, 16);
		assert_true(set->share == 3);
	}
	assert_int_equal(left_out, 0);
	vec_fini(&sets);
}

static void scopes_in_a_circle_end_and_are_counted(void **state)
{
	u64 left_out;

	put_scope(0, AT(CONTAINER_CLASS), scope_at(1));
	put_scope(1, AT(CONTAINER_CLASS), scope_at(0));
	thread_set_list sets =
		list((struct scope_head[]){ { scope_at(0), 1 }, { scope_at(1), 1 } }, 2, &left_out);
	assert_true(sets.nr <= 32);
	assert_int_equal(left_out, 2);
	vec_fini(&sets);
}

static void wild_references_are_left(void **state)
{
	const u64 wild[] = { 1, BASE - 8, AT(WORDS), AT(WORDS) - 4, ~0ull, 1ull << 63 };
	u64 left_out;

	for (size_t a = 0; a < ARRAY_SIZE(wild); a++)
		for (size_t b = 0; b < ARRAY_SIZE(wild); b++) {
			build(state);
			put_scope(0, AT(CONTAINER_CLASS), wild[a]);
			words[SCOPES + 3] = wild[b];
			thread_set_list sets =
				list((struct scope_head[]){ { scope_at(0), 1 }, { wild[a], 1 } }, 2,
				     &left_out);
			assert_int_equal(sets.nr, 0);
			vec_fini(&sets);
		}
}

static void without_the_class_there_are_no_scopes(void **state)
{
	struct vthread_layout l = layout();

	l.fields[F_CONTAINER_FLOCK] = 0;
	assert_false(thread_scopes_exist(&l));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(all_scopes_of_a_thread_are_listed, build),
		cmocka_unit_test_setup(scopes_in_a_circle_end_and_are_counted, build),
		cmocka_unit_test_setup(wild_references_are_left, build),
		cmocka_unit_test(without_the_class_there_are_no_scopes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
