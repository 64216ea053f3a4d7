/* SPDX-License-Identifier: Apache-2.0 */
/* The services that a daemon reports to its fleet, from the slices of continuous profiling. */
#include "stores.h"

#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "export/slices/slice_record.h"
#include "fleet/wire/selector.h"
#include "web/fleet/fleet_facts.h"
#include "web/recordings/service.h"

#define SERVICES 211
#define SLICE_NS (10 * NS_PER_SEC)

/* A store with one slice, of the last seconds, in which service N used the CPU for N + 1 s. */
static struct store *store_of_services(struct place *p, u32 nr)
{
	struct store *s = open_store(p);
	const u64 begin = time_wall_ns() - 3 * SLICE_NS;
	const struct slice_head head = { .len = SLICE_HEAD_BYTES,
					 .begin_wall_ns = begin,
					 .end_wall_ns = begin + SLICE_NS };
	u8 record[SLICE_HEAD_BYTES];
	struct store_use uses[SERVICES];
	static char names[SERVICES][24];

	for (u32 i = 0; i < nr; i++) {
		snprintf(names[i], sizeof(names[i]), "service-%u", i);
		uses[i] = (struct store_use){ "cpu", names[i], (i + 1) * NS_PER_SEC };
	}
	slice_head_write(&head, record);
	assert_int_equal(
		store_add_slice(s, record, sizeof(record), begin, begin + SLICE_NS, uses, nr), 0);
	return s;
}

static bool may_run(const struct service *sv, const char *name)
{
	struct selector s = { 0 };

	strcpy(s.processes[SELECTOR_SERVICE], name);
	return fleet_facts_runs(sv, &s);
}

static void a_service_beyond_the_largest_may_run(void **state)
{
	struct place p = new_place();
	struct service sv = { .store = store_of_services(&p, SERVICES) };

	assert_true(may_run(&sv, "service-210"));
	assert_true(may_run(&sv, "service-3")); /* the strip has the 200 largest only */
	assert_true(may_run(&sv, "absent"));
	store_close(sv.store);
	remove_place(&p);
}

static void a_service_that_used_no_cpu_does_not_run(void **state)
{
	struct place p = new_place();
	struct service sv = { .store = store_of_services(&p, 7) };

	assert_true(may_run(&sv, "service-3"));
	assert_false(may_run(&sv, "absent"));
	assert_true(may_run(&sv, ""));
	store_close(sv.store);
	remove_place(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_service_beyond_the_largest_may_run),
		cmocka_unit_test(a_service_that_used_no_cpu_does_not_run),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
