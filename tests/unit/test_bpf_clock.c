/* SPDX-License-Identifier: Apache-2.0 */
/* What BPF knows of the timer of a clock. */
#define preserve_access_index
#define BPF_CORE_READ(from, field) ((from)->field)
#include "host/unwinder.h"
#include "test.h"

#define PERIOD_NS 10000000

static u64 id_on_cpu;

static void *bpf_map_lookup_elem(void *map, const void *key)
{
	return map == &clock_ids && *(const u32 *)key == 0 ? &id_on_cpu : NULL;
}

static long bpf_probe_read_user(void *dst, __u32 size, const void *from)
{
	return -14;
}

static u32 bpf_get_smp_processor_id(void)
{
	return 0;
}

#include "events/clock.h"

/* How many samples were skipped before the clock's timer, which is due at `due_ns`, expires. */
static u64 expire(struct event_runs *runs, struct perf_event *clock, u64 due_ns)
{
	clock_use(runs, clock_id(clock, 0));
	u64 skipped = clock_nr_between(runs->next_ns, due_ns, PERIOD_NS);
	runs->next_ns = due_ns + PERIOD_NS;
	return skipped;
}

static void samples_between_two_expiries_of_a_clock_are_skipped(void **state)
{
	struct perf_event clock = { .id = 3 };
	struct event_runs runs = { 0 };

	id_on_cpu = 3;
	assert_int_equal(expire(&runs, &clock, 1000000000), 0);
	assert_int_equal(expire(&runs, &clock, 1000000000 + PERIOD_NS), 0);
	assert_int_equal(expire(&runs, &clock, 1000000000 + 5 * PERIOD_NS), 3);
}

static void the_time_before_a_clock_was_opened_is_not_skipped(void **state)
{
	struct perf_event first = { .id = 3 }, second = { .id = 4 };
	struct event_runs runs = { 0 };

	id_on_cpu = 3;
	expire(&runs, &first, 1000000000);
	id_on_cpu = 4;
	assert_int_equal(expire(&runs, &second, 3601000000000), 0);
	assert_int_equal(expire(&runs, &second, 3601000000000 + 2 * PERIOD_NS), 1);
}

/* Attaching the program enables the event. It is disabled then until all CPUs start. */
static void the_time_before_a_clock_is_started_is_not_skipped(void **state)
{
	struct perf_event first = { .id = 3 }, second = { .id = 4 };
	struct event_runs runs = { 0 };

	id_on_cpu = 3;
	expire(&runs, &first, 1000000000);
	assert_int_equal(expire(&runs, &second, 3601000000000), 0);
	id_on_cpu = 4;
	assert_int_equal(expire(&runs, &second, 3602000000000), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_between_two_expiries_of_a_clock_are_skipped),
		cmocka_unit_test(the_time_before_a_clock_was_opened_is_not_skipped),
		cmocka_unit_test(the_time_before_a_clock_is_started_is_not_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
