/* SPDX-License-Identifier: Apache-2.0 */
/* What spares a large recording its waves, and what does not. */
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fleet/controller/canary.h"

#define NOW 1700000000000ull

struct fleet {
	char dir[32];
	struct canary canary;
	struct gather gather;
	struct gather_node nodes[20];
};

/* The first `nr_other` nodes claim another version. */
static void begin(struct fleet *f, u32 nr_other)
{
	memset(f, 0, sizeof(*f));
	strcpy(f->dir, "/tmp/sysflame-canary-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	canary_open(&f->canary, f->dir);
	for (u32 i = 0; i < 20; i++) {
		struct gather_node *n = &f->nodes[i];
		n->state = GATHER_DELIVERED;
		n->version = (char *)(i < nr_other ? "2.0" : "1.0");
		n->kernel = (char *)"6.1.0";
		snprintf(n->name, sizeof(n->name), "n%u", i);
		vec_push(&f->gather.nodes, n);
	}
}

static void end(struct fleet *f)
{
	assert_int_equal(unlink(f->canary.path), 0);
	assert_int_equal(rmdir(f->dir), 0);
	canary_fini(&f->canary);
	vec_fini(&f->gather.nodes);
}

static bool knows(const struct fleet *f, const char *events, u32 hz, u64 now_ms)
{
	return canary_knows(&f->canary, events, hz, now_ms, &f->gather);
}

static void the_same_recording_needs_no_waves_for_a_day(void **state)
{
	struct fleet f;

	begin(&f, 0);
	assert_false(knows(&f, "cpu", 99, NOW));
	assert_int_equal(canary_learn(&f.canary, "cpu", 0, NOW, &f.gather), 0);
	canary_fini(&f.canary);
	canary_open(&f.canary, f.dir); /* another process */
	assert_true(knows(&f, "cpu", 99, NOW + 1));
	assert_true(knows(&f, "cpu", 99, NOW + CANARY_MS - 1));
	assert_false(knows(&f, "cpu", 99, NOW + CANARY_MS));
	assert_false(knows(&f, "cpu", 99, NOW - 1)); /* a clock that went back */
	assert_false(knows(&f, "cpu", 999, NOW + 1));
	assert_false(knows(&f, "cpu,lock", 99, NOW + 1));
	f.nodes[7].kernel = (char *)"6.12.0";
	assert_false(knows(&f, "cpu", 99, NOW + 1));
	f.nodes[7].verdict = VERDICT_NO_MATCH;
	assert_true(knows(&f, "cpu", 99, NOW + 1));
	end(&f);
}

/* One node that claims version 2.0 spares itself the waves, but no other node of that version. */
static void a_single_node_speaks_for_itself_only(void **state)
{
	struct fleet f;

	begin(&f, CANARY_NODES - 1);
	assert_int_equal(canary_learn(&f.canary, "cpu", 99, NOW, &f.gather), 0);
	assert_true(knows(&f, "cpu", 99, NOW));
	f.nodes[10].version = (char *)"2.0";
	assert_false(knows(&f, "cpu", 99, NOW));
	assert_int_equal(canary_learn(&f.canary, "cpu", 99, NOW, &f.gather), 0);
	f.nodes[11].version = (char *)"2.0";
	assert_true(knows(&f, "cpu", 99, NOW));
	end(&f);
}

static void a_node_that_failed_teaches_nothing(void **state)
{
	struct fleet f;

	begin(&f, 1);
	f.nodes[0].state = GATHER_FAILED;
	assert_int_equal(canary_learn(&f.canary, "cpu", 99, NOW, &f.gather), 0);
	assert_false(knows(&f, "cpu", 99, NOW));
	end(&f);
}

static void a_crash_of_a_jvm_makes_its_events_new_again(void **state)
{
	struct fleet f;

	begin(&f, 0);
	assert_int_equal(canary_learn(&f.canary, "cpu", 99, NOW, &f.gather), 0);
	assert_int_equal(canary_learn(&f.canary, "alloc", 99, NOW, &f.gather), 0);
	f.nodes[3].nr_died = 1;
	assert_int_equal(canary_learn(&f.canary, "alloc", 999, NOW, &f.gather), 0);
	assert_false(knows(&f, "alloc", 99, NOW));
	assert_false(knows(&f, "alloc", 999, NOW));
	assert_true(knows(&f, "cpu", 99, NOW));
	end(&f);
}

/* The file stays small, and a damaged one is as good as none. */
static void any_file_is_read(void **state)
{
	struct fleet f;

	begin(&f, 0);
	FILE *file = fopen(f.canary.path, "w");
	assert_non_null(file);
	fputs("\n1\t2\n\t\t\t\t\t\t\t\nx\ty\tz\t1.0\t6.1.0\tcpu\n", file);
	for (u32 i = 0; i < 3000; i++)
		fprintf(file, "%llu\t99\tnode%u\t1.0\t6.1.0\tcpu\n", NOW, i);
	fclose(file);
	canary_fini(&f.canary);
	canary_open(&f.canary, f.dir);
	assert_int_equal(f.canary.all.nr, 1000);
	assert_false(knows(&f, "cpu", 99, NOW));
	assert_int_equal(canary_learn(&f.canary, "cpu", 99, NOW, &f.gather), 0);
	assert_true(knows(&f, "cpu", 99, NOW));
	assert_int_equal(f.canary.all.nr, 1000);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_recording_needs_no_waves_for_a_day),
		cmocka_unit_test(a_single_node_speaks_for_itself_only),
		cmocka_unit_test(a_node_that_failed_teaches_nothing),
		cmocka_unit_test(a_crash_of_a_jvm_makes_its_events_new_again),
		cmocka_unit_test(any_file_is_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
