/* SPDX-License-Identifier: Apache-2.0 */
/* Continuous profiling on a recorder whose recordings are made up. */
#include "test.h"

#include "capture/recording.h"

#define FAKES_MAX 8

struct recording {
	enum recording_state state;
	int error;
	bool was_stopped, was_freed;
};

static struct recording fakes[FAKES_MAX];
static u32 nr_fakes;
static u64 nr_fake_samples, fake_used_ns;

static struct recording *fake_new(struct node *n, const struct recording_options *options)
{
	assert_true(nr_fakes < FAKES_MAX);
	return &fakes[nr_fakes++];
}

static struct sink *fake_add_sink(struct recording *r, const struct sink_options *options)
{
	return NULL;
}

static int fake_start(struct recording *r)
{
	return 0;
}

static enum recording_state fake_state(const struct recording *r)
{
	return r->state;
}

static int fake_error(const struct recording *r)
{
	return r->error;
}

static void fake_stop(struct recording *r)
{
	r->was_stopped = true;
	if (r->state < RECORDING_ENDS)
		r->state = RECORDING_ENDS;
}

static void fake_free(struct recording *r)
{
	if (r)
		r->was_freed = true;
}

static int fake_cut(struct recording *r, struct sink *k)
{
	return 0;
}

static struct cut *fake_take_cut(struct recording *r, struct sink *k)
{
	return NULL;
}

static void fake_progress(const struct recording *r, struct recording_progress *out)
{
	*out = (struct recording_progress){ .sampled = nr_fake_samples };
}

static u64 fake_cpu_ns(const struct node *n)
{
	return fake_used_ns;
}

#define recording_new              fake_new
#define recording_add_sink         fake_add_sink
#define recording_start            fake_start
#define recording_state(r)         fake_state(r) /* also the name of an enum */
#define recording_error            fake_error
#define recording_stop             fake_stop
#define recording_free             fake_free
#define recording_cut              fake_cut
#define recording_take_cut         fake_take_cut
#define recording_progress(r, out) fake_progress(r, out) /* and of a struct */
#define node_cpu_ns                fake_cpu_ns
#include "daemon/recorder/continuous.c"

static struct continuous *begin(void)
{
	const struct continuous_options options = {
		.events = "cpu", .limits = { .cpu_ppm = PPM, .samples_s = 1000 }
	};

	memset(fakes, 0, sizeof(fakes));
	nr_fakes = 0;
	nr_fake_samples = fake_used_ns = 0;
	struct continuous *c = continuous_new(NULL, &options, NULL);
	assert_int_equal(nr_fakes, 1);
	return c;
}

static struct control_node report(const struct continuous *c)
{
	struct control_node out = { 0 };

	continuous_report(c, &out);
	return out;
}

static void a_recording_whose_events_do_not_start_is_started_again(void **state)
{
	struct continuous *c = begin();
	u64 now_ns = time_mono_ns();

	continuous_tick(c, now_ns, true);
	assert_int_equal(report(c).continuous_hz, 19);
	fakes[0].state = RECORDING_DONE;
	fakes[0].error = -EMFILE;
	continuous_tick(c, now_ns, true);
	assert_true(fakes[0].was_freed);
	assert_int_equal(report(c).continuous_hz, 0);
	assert_non_null(strstr(report(c).continuous_why, strerror(EMFILE)));
	continuous_tick(c, now_ns + RETRY_NS, true);
	assert_int_equal(nr_fakes, 2);
	assert_int_equal(report(c).continuous_hz, 19);
	assert_string_equal(report(c).continuous_why, "");
	continuous_free(c);
}

/* Until the governor has lowered the rate. */
static void fall(struct continuous *c, u64 *now_ns)
{
	while (nr_fakes == 1) {
		*now_ns += SLICE_NS;
		c->border_ns = 0;
		nr_fake_samples += 2000 * SLICE_NS / NS_PER_SEC;
		continuous_tick(c, *now_ns, true);
	}
}

static void both_recordings_of_a_change_end_in_their_order(void **state)
{
	struct continuous *c = begin();
	u64 now_ns = time_mono_ns();

	fakes[0].state = fakes[1].state = RECORDING_RUNS;
	fall(c, &now_ns);
	assert_true(fakes[0].was_stopped);
	assert_false(fakes[1].was_stopped);
	continuous_stop(c);
	assert_true(fakes[1].was_stopped);
	fakes[1].state = RECORDING_DONE;
	continuous_tick(c, now_ns, true);
	assert_false(fakes[1].was_freed); /* its cuts come second */
	assert_false(continuous_has_ended(c));
	fakes[0].state = RECORDING_DONE;
	continuous_tick(c, now_ns, true);
	assert_true(fakes[0].was_freed);
	assert_false(continuous_has_ended(c));
	continuous_tick(c, now_ns, true);
	assert_true(fakes[1].was_freed);
	assert_true(continuous_has_ended(c));
	continuous_free(c);
}

/* A slice during which the node used a whole CPU. */
static void pass_busy_slice(struct continuous *c, u64 *now_ns, bool is_alone)
{
	*now_ns += SLICE_NS / 2;
	continuous_tick(c, *now_ns, is_alone);
	*now_ns += SLICE_NS / 2;
	c->border_ns = 0;
	fake_used_ns += SLICE_NS;
	continuous_tick(c, *now_ns, true);
}

static void the_cost_of_other_recordings_does_not_lower_the_rate(void **state)
{
	struct continuous *c = begin();
	u64 now_ns = time_mono_ns();

	c->limits.cpu_ppm = PPM / 100;
	fakes[0].state = fakes[1].state = RECORDING_RUNS;
	for (int i = 0; i < 200; i++)
		pass_busy_slice(c, &now_ns, false);
	assert_int_equal(report(c).continuous_hz, 19);
	assert_string_equal(report(c).continuous_why, "");
	for (int i = 0; i < 200 && nr_fakes == 1; i++)
		pass_busy_slice(c, &now_ns, true);
	assert_int_equal(report(c).continuous_hz, 11);
	continuous_free(c);
}

static void each_event_is_named_once(void **state)
{
	assert_true(continuous_events_are_valid("cpu"));
	assert_true(continuous_events_are_valid("lock,cpu,alloc,offcpu"));
	assert_false(continuous_events_are_valid("cpu,cpu"));
	assert_false(continuous_events_are_valid("cpu,lock,cpu"));
	assert_false(continuous_events_are_valid("cpu,wall"));
	assert_false(continuous_events_are_valid("cpu,"));
	assert_false(continuous_events_are_valid(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recording_whose_events_do_not_start_is_started_again),
		cmocka_unit_test(both_recordings_of_a_change_end_in_their_order),
		cmocka_unit_test(each_event_is_named_once),
		cmocka_unit_test(the_cost_of_other_recordings_does_not_lower_the_rate),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
