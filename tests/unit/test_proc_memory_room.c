/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "proc/cgroup.h"

/* A hierarchy in a test folder: TOP/pod/container. */
struct world {
	char top[32], pod[64], container[96];
};

static void put(const char *folder, const char *name, const char *text)
{
	auto_free char *path = xasprintf("%s/%s", folder, name);
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int make_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	strcpy(w->top, "/tmp/memory-room-XXXXXX");
	assert_non_null(mkdtemp(w->top));
	snprintf(w->pod, sizeof(w->pod), "%s/pod", w->top);
	snprintf(w->container, sizeof(w->container), "%s/container", w->pod);
	assert_int_equal(mkdir(w->pod, 0700) || mkdir(w->container, 0700), 0);
	*state = w;
	return 0;
}

static int remove_world(void **state)
{
	struct world *w = *state;
	auto_free char *command = xasprintf("rm -r '%s'", w->top);
	int status = system(command);

	free(w);
	return status;
}

static void the_narrowest_group_of_version_2_counts(void **state)
{
	const struct world *w = *state;
	struct memory_room room;

	put(w->container, "memory.max", "max\n");
	put(w->container, "memory.current", "900\n");
	assert_false(memory_room_of(w->container, w->top, &room));
	put(w->pod, "memory.max", "5000\n");
	put(w->pod, "memory.current", "4000\n");
	assert_true(memory_room_of(w->container, w->top, &room));
	assert_int_equal(room.left, 1000);
	assert_int_equal(room.limit, 5000);
	put(w->container, "memory.max", "1000\n");
	assert_true(memory_room_of(w->container, w->top, &room));
	assert_int_equal(room.left, 100);
	put(w->container, "memory.stat", "anon 1\ninactive_file 300\nactive_file 7\n");
	assert_true(memory_room_of(w->container, w->top, &room));
	assert_int_equal(room.left, 400);
}

static void a_huge_number_of_version_1_is_no_limit(void **state)
{
	const struct world *w = *state;
	struct memory_room room;

	put(w->container, "memory.limit_in_bytes", "9223372036854771712\n");
	put(w->container, "memory.usage_in_bytes", "900\n");
	assert_false(memory_room_of(w->container, w->top, &room));
	put(w->container, "memory.limit_in_bytes", "800\n");
	assert_true(memory_room_of(w->container, w->top, &room));
	assert_int_equal(room.left, 0);
	put(w->container, "memory.stat", "inactive_file 1\ntotal_inactive_file 250\n");
	assert_true(memory_room_of(w->container, w->top, &room));
	assert_int_equal(room.left, 150);
}

static void a_text_instead_of_a_number_is_no_limit(void **state)
{
	const struct world *w = *state;
	struct memory_room room;

	put(w->container, "memory.max", "");
	put(w->container, "memory.current", "x");
	assert_false(memory_room_of(w->container, w->top, &room));
	assert_false(memory_room_of("/nowhere/at/all", "/nowhere", &room));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_narrowest_group_of_version_2_counts, make_world,
						remove_world),
		cmocka_unit_test_setup_teardown(a_huge_number_of_version_1_is_no_limit, make_world,
						remove_world),
		cmocka_unit_test_setup_teardown(a_text_instead_of_a_number_is_no_limit, make_world,
						remove_world),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
