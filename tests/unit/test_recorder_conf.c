/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's configuration, the rate that it chooses, and the service of a process. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "daemon/recorder/conf.h"
#include "daemon/recorder/continuous.h"
#include "daemon/recorder/governor.h"
#include "jvm/process/words.h"

static void expect_fault(const char *text, const char *fault)
{
	auto_str struct str why = { 0 };
	struct conf c = { .max_hz = 5 };

	assert_int_equal(conf_parse(text, &c, &why), -EINVAL);
	assert_non_null(strstr(why.at, fault));
	assert_int_equal(c.max_hz, 5);
}

static void a_file_sets_limits(void **state)
{
	auto_str struct str why = { 0 };
	struct conf c;

	assert_int_equal(conf_parse("# limits\nmax_hz = 199\n\n max_duration=60 # s\r\n"
				    "max_recordings = 2\nallow = java, tracepoint",
				    &c, &why),
			 0);
	assert_int_equal(c.max_hz, 199);
	assert_int_equal(c.max_duration_s, 60);
	assert_int_equal(c.max_recordings, 2);
	assert_true(c.allows[CONF_JAVA] && c.allows[CONF_TRACEPOINT]);
	assert_false(c.allows[CONF_UPROBE] || c.allows[CONF_USDT] || c.allows[CONF_NATIVEMEM]);
	assert_int_equal(conf_parse("", &c, &why), 0);
	assert_int_equal(c.max_hz, 999);
}

static void a_wrong_line_is_named(void **state)
{
	expect_fault("max_hz 199", "line 1: 'max_hz 199'");
	expect_fault("\nmax_hz = 0", "line 2: max_hz");
	expect_fault("max_hz = 10001", "1 to 10000");
	expect_fault("max_hz = -5", "max_hz");
	expect_fault("max_hz = 99x", "max_hz");
	expect_fault("max_cpu = 1", "'max_cpu' is unknown");
	expect_fault("allow = java, everything", "no 'everything'");
}

static void dear_events_must_be_allowed(void **state)
{
	auto_str struct str why = { 0 };
	struct conf c = conf_default();

	assert_int_equal(conf_check_events(&c, "cpu,alloc,lock,offcpu,wall", &why), 0);
	assert_int_equal(conf_check_events(&c, "cpu,nativemem", &why), -EPERM);
	assert_non_null(strstr(why.at, "nativemem"));
	assert_int_equal(conf_check_events(&c, "usdt:libjvm.so:hotspot:gc__begin", &why), -EPERM);
	assert_int_equal(conf_check_events(&c, "java:A.b", &why), -EPERM);
	assert_int_equal(conf_check_events(&c, "cpu,sched:sched_switch,alloc", &why), -EPERM);
	c.allows[CONF_TRACEPOINT] = true;
	assert_int_equal(conf_check_events(&c, "cpu,sched:sched_switch,alloc", &why), 0);
	assert_null(conf_why_not(&c, "sched:sched_switch"));
	assert_non_null(conf_why_not(&c, "uprobe:libc.so.6:malloc"));
}

static void a_file_of_others_is_refused(void **state)
{
	char path[] = "/tmp/test_recorder_conf.XXXXXX";
	auto_str struct str why = { 0 };
	auto_close int fd = mkstemp(path);
	struct conf c;

	assert_int_equal(write(fd, "max_hz = 50\n", 12), 12);
	assert_int_equal(conf_read(path, &c, &why), 0);
	assert_int_equal(c.max_hz, 50);
	fchmod(fd, 0666);
	assert_int_equal(conf_read(path, &c, &why), -EPERM);
	unlink(path);
	assert_int_equal(conf_read(path, &c, &why), -ENOENT);
	assert_int_equal(conf_read("/dev/null", &c, &why), -EPERM);
}

static const struct governor_limits limits = { .cpu_ppm = 10000, .samples_s = 100 };

/* Decides so often until the rate changes; returns the number of decisions, or 0. */
static int until_change(struct governor *g, int most, u64 cpu_ppm, u64 samples_s)
{
	for (int i = 1; i <= most; i++)
		if (governor_decide(g, cpu_ppm, samples_s))
			return i;
	return 0;
}

static void a_start_may_cost_what_was_saved(void **state)
{
	struct governor g;

	governor_init(&g, &limits);
	assert_int_equal(governor_rate(&g), 19);
	assert_false(governor_decide(&g, 300000, 50)); /* 3 s: half of ten minutes' budget */
	assert_false(governor_decide(&g, 30000, 50));
	assert_int_equal(until_change(&g, 1000, 9000, 50), 0);
	assert_int_equal(governor_rate(&g), 19);
}

static void the_rate_falls_when_the_budget_is_spent(void **state)
{
	struct governor g;

	governor_init(&g, &limits);
	/* Each slice takes twice its share: the savings last for 60, and two more are needed. */
	assert_int_equal(until_change(&g, 1000, 20000, 50), 62);
	assert_int_equal(governor_rate(&g), 11);
	assert_non_null(strstr(g.why, "1.00 %"));
	assert_non_null(strstr(g.why, "2.00 %"));
	assert_int_equal(until_change(&g, 1000, 12000, 50), 3);
	assert_int_equal(governor_rate(&g), 7);
	assert_int_equal(until_change(&g, 1000, 9900, 50), 0); /* it fits, 11 Hz would not */
}

static void the_rate_rises_when_the_next_one_fits(void **state)
{
	struct governor g;

	governor_init(&g, &limits);
	assert_int_equal(until_change(&g, 1000, 1000, 150), 3);
	assert_non_null(strstr(g.why, "150 samples"));
	assert_int_equal(governor_rate(&g), 11);
	assert_int_equal(until_change(&g, 1000, 6000, 10), 0); /* at 19 Hz it would not fit */
	assert_int_equal(until_change(&g, 1000, 1000, 10), 6);
	assert_int_equal(governor_rate(&g), 19);
	assert_string_equal(g.why, "");
}

static void it_is_off_for_less_than_a_minute(void **state)
{
	struct governor g;

	governor_init(&g, &limits);
	while (governor_rate(&g))
		assert_true(until_change(&g, 1000, 50000, 10) > 0);
	assert_int_equal(until_change(&g, 1000, 50000, 0), GOVERNOR_OFF_SLICES);
	assert_int_equal(governor_rate(&g), 1);
	assert_true(governor_is_kernel_only(&g));
	for (int off = 0, i = 0; i < 10000; i++) {
		governor_decide(&g, 50000, 0);
		off = governor_rate(&g) ? 0 : off + 1;
		assert_true(off <= GOVERNOR_OFF_SLICES);
	}
}

/* As beside 37 new programs a second: 1.5 % for their names at any rate, 0.6 % without. */
static void costs_that_do_not_follow_the_rate_take_user_stacks_not_the_rest(void **state)
{
	struct governor g;
	u64 sum = 0;

	governor_init(&g, &limits);
	for (int i = 0; i < 1000; i++) {
		u64 used = governor_is_kernel_only(&g) ? 6000 : 15000 + governor_rate(&g) * 200;
		sum += used;
		governor_decide(&g, used, 20);
		assert_true(governor_rate(&g) > 0);
		if (i == 300) {
			assert_true(governor_is_kernel_only(&g));
			assert_non_null(strstr(g.why, "no user stacks"));
		}
	}
	assert_true(sum / 1000 <= limits.cpu_ppm);
	/* The programs have gone. */
	for (int i = 0; i < 1000; i++)
		governor_decide(&g, 1000 + governor_rate(&g) * 100, 20);
	assert_int_equal(governor_rate(&g), 19);
	assert_false(governor_is_kernel_only(&g));
}

/* 34 busy CPUs of 36 at the full rate, with the cost that was measured on 2. */
static void the_budget_grows_with_the_cpus(void **state)
{
	struct governor_limits own = governor_scale(&limits, 36);
	struct governor g;

	assert_int_equal(governor_scale(&limits, 2).samples_s, limits.samples_s);
	assert_int_equal(own.samples_s, 900);
	governor_init(&g, &own);
	for (int i = 0; i < 1000; i++) {
		u64 samples = 34ull * governor_rate(&g);
		governor_decide(&g, 2000 + samples * 20, samples);
		assert_int_equal(governor_rate(&g), 19);
	}
}

/* Too many samples are no reason to see nothing. */
static void samples_alone_do_not_turn_it_off(void **state)
{
	struct governor g;

	governor_init(&g, &limits);
	for (int i = 0; i < 1000; i++) {
		governor_decide(&g, 5000, 1000);
		assert_true(governor_rate(&g) > 0);
	}
	assert_int_equal(governor_rate(&g), 1);
}

/* This node's samples grow faster than the rate. */
static void a_rise_that_is_taken_back_delays_the_next(void **state)
{
	struct governor g;
	int nr_changes = 0;

	governor_init(&g, &limits);
	for (int i = 0; i < 1000; i++)
		nr_changes += governor_decide(&g, 1000, governor_rate(&g) < 11 ? 40 : 160);
	assert_in_range(nr_changes, 10, 30);
}

/* The governor expects the number of samples to follow the rate, whatever the event. */
static void samples_of_all_events_follow_the_rate(void **state)
{
	static const u32 rates[] = { 11, 7, 3 };
	struct event_options full, less;

	continuous_set_rate(&full, 19);
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		u64 hz = rates[i];
		continuous_set_rate(&less, rates[i]);
		assert_int_equal(less.freq_hz, hz);
		assert_int_equal(less.offcpu_min_ns, full.offcpu_min_ns * 19 / hz);
		assert_int_equal(less.lock_min_ns, full.lock_min_ns * 19 / hz);
		assert_int_equal(less.alloc_interval, full.alloc_interval * 19 / hz);
	}
}

/* Whatever the node does, the budget holds in the long run. */
static void the_budget_holds_in_the_long_run(void **state)
{
	struct governor g;
	u64 sum = 0, slices = 20000;

	governor_init(&g, &limits);
	for (u64 i = 0; i < slices; i++) {
		u64 used = 500 + governor_rate(&g) * (i / 1000 % 2 ? 3000 : 200);
		used += governor_decide(&g, used, 10) ? 20000 : 0;
		sum += used;
	}
	assert_true(sum / slices <= limits.cpu_ppm * 11 / 10);
	assert_true(sum / slices >= limits.cpu_ppm / 5);
}

static void expect_service(const char *environ, size_t len, const char *service)
{
	auto_free char *found = words_service(environ, len);

	if (!service)
		assert_null(found);
	else
		assert_string_equal(found, service);
}

#define ENVIRON(text) text, sizeof(text)

static void the_environment_names_the_service(void **state)
{
	expect_service(ENVIRON("PATH=/bin\0OTEL_SERVICE_NAME=checkout\0A=b"), "checkout");
	expect_service(ENVIRON("OTEL_RESOURCE_ATTRIBUTES=a=b,service.name=pay,c=d"), "pay");
	expect_service(ENVIRON("OTEL_RESOURCE_ATTRIBUTES=service.name=pay\0OTEL_SERVICE_NAME=x"),
		       "x");
	expect_service(ENVIRON("OTEL_RESOURCE_ATTRIBUTES=xservice.name=pay,service.name="), NULL);
	expect_service(ENVIRON("OTEL_SERVICE_NAME="), NULL);
	expect_service(ENVIRON("PATH=/bin"), NULL);
	expect_service("", 0, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_sets_limits),
		cmocka_unit_test(a_wrong_line_is_named),
		cmocka_unit_test(dear_events_must_be_allowed),
		cmocka_unit_test(a_file_of_others_is_refused),
		cmocka_unit_test(a_start_may_cost_what_was_saved),
		cmocka_unit_test(the_rate_falls_when_the_budget_is_spent),
		cmocka_unit_test(the_rate_rises_when_the_next_one_fits),
		cmocka_unit_test(it_is_off_for_less_than_a_minute),
		cmocka_unit_test(costs_that_do_not_follow_the_rate_take_user_stacks_not_the_rest),
		cmocka_unit_test(the_budget_grows_with_the_cpus),
		cmocka_unit_test(samples_alone_do_not_turn_it_off),
		cmocka_unit_test(a_rise_that_is_taken_back_delays_the_next),
		cmocka_unit_test(samples_of_all_events_follow_the_rate),
		cmocka_unit_test(the_budget_holds_in_the_long_run),
		cmocka_unit_test(the_environment_names_the_service),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
