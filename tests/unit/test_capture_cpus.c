/* SPDX-License-Identifier: Apache-2.0 */
/* CPUs that go offline and come back between two looks. Their events stay open, but count no more.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "capture/kernel/cpulist.h"
#include "capture/kernel/sideband.h"
#include "capture/programs/cpus.c"
#include "capture/programs/cpus.h"

/* Counts instead of attaching, which takes a loaded program. */
static int nr_attached;
static int attach_err; /* as if the counter were somebody else's */

int programs_attach_perf(struct programs *bpf, int perf_fd, u32 event, struct bpf_link **out)
{
	if (attach_err)
		return attach_err;
	nr_attached++;
	*out = NULL;
	return 0;
}

void programs_detach(struct bpf_link *link)
{
	nr_attached--;
}

int programs_event_runs(const struct programs *bpf, u32 event, struct event_runs *out, u32 nr)
{
	return -ENOTSUP;
}

int programs_set_clock(struct programs *bpf, u32 event, int cpu, u64 id)
{
	return 0;
}

static int open_events(struct cpus **out)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000,
	};

	if (geteuid() != 0)
		skip_because("perf events take root");
	assert_int_equal(cpus_open(NULL, &attr, NULL, 0, out), 0);
	return cpus_nr(*out);
}

/* What the kernel does to the events of a CPU that goes offline. Returns how many there are. */
static int switch_off_all_events(void)
{
	int nr = 0;

	for (int fd = 3; fd < 1024; fd++) {
		auto_free char *link = xasprintf("/proc/self/fd/%d", fd);
		char target[64] = "";
		if (readlink(link, target, sizeof(target) - 1) < 0 ||
		    strcmp(target, "anon_inode:[perf_event]") != 0)
			continue;
		assert_int_equal(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0);
		nr++;
	}
	return nr;
}

static void assert_all_run(const struct cpus *c)
{
	vec_each(e, &c->events)
		assert_true(perf_has_run(e->fd, &e->running_ns));
}

static void an_event_that_runs_is_left_alone(void **state)
{
	struct cpus *c;
	int nr = open_events(&c);

	assert_int_equal(cpus_start(c), 0);
	c->events.at[0].link = (struct bpf_link *)1; /* a new one would have NULL */
	for (int look = 0; look < 3; look++)
		cpus_follow(c);
	assert_ptr_equal(c->events.at[0].link, (struct bpf_link *)1);
	assert_int_equal(nr_attached, nr);
	cpus_close(c);
	assert_int_equal(nr_attached, 0);
}

static void a_cpu_that_went_off_and_on_unseen_is_sampled_again(void **state)
{
	struct cpus *c;
	int nr = open_events(&c);

	assert_int_equal(cpus_start(c), 0);
	cpus_follow(c);
	assert_int_equal(switch_off_all_events(), nr);
	cpus_follow(c); /* they have run since the last look */
	cpus_follow(c);
	assert_int_equal(cpus_nr(c), nr);
	assert_int_equal(nr_attached, nr);
	assert_all_run(c);
	cpus_close(c);
}

static void a_counter_that_vanishes_is_named_and_taken_again(void **state)
{
	struct cpus *c;
	int nr = open_events(&c);

	assert_int_equal(cpus_start(c), 0);
	cpus_follow(c);
	assert_int_equal(switch_off_all_events(), nr);
	attach_err = -EBUSY;
	for (int look = 0; look < 3; look++)
		cpus_follow(c);
	assert_int_equal(cpus_nr(c), 0);
	assert_int_equal(c->refused.nr, nr);
	cpus_due(c); /* of no event */
	attach_err = 0;
	cpus_follow(c);
	assert_int_equal(cpus_nr(c), nr);
	assert_int_equal(c->refused.nr, 0); /* a second time is worth another warning */
	assert_all_run(c);
	cpus_close(c);
}

static void events_that_do_not_run_yet_are_left_alone(void **state)
{
	struct cpus *c;
	int nr = open_events(&c);

	c->events.at[0].link = (struct bpf_link *)1;
	cpus_follow(c);
	assert_ptr_equal(c->events.at[0].link, (struct bpf_link *)1);
	assert_int_equal(cpus_nr(c), nr);
	cpus_close(c);
}

struct seen {
	pid_t pid;
	int execs;
};

static void see(const struct side_event *e, void *ctx)
{
	struct seen *seen = ctx;

	seen->execs += e->pid == seen->pid && e->kind == SIDE_EXEC;
}

static int execs_seen(struct sideband *s)
{
	struct seen seen = { .pid = fork() };

	if (seen.pid == 0) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	waitpid(seen.pid, NULL, 0);
	sideband_drain(s, see, &seen);
	return seen.execs;
}

static void a_ring_whose_cpu_went_off_and_on_unseen_is_replaced(void **state)
{
	struct sideband *s;

	if (geteuid() != 0)
		skip_because("perf events take root");
	assert_int_equal(sideband_open(&s), 0);
	assert_false(sideband_follow(s));
	assert_int_equal(execs_seen(s), 1);
	assert_true(switch_off_all_events() > 0);
	assert_int_equal(execs_seen(s), 0);
	sideband_follow(s); /* they have run since the last look */
	assert_true(sideband_follow(s));
	assert_int_equal(execs_seen(s), 1);
	assert_false(sideband_follow(s));
	sideband_close(s);
}

/* The looks in that time, one chance a second. */
static int nr_looks(struct hotplug *h, const char *online, u64 *now_s, u64 slept_s, u64 nr_s)
{
	int nr = 0;

	for (u64 end_s = *now_s + nr_s; *now_s < end_s; ++*now_s)
		nr += hotplug_needs_look(h, online, *now_s * NS_PER_SEC,
					 (*now_s + slept_s) * NS_PER_SEC);
	return nr;
}

static void cpus_are_looked_at_when_something_may_have_changed(void **state)
{
	struct hotplug h = { 0 };
	u64 now_s = 1000;

	assert_int_equal(nr_looks(&h, "0-3", &now_s, 50, 5), 2);
	assert_int_equal(nr_looks(&h, "0-3", &now_s, 50, 5), 0);
	assert_int_equal(nr_looks(&h, "0-2", &now_s, 50, 5), 2); /* a CPU went offline */
	assert_int_equal(nr_looks(&h, "0-3", &now_s, 50, 5), 2); /* and came back */
	assert_int_equal(nr_looks(&h, "0-3", &now_s, 57, 5), 2); /* a suspend */
	assert_int_equal(nr_looks(&h, NULL, &now_s, 57, 5), 0);
	assert_int_equal(nr_looks(&h, "0-3", &now_s, 57, 300), 20);
	hotplug_fini(&h);
}

static const struct cpus any_clock = { .attr = { .type = PERF_TYPE_SOFTWARE,
						 .config = PERF_COUNT_SW_CPU_CLOCK } };
static const struct cpus clock_of_skipped = { .attr = { .type = PERF_TYPE_SOFTWARE,
							.config = PERF_COUNT_SW_CPU_CLOCK },
					      .takes_skipped = true };

/* Half of the CPU's samples are of targets, but few of the late ones. */
static void late_samples_are_those_of_the_tasks_that_were_late(void **state)
{
	struct cpu_event e = { .cpu = 0 };
	struct cpu_counts now = { .nr_missed = 100,
				  .nr_runs = 1000,
				  .nr_wanted = 500,
				  .nr_late = 100,
				  .nr_late_wanted = 3 };

	take_counts(&clock_of_skipped, &e, &now);
	assert_int_equal(nr_late(&e.missed), 3);
	now.nr_missed = now.nr_late = 120;
	now.nr_late_wanted = 23;
	take_counts(&clock_of_skipped, &e, &now);
	assert_int_equal(nr_late(&e.missed), 23);
	assert_int_equal(nr_skipped(&e.missed), 0);
}

/* While the program of skipped samples is being loaded. */
static void skipped_samples_are_those_of_the_tasks_before_them(void **state)
{
	struct cpu_event e = { .cpu = 0 };
	const struct cpu_counts now = { .nr_missed = 90,
					.nr_runs = 1000,
					.nr_busy = 1000,
					.nr_wanted = 100,
					.nr_late = 10,
					.nr_late_wanted = 1,
					.nr_skipped = 80,
					.nr_skipped_wanted = 79 };

	take_counts(&any_clock, &e, &now);
	assert_int_equal(nr_late(&e.missed), 1);
	assert_int_equal(nr_skipped(&e.missed), 79);
}

/* Its timer has expired when the counts are read, and its program counts that a moment later. */
static void late_samples_are_not_counted_twice(void **state)
{
	struct cpu_event e = { .cpu = 0 };
	struct cpu_counts now = { .nr_missed = 20, .nr_runs = 100, .nr_wanted = 100 };

	take_counts(&clock_of_skipped, &e, &now);
	assert_int_equal(nr_late(&e.missed), 20);
	now.nr_late = now.nr_late_wanted = 19;
	take_counts(&clock_of_skipped, &e, &now);
	now.nr_missed = 19; /* the count of periods is exact to one */
	take_counts(&clock_of_skipped, &e, &now);
	assert_int_equal(nr_late(&e.missed), 20);
}

/* Of each CPU and time, the part that its other samples have. */
static void missed_samples_of_unknown_tasks_are_those_of_what_the_cpu_did(void **state)
{
	struct cpu_event e = { .cpu = 0 };
	struct cpu_counts now = { .nr_missed = 100, .nr_runs = 900 };

	take_counts(&clock_of_skipped, &e, &now); /* it was idle, or ran no targets */
	assert_int_equal(nr_late(&e.missed), 0);
	now = (struct cpu_counts){ .nr_missed = 150, .nr_runs = 1000, .nr_wanted = 50 };
	take_counts(&clock_of_skipped, &e, &now);
	assert_int_equal(nr_late(&e.missed), 25);
	now.nr_missed = 170; /* nothing ran: the mean so far */
	take_counts(&clock_of_skipped, &e, &now);
	assert_int_equal(nr_late(&e.missed), 26);
	assert_int_equal(nr_skipped(&e.missed), 0);
}

/* No idle CPU runs programs of others. */
static void skipped_samples_of_unknown_tasks_are_those_of_what_the_busy_cpu_did(void **state)
{
	struct cpu_event e = { .cpu = 0 };
	const struct cpu_counts now = {
		.nr_missed = 40, .nr_runs = 1000, .nr_busy = 100, .nr_wanted = 50
	};

	take_counts(&any_clock, &e, &now);
	assert_int_equal(nr_skipped(&e.missed), 20);
	assert_int_equal(nr_late(&e.missed), 0);
}

static void assert_near(double a, double b, double distance)
{
	if (a - b > distance || b - a > distance)
		fail_msg("%g is not within %g of %g", a, distance, b);
}

/*
 * A CPU that sleeps for 7 of 10 ms. For 1 ms it runs one function at 3 GHz, for 2 ms another at 1
 * GHz: a third of the time, and 60 % of the cycles.
 */
static void cycles_have_the_weight_of_their_period(void **state)
{
	struct cpus c = { .attr = { .type = PERF_TYPE_HARDWARE,
				    .config = PERF_COUNT_HW_CPU_CYCLES } };
	const u64 period = 3000000000 / 999;
	struct cpu_event e = { .cpu = 0 };
	struct event_runs ran = { 0 };
	u64 counted = 0, next = period, weights[2] = { 0 };

	for (int ms = 0; ms < 10000; ms++) {
		bool is_slow = ms % 10;
		if (ms % 10 > 2)
			continue;
		counted += is_slow ? 1000000 : 3000000;
		for (; next <= counted; next += period) {
			ran.nr++;
			ran.counted += period;
			weights[is_slow] += period;
		}
	}
	u64 sum = weights[0] + weights[1];
	assert_near((double)sum, (double)counted, (double)period);
	assert_near((double)weights[0] / (double)sum, 0.6, 0.02);
	struct cpu_counts now = counts_of(&c, &e, counted, &ran);
	assert_int_equal(now.nr, ran.nr); /* 10 s at 999 Hz are not due on a CPU that sleeps */
	assert_int_equal(now.nr_missed, 0);
	ran.nr -= 50; /* the kernel ran others' programs */
	ran.counted -= 50 * period;
	now = counts_of(&c, &e, counted, &ran);
	assert_int_equal(now.nr_missed, 50);
	assert_int_equal(now.nr, ran.nr + 50);
}

/* One event of `nr`, whose timer the kernel restarts whenever its period is set. */
struct simulated {
	struct pacer pacer;
	struct paced paced;
	u64 program_ns, busy_ns; /* the period of a program, which works at its begin */
	u64 nr_samples, nr_busy;
	u64 now_ns;
};

static struct simulated simulate(u64 hz, u64 program_hz, double busy)
{
	struct simulated s = { .program_ns = NS_PER_SEC / program_hz };

	s.busy_ns = (u64)((double)s.program_ns * busy);
	pacer_init(&s.pacer, NS_PER_SEC / hz, hz);
	paced_init(&s.paced, &s.pacer);
	return s;
}

static void simulate_round(struct simulated *s)
{
	const struct pacer_round round = pacer_next(&s->pacer, paced_debt(&s->paced, &s->pacer));
	u64 end_ns = s->now_ns + round.length_ns;

	paced_set(&s->paced, round.period_ns, s->now_ns);
	for (u64 at = s->now_ns + round.period_ns; at <= end_ns; at += round.period_ns) {
		s->nr_samples++;
		s->nr_busy += at % s->program_ns < s->busy_ns;
	}
	s->now_ns = end_ns;
}

static void samples_come_at_the_requested_rate_but_in_step_with_nothing(void **state)
{
	const u64 rates[] = { 1, 7, 99, 999, 9999 };

	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		struct simulated s = simulate(rates[i], rates[i], 1 / 3.);
		for (int round = 0; round < 1000; round++) {
			simulate_round(&s);
			assert_int_equal(paced_due(&s.paced, s.now_ns), s.nr_samples);
			assert_near((double)s.nr_samples,
				    (double)s.now_ns / (double)s.pacer.mean_ns, 5);
		}
		assert_near((double)s.nr_busy / (double)s.nr_samples, 1 / 3., 0.02);
	}
}

/* The lowest rate of continuous profiling, in step with the program or with a part of its beat. */
static void a_program_in_step_with_3_hz_is_seen_whole_within_minutes(void **state)
{
	const u64 programs[] = { 3, 11 };

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		struct simulated s = simulate(3, programs[i], 0.585);
		u64 begun_ns = 0, nr = 0, nr_busy = 0;
		while (s.now_ns < 200 * 60 * NS_PER_SEC) {
			simulate_round(&s);
			if (s.now_ns - begun_ns < 60 * NS_PER_SEC)
				continue;
			assert_near((double)(s.nr_busy - nr_busy) / (double)(s.nr_samples - nr),
				    0.585, 0.13);
			begun_ns = s.now_ns, nr = s.nr_samples, nr_busy = s.nr_busy;
		}
		assert_near((double)s.nr_busy / (double)s.nr_samples, 0.585, 0.01);
	}
}

/* How far each event is in its period, as a share of it, in the order of the CPUs. */
static double phase_of(struct cpus *c, size_t i)
{
	const struct paced *p = &c->events.at[i].paced;
	u64 count = count_of(&c->events.at[i]);

	return (double)((count - p->since_ns) % p->period_ns) / (double)p->period_ns;
}

static bool has_begun_a_round(struct cpus *c)
{
	pthread_mutex_lock(&c->lock);
	bool has_begun = true;
	vec_each(e, &c->events)
		has_begun &= e->paced.since_ns != 0;
	pthread_mutex_unlock(&c->lock);
	return has_begun;
}

/* With a period of a second, so that the delays of a busy machine do not matter. */
static void cpus_are_sampled_by_turns(void **state)
{
	struct cpus *c;
	int nr = open_events(&c);

	if (nr < 2) {
		cpus_close(c);
		skip_because("it takes two CPUs");
	}
	assert_int_equal(cpus_start(c), 0);
	while (!has_begun_a_round(c))
		usleep(1000);
	double first = phase_of(c, 0);
	for (int i = 1; i < nr; i++) {
		double after = first - phase_of(c, (size_t)i);
		assert_near(after < 0 ? after + 1 : after, (double)i / nr, 0.2);
	}
	cpus_close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_that_runs_is_left_alone),
		cmocka_unit_test(a_cpu_that_went_off_and_on_unseen_is_sampled_again),
		cmocka_unit_test(a_counter_that_vanishes_is_named_and_taken_again),
		cmocka_unit_test(events_that_do_not_run_yet_are_left_alone),
		cmocka_unit_test(a_ring_whose_cpu_went_off_and_on_unseen_is_replaced),
		cmocka_unit_test(late_samples_are_those_of_the_tasks_that_were_late),
		cmocka_unit_test(skipped_samples_are_those_of_the_tasks_before_them),
		cmocka_unit_test(late_samples_are_not_counted_twice),
		cmocka_unit_test(missed_samples_of_unknown_tasks_are_those_of_what_the_cpu_did),
		cmocka_unit_test(
			skipped_samples_of_unknown_tasks_are_those_of_what_the_busy_cpu_did),
		cmocka_unit_test(cycles_have_the_weight_of_their_period),
		cmocka_unit_test(samples_come_at_the_requested_rate_but_in_step_with_nothing),
		cmocka_unit_test(a_program_in_step_with_3_hz_is_seen_whole_within_minutes),
		cmocka_unit_test(cpus_are_sampled_by_turns),
		cmocka_unit_test(cpus_are_looked_at_when_something_may_have_changed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
