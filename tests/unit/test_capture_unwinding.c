/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes get tables, and how often sysflame tries to build them. */
#include "test.h"

#include "capture/unwind/unwinding.h"

#define RANGES 64 /* of the tables; a process may take half of them */
#define MOST   32

static struct mapping mappings[2 * RANGES];

static struct process make_process(size_t nr)
{
	for (size_t i = 0; i < ARRAY_SIZE(mappings); i++)
		mappings[i] = (struct mapping){ .start = 0x10000 * (i + 1),
						.end = 0x10000 * (i + 1) + 0x1000,
						.executable = true,
						.path = "" };
	return (struct process){ .id = { 1, 1 }, .mappings = { mappings, nr, nr } };
}

static bool gets_tables(struct unwinding *u, struct process *p, size_t nr)
{
	const struct sample unwalked = { .kind = RECORD_UNWALKED,
					 .nr_user = sizeof(struct unwalked) /
						    sizeof(struct user_frame) };
	struct {
		struct sample head;
		struct unwalked kept;
	} sample = { .head = unwalked };

	p->mappings.nr = nr;
	assert_false(unwinding_must_wait(u, p, &sample.head));
	free(unwinding_walk(u, p, &sample.head));
	return tables_has_process(unwinding_tables(u), p->id);
}

static void a_process_that_is_too_large_is_not_retried_at_each_sample(void **state)
{
	const struct tables_sizes sizes = { .nr_words = 4096, .nr_ranges = RANGES, .nr_jvms = 1 };
	struct jvm_registry *jvms = jvm_registry_new();
	struct process p = make_process(MOST + 1);
	struct unwinding *u;

	assert_int_equal(unwinding_new(&sizes, NULL, jvms, &u), 0);
	assert_false(gets_tables(u, &p, MOST + 1));
	assert_false(gets_tables(u, &p, MOST)); /* would fit, but the change is too small */
	assert_true(gets_tables(u, &p, MOST / 2));
	unwinding_free(u);
	jvm_registry_free(jvms);
}

static void a_process_that_executes_another_program_is_retried(void **state)
{
	const struct tables_sizes sizes = { .nr_words = 4096, .nr_ranges = RANGES, .nr_jvms = 1 };
	struct jvm_registry *jvms = jvm_registry_new();
	struct process p = make_process(MOST + 1);
	struct unwinding *u;

	assert_int_equal(unwinding_new(&sizes, NULL, jvms, &u), 0);
	assert_false(gets_tables(u, &p, MOST + 1));
	unwinding_forget(u, &p);
	assert_true(gets_tables(u, &p, MOST));
	unwinding_free(u);
	jvm_registry_free(jvms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_that_is_too_large_is_not_retried_at_each_sample),
		cmocka_unit_test(a_process_that_executes_another_program_is_retried),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
