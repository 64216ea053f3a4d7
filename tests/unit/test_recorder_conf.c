/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's configuration, the rate that it chooses, and the service of a process. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "recorder/conf.h"
#include "recorder/governor.h"
#include "recorder/service.h"

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

static void the_rate_falls_and_rises(void **state)
{
	const struct governor_limits limits = { .cpu_ppm = 10000, .samples_s = 100 };
	struct governor g;

	governor_init(&g, &limits);
	assert_int_equal(governor_rate(&g), 19);
	assert_false(governor_decide(&g, 12000, 50)); /* once is no trend */
	assert_false(governor_decide(&g, 9000, 50));
	assert_false(governor_decide(&g, 12000, 50));
	assert_true(governor_decide(&g, 12000, 50));
	assert_int_equal(governor_rate(&g), 11);
	assert_non_null(strstr(g.why, "1.20 %"));
	assert_true(governor_decide(&g, 1000, 900)); /* far over the budget: at once */
	assert_int_equal(governor_rate(&g), 7);
	assert_non_null(strstr(g.why, "900 samples"));
	for (int i = 0; i < 5; i++)
		assert_false(governor_decide(&g, 1000, 10));
	assert_true(governor_decide(&g, 1000, 10));
	assert_int_equal(governor_rate(&g), 11);
	for (int i = 0; i < 20; i++) /* at 19 Hz it would not fit */
		assert_false(governor_decide(&g, 6000, 10));
	for (int i = 0; i < 6; i++)
		governor_decide(&g, 1000, 10);
	assert_int_equal(governor_rate(&g), 19);
	assert_string_equal(g.why, "");
}

static void it_goes_off_and_tries_again(void **state)
{
	const struct governor_limits limits = { .cpu_ppm = 10000, .samples_s = 100 };
	struct governor g;
	int slices = 0;

	governor_init(&g, &limits);
	for (int i = 0; i < 4; i++)
		assert_true(governor_decide(&g, 100000, 0));
	assert_int_equal(governor_rate(&g), 0);
	while (!governor_decide(&g, 0, 0))
		slices++;
	assert_int_equal(governor_rate(&g), 3);
	assert_true(slices >= 20);
}

static void expect_service(const char *environ, size_t len, const char *service)
{
	auto_free char *found = service_in_environment(environ, len);

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
		cmocka_unit_test(the_rate_falls_and_rises),
		cmocka_unit_test(it_goes_off_and_tries_again),
		cmocka_unit_test(the_environment_names_the_service),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
