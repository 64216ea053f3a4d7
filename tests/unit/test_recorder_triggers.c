/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that start recordings, and the values that they compare. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/time.h"
#include "daemon/recorder/conf.h"
#include "daemon/recorder/trigger_value.h"
#include "daemon/recorder/triggers.h"

static void a_rule_has_defaults_for_what_it_does_not_say(void **state)
{
	struct trigger_rule r;
	struct str why = { 0 };

	assert_int_equal(
		trigger_rule_parse("hot: cpu > 150 for 20 in jvm record cpu,alloc 30", &r, &why),
		0);
	assert_string_equal(r.name, "hot");
	assert_string_equal(r.events, "cpu,alloc");
	assert_int_equal(r.what, TRIGGER_CPU);
	assert_int_equal(r.for_s, 20);
	assert_int_equal(r.record_s, 30);
	assert_int_equal(r.cooldown_s, 1800);
	assert_int_equal(r.quota, 10);
	assert_int_equal(r.before_s, 300);
	assert_int_equal(trigger_rule_parse("t: throttled > 25.5 for 1 in cgroup=/a/b record cpu 1 "
					    "cooldown 60 quota 3 before 0",
					    &r, &why),
			 0);
	assert_string_equal(r.where_text, "/a/b");
	assert_true(r.limit == 25.5);
	assert_int_equal(r.before_s, 0);
}

static void refuses(const char *line, const char *reason)
{
	struct conf c;
	auto_str struct str why = { 0 };

	assert_int_equal(conf_parse(line, &c, &why), -EINVAL);
	if (!strstr(why.at, reason))
		fail_msg("%s: %s", line, why.at);
}

static void a_wrong_rule_is_refused_with_its_line_and_reason(void **state)
{
	refuses("\ntrigger = x", "line 2: trigger: begins with NAME:");
	refuses("trigger = x: heat > 1 for 1 in jvm record cpu 1", "'heat' is none of cpu");
	refuses("trigger = x: cpu < 1 for 1 in jvm record cpu 1", "expected '>'");
	refuses("trigger = x: cpu > nan for 1 in jvm record cpu 1", "takes a number");
	refuses("trigger = x: cpu > 1 for 0 in jvm record cpu 1", "for takes 1 to");
	refuses("trigger = x: gc > 1 for 1 in node record cpu 1", "gc is not known in 'node'");
	refuses("trigger = x: cpu > 1 for 1 in container= record cpu 1", "'in' takes");
	refuses("trigger = x: cpu > 1 for 1 in jvm record cpu 301", "record takes 1 to 300");
	refuses("trigger = x: cpu > 1 for 1 in jvm record uprobe:a:b 1", "is not allowed");
	refuses("trigger = x: cpu > 1 for 1 in jvm record cpu 1 often", "'often' is none of");
	refuses("trigger = x: cpu > 1 for 1 in jvm record cpu 1\n"
		"trigger = x: cpu > 2 for 1 in jvm record cpu 1",
		"two of the name x");
}

static void values_are_what_grew_between_two_readings(void **state)
{
	struct trigger_counters from = { .cpu_ns = 10, .periods = 5 };
	struct trigger_counters to = { .cpu_ns = 10 + NS_PER_SEC,
				       .gc_ns = NS_PER_SEC / 4,
				       .allocated = 30000000,
				       .periods = 15,
				       .throttled = 4,
				       .samples = 60,
				       .lost = 40,
				       .pressure = 12 };
	double v;

	assert_true(trigger_value(TRIGGER_CPU, &from, &to, 2 * NS_PER_SEC, &v) && v == 50);
	assert_true(trigger_value(TRIGGER_GC, &from, &to, NS_PER_SEC, &v) && v == 25);
	assert_true(trigger_value(TRIGGER_ALLOC, &from, &to, 2 * NS_PER_SEC, &v) && v == 15);
	assert_true(trigger_value(TRIGGER_THROTTLED, &from, &to, NS_PER_SEC, &v) && v == 40);
	assert_true(trigger_value(TRIGGER_LOST, &from, &to, NS_PER_SEC, &v) && v == 40);
	assert_true(trigger_value(TRIGGER_PSI_IO, &from, &to, NS_PER_SEC, &v) && v == 12);
	/* A counter that began anew, and a group without periods. */
	assert_true(trigger_value(TRIGGER_CPU, &to, &from, NS_PER_SEC, &v) && v == 0);
	assert_false(trigger_value(TRIGGER_THROTTLED, &to, &to, NS_PER_SEC, &v));
}

/* Messages that arrive at the other end. */
static u32 nr_fired(int sock, char why[256])
{
	static struct control_message m;
	u32 nr = 0;
	int fd;

	while (!channel_receive(sock, &m, &fd))
		if (m.kind == CONTROL_FIRED) {
			copy_text(why, 256, m.fired.why);
			nr++;
		}
	return nr;
}

/* Triggers with a channel. */
struct world {
	struct redaction *redaction;
	struct outbox out;
	struct triggers *t;
	int receiver;
};

static void use(struct world *w, const char *rule)
{
	struct str why = { 0 };
	struct conf c;

	assert_int_equal(conf_parse(rule, &c, &why), 0);
	triggers_use(w->t, &c);
}

static int make_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
	w->redaction = redaction_new();
	w->out = (struct outbox){ .redaction = w->redaction, .sock = ends[0] };
	w->receiver = ends[1];
	w->t = triggers_new(NULL);
	*state = w;
	return 0;
}

static int free_world(void **state)
{
	struct world *w = *state;

	triggers_free(w->t);
	outbox_fini(&w->out);
	redaction_free(w->redaction);
	close(w->receiver);
	free(w);
	return 0;
}

/* Half of the samples are lost. They are counted with each slice, every ten seconds. */
static u32 nr_fired_in(struct world *w, u64 from_s, u64 to_s, char why[256])
{
	for (u64 s = from_s; s < to_s; s++)
		triggers_tick(w->t, (100 + s) * NS_PER_SEC, 100 * (s / 10), 100 * (s / 10),
			      &w->out);
	return nr_fired(w->receiver, why);
}

#define DROPS "trigger = drops: lost > 5 for 30 in node record cpu 30 cooldown 60"

/* Rules are judged every second. */
static void a_rule_on_lost_samples_holds_between_slices(void **state)
{
	struct world *w = *state;
	char fired[256] = "";

	use(w, DROPS);
	assert_int_equal(nr_fired_in(w, 1, 35, fired), 0);
	assert_int_equal(nr_fired_in(w, 35, 50, fired), 1);
	assert_string_equal(fired, "lost 50 % of the samples lost, over 5 for 30 s, in the node");
}

/* Continuous profiling is off for ten minutes: nobody knows whether the rule held then. */
static void time_without_slices_is_none_in_which_a_rule_holds(void **state)
{
	struct world *w = *state;
	char fired[256] = "";

	use(w, DROPS);
	assert_int_equal(nr_fired_in(w, 1, 25, fired), 0);
	for (u64 s = 25; s < 600; s++)
		triggers_tick(w->t, (100 + s) * NS_PER_SEC, 200, 200, &w->out);
	assert_int_equal(nr_fired_in(w, 600, 629, fired), 0);
	assert_int_equal(nr_fired_in(w, 629, 650, fired), 1);
}

static void a_rule_that_is_read_again_goes_on(void **state)
{
	struct world *w = *state;
	char fired[256];

	use(w, DROPS);
	assert_int_equal(nr_fired_in(w, 1, 20, fired), 0);
	use(w, DROPS);
	assert_int_equal(nr_fired_in(w, 20, 50, fired), 1);
	use(w, DROPS);
	assert_int_equal(nr_fired_in(w, 50, 95, fired), 0); /* it rests */
	assert_int_equal(nr_fired_in(w, 95, 130, fired), 1);
}

static void the_quota_of_a_rule_outlasts_a_change_of_its_condition(void **state)
{
	struct world *w = *state;
	char fired[256];

	use(w, DROPS " quota 1");
	assert_int_equal(nr_fired_in(w, 1, 50, fired), 1);
	use(w, "trigger = drops: lost > 6 for 1 in node record cpu 30 cooldown 1 quota 1");
	assert_int_equal(nr_fired_in(w, 50, 200, fired), 0);
	use(w, "trigger = others: lost > 6 for 1 in node record cpu 30 quota 1");
	assert_int_equal(nr_fired_in(w, 200, 250, fired), 1);
}

static void the_kernels_files_are_read(void **state)
{
	const char *stat = "usage_usec 17\nnr_periods 4\nnr_throttled 3\n";
	u64 nr = 0;
	double v;

	assert_true(trigger_stat(stat, "nr_throttled", &nr) && nr == 3);
	assert_false(trigger_stat(stat, "nr_thr", &nr));
	assert_false(trigger_stat("nr_periods x", "nr_periods", &nr));
	assert_true(trigger_pressure("some avg10=12.50 avg60=0 avg300=0 total=1\n", &v) &&
		    v == 12.5);
	assert_false(trigger_pressure("full avg10=1", &v));
	assert_false(trigger_pressure("some avg10=101", &v));
}

#define test_in_world(test) cmocka_unit_test_setup_teardown(test, make_world, free_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_has_defaults_for_what_it_does_not_say),
		cmocka_unit_test(a_wrong_rule_is_refused_with_its_line_and_reason),
		cmocka_unit_test(values_are_what_grew_between_two_readings),
		test_in_world(a_rule_on_lost_samples_holds_between_slices),
		test_in_world(time_without_slices_is_none_in_which_a_rule_holds),
		test_in_world(a_rule_that_is_read_again_goes_on),
		test_in_world(the_quota_of_a_rule_outlasts_a_change_of_its_condition),
		cmocka_unit_test(the_kernels_files_are_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
