/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings beside each other on one node, with real BPF programs. Child processes are the load.
 * Runs alone.
 */
#include "test.h"

#include <errno.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/time.h"
#include "capture/kernel/privilege.h"
#include "capture/node.h"
#include "capture/node_state.h"
#include "capture/recording.h"
#include "java.h"
#include "jvm/attach/inject.h"
#include "jvm/process/memfds.h"
#include "proc/status.h"

#define CUTS      20 /* CUTS=600 in the environment for the full number */
#define CUT_NS    (100 * NS_PER_MS)
#define SUM_NS    (3 * NS_PER_SEC)
#define END_NS    (60 * NS_PER_SEC)
#define LOOPS_MAX 3

/* A node, and processes that use a CPU. */
struct world {
	struct node *node;
	pid_t loops[LOOPS_MAX];
	u32 nr_loops;
	char *agent_path;
	pid_t jvm; /* 0: none */
};

struct test_recording {
	struct events events;
	struct event_options sampling;
	struct targets *targets;
	enum agent_mode agent;
	u64 duration_ns;
	struct recording *recording;
	struct sink *sink;
};

static pid_t start_loop(struct world *w)
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			asm volatile("");
	}
	w->loops[w->nr_loops++] = child;
	return child;
}

static int make_world(void **state)
{
	const struct node_options options = { .agent = AGENT_NEVER, .keeps_rights = true };
	struct world *w = calloc(1, sizeof(*w));

	*state = w;
	if (privilege_check())
		return 0;
	w->node = node_new(&options);
	return node_start(w->node);
}

/* With agents, and with a JVM that allocates. */
static int make_world_with_jvm(void **state)
{
	auto_free char *path = xasprintf("%s/libjvmmap.so", getenv("O") ?: "build");
	struct world *w = calloc(1, sizeof(*w));
	int ends[2];
	char ready;

	*state = w;
	if (privilege_check() || getenv("JDK"))
		return 0;
	w->agent_path = realpath(path, NULL);
	const struct node_options options = { .agent_path = w->agent_path, .keeps_rights = true };
	w->node = node_new(&options);
	if (pipe(ends))
		return -1;
	w->jvm = fork();
	if (!w->jvm)
		java_exec(ends[1], "Churn");
	close(ends[1]);
	if (read(ends[0], &ready, 1) != 1)
		return -1;
	close(ends[0]);
	return node_start(w->node);
}

static int end_world(void **state)
{
	struct world *w = *state;

	if (w->jvm)
		java_end(w->jvm);
	for (u32 i = 0; i < w->nr_loops; i++) {
		kill(w->loops[i], SIGKILL);
		waitpid(w->loops[i], NULL, 0);
	}
	node_free(w->node);
	free(w->agent_path);
	free(w);
	return 0;
}

static struct world *world_of(void **state)
{
	struct world *w = *state;

	if (!w->node)
		skip_because("loading BPF programs needs to be root");
	return w;
}

static void advance(struct world *w, const struct test_recording *t, enum recording_state state)
{
	u64 end_ns = time_mono_ns() + END_NS;

	while (recording_state(t->recording) < state) {
		assert_true(time_mono_ns() < end_ns);
		usleep((useconds_t)node_tick_ms(w->node) * 1000);
		node_tick(w->node);
	}
}

static void init(struct test_recording *t, u32 freq_hz)
{
	struct str why = { 0 };

	*t = (struct test_recording){
		.sampling.freq_hz = (int)freq_hz,
		.targets = targets_new(),
		.agent = AGENT_NEVER,
	};
	assert_int_equal(events_parse("cpu", &t->sampling, &t->events, &why), 0);
}

static void start(struct world *w, struct test_recording *t)
{
	struct sink_options sink = { 0 };
	const struct recording_options options = {
		.events = &t->events,
		.sampling = t->sampling,
		.targets = t->targets,
		.agent = t->agent,
		.duration_ns = t->duration_ns,
	};
	t->recording = recording_new(w->node, &options);
	t->sink = recording_add_sink(t->recording, &sink);
	assert_int_equal(recording_start(t->recording), 0);
}

/* Begins a recording of that process, or of all with pid 0. */
static void begin(struct world *w, struct test_recording *t, pid_t pid, u32 freq_hz)
{
	auto_free char *number = xasprintf("%d", (int)pid);
	struct str why = { 0 };

	init(t, freq_hz);
	if (pid)
		assert_int_equal(targets_add(t->targets, TARGET_PID, false, number, &why), 0);
	start(w, t);
	advance(w, t, RECORDING_RUNS);
}

static void stop(struct world *w, const struct test_recording *t)
{
	recording_stop(t->recording);
	advance(w, t, RECORDING_DONE);
}

static void fini(struct test_recording *t)
{
	recording_free(t->recording);
	targets_free(t->targets);
	events_fini(&t->events);
}

static void tick_for(struct world *w, u64 length_ns)
{
	for (u64 end_ns = time_mono_ns() + length_ns; time_mono_ns() < end_ns;) {
		usleep((useconds_t)node_tick_ms(w->node) * 1000);
		node_tick(w->node);
	}
}

/* The number of samples in a cut; asserts that all are of that process. */
static u64 samples_of(const struct cut *c, pid_t pid)
{
	u64 nr = 0;

	vec_each(weight, &c->profile->weights) {
		nr += weight->value;
		if (pid)
			assert_int_equal(c->profile->labels.at[weight->labels].pid, pid);
	}
	return nr;
}

/* Adds the samples of all cuts that are complete. */
static u64 take_cuts(const struct test_recording *t, pid_t pid, u32 *nr_cuts)
{
	u64 nr = 0;

	for (struct cut *c; (c = recording_take_cut(t->recording, t->sink)); ++*nr_cuts) {
		nr += samples_of(c, pid);
		assert_true(c->span.end_ns >= c->span.begin_ns);
		cut_free(c);
	}
	return nr;
}

/* Others may attach to JVMs of the node meanwhile. */
static void assert_all_are_known(const struct recording_progress *now, u64 nr)
{
	assert_int_equal(nr + now->counts.nr_attach_left_out + now->lost,
			 now->sampled + now->missed);
}

static u64 take_all(const struct test_recording *t, pid_t pid)
{
	u32 nr_cuts = 0;

	return take_cuts(t, pid, &nr_cuts);
}

static void a_node_ticks_slowly_unless_someone_waits(void **state)
{
	struct world *w = world_of(state);
	struct test_recording t;
	int slow_ms = node_tick_ms(w->node);

	begin(w, &t, 0, 1);
	assert_true(node_tick_ms(w->node) < slow_ms);
	stop(w, &t);
	fini(&t);
}

static void every_sample_is_in_one_cut(void **state)
{
	const char *wanted = getenv("CUTS");
	u32 nr_wanted = wanted ? (u32)atoi(wanted) : CUTS, nr_cuts = 0;
	struct world *w = world_of(state);
	struct recording_progress now;
	struct test_recording t;
	pid_t pid = start_loop(w);
	u64 nr = 0;

	begin(w, &t, pid, 999);
	for (u32 i = 1; i < nr_wanted; i++) {
		tick_for(w, CUT_NS);
		assert_int_equal(recording_cut(t.recording, t.sink), 0);
		nr += take_cuts(&t, pid, &nr_cuts);
	}
	stop(w, &t);
	nr += take_cuts(&t, pid, &nr_cuts);
	recording_progress(t.recording, &now);
	assert_int_equal(nr_cuts, nr_wanted);
	assert_int_equal(nr, now.samples);
	assert_all_are_known(&now, nr);
	assert_true(nr > nr_wanted);
	fini(&t);
}

/* A busy recorder may come to a cut when the recording is over. */
static void no_cut_begins_after_the_end(void **state)
{
	struct world *w = world_of(state);
	struct test_recording t;
	struct cut *c;

	init(&t, 99);
	t.duration_ns = CUT_NS;
	start(w, &t);
	advance(w, &t, RECORDING_RUNS);
	usleep(2 * CUT_NS / 1000);
	assert_int_equal(recording_cut(t.recording, t.sink), -EAGAIN);
	stop(w, &t);
	assert_non_null(c = recording_take_cut(t.recording, t.sink));
	assert_int_equal(c->profile->duration_ns, CUT_NS);
	cut_free(c);
	assert_null(recording_take_cut(t.recording, t.sink));
	fini(&t);
}

static void samples_by_a_period_have_no_rate(void **state)
{
	struct world *w = world_of(state);
	struct test_recording t;
	struct cut *c;

	for (u64 period = 0; period <= 1000003; period += 1000003) {
		init(&t, 99);
		t.sampling.period = period;
		start(w, &t);
		advance(w, &t, RECORDING_RUNS);
		stop(w, &t);
		assert_non_null(c = recording_take_cut(t.recording, t.sink));
		assert_int_equal((int)c->profile->rate_hz, period ? 0 : 99);
		cut_free(c);
		fini(&t);
	}
}

static void recordings_have_targets_of_their_own(void **state)
{
	struct world *w = world_of(state);
	pid_t pids[] = { start_loop(w), start_loop(w), 0 };
	struct test_recording t[ARRAY_SIZE(pids)];
	u64 nr[ARRAY_SIZE(pids)];

	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		begin(w, &t[i], pids[i], pids[i] ? 499 : 97);
	tick_for(w, SUM_NS);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		struct recording_progress now;
		stop(w, &t[i]);
		nr[i] = take_all(&t[i], pids[i]);
		recording_progress(t[i].recording, &now);
		assert_all_are_known(&now, nr[i]);
		assert_true(nr[i] > 10);
	}
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		fini(&t[i]);
}

static void a_recording_goes_on_when_another_one_ends(void **state)
{
	struct world *w = world_of(state);
	pid_t pid = start_loop(w);
	struct test_recording first, second;

	begin(w, &first, pid, 99);
	begin(w, &second, pid, 99);
	tick_for(w, SUM_NS / 3);
	stop(w, &first);
	assert_true(take_all(&first, pid) > 0);
	fini(&first);
	assert_int_equal(recording_cut(second.recording, second.sink), 0);
	tick_for(w, SUM_NS / 3);
	assert_true(take_all(&second, pid) > 0);
	stop(w, &second);
	assert_true(take_all(&second, pid) > 0);
	fini(&second);
}

/* Its ring, its items in the inbox and its programs go with it. */
static void a_recording_may_be_dropped_at_any_time(void **state)
{
	struct world *w = world_of(state);
	pid_t pid = start_loop(w);
	struct test_recording kept, dropped;

	begin(w, &kept, pid, 99);
	begin(w, &dropped, 0, 999);
	tick_for(w, CUT_NS);
	fini(&dropped);
	tick_for(w, CUT_NS);
	stop(w, &kept);
	assert_true(take_all(&kept, pid) > 0);
	fini(&kept);
}

/* Executes a program that runs until it is killed. */
static pid_t execute(struct world *w)
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execlp("dd", "dd", "if=/dev/zero", "of=/dev/null", "bs=64k", NULL);
		_exit(1);
	}
	w->loops[w->nr_loops++] = child;
	return child;
}

/* The window that began at its exec is not begun again. */
static void an_awaited_program_may_start_before_the_recording_runs(void **state)
{
	struct world *w = world_of(state);
	struct test_recording t;
	struct str why = { 0 };
	u32 nr_cuts = 0;

	init(&t, 499);
	assert_int_equal(targets_wait_for(t.targets, "dd", &why), 0);
	start(w, &t);
	pid_t pid = execute(w);
	usleep(300 * 1000);
	advance(w, &t, RECORDING_RUNS);
	tick_for(w, SUM_NS / 3);
	stop(w, &t);
	assert_true(take_cuts(&t, pid, &nr_cuts) > 10);
	assert_int_equal(nr_cuts, 1);
	fini(&t);
}

static void a_recording_may_end_before_it_runs(void **state)
{
	struct world *w = world_of(state);
	struct test_recording t;
	struct str why = { 0 };
	u32 nr_cuts = 0;

	t = (struct test_recording){
		.sampling.offcpu_min_ns = 1000,
		.targets = targets_new(),
		.agent = AGENT_NEVER,
	};
	assert_int_equal(events_parse("offcpu", &t.sampling, &t.events, &why), 0);
	start(w, &t);
	stop(w, &t);
	take_cuts(&t, 0, &nr_cuts);
	assert_int_equal(nr_cuts, 1);
	fini(&t);
}

static void begin_alloc(struct world *w, struct test_recording *t, u64 interval)
{
	auto_free char *pid = xasprintf("%d", (int)w->jvm);
	struct str why = { 0 };

	*t = (struct test_recording){ .sampling.alloc_interval = interval,
				      .targets = targets_new() };
	assert_int_equal(events_parse("alloc", &t->sampling, &t->events, &why), 0);
	assert_int_equal(targets_add(t->targets, TARGET_PID, false, pid, &why), 0);
	start(w, t);
	advance(w, t, RECORDING_RUNS);
}

struct allocations {
	u64 bytes, samples;
};

/* Those of the next cut. */
static struct allocations take_allocations(struct world *w, const struct test_recording *t)
{
	struct allocations sum = { 0 };
	struct cut *c;
	u64 end_ns = time_mono_ns() + END_NS;

	while (!(c = recording_take_cut(t->recording, t->sink))) {
		assert_true(time_mono_ns() < end_ns);
		tick_for(w, CUT_NS);
	}
	vec_each(weight, &c->profile->weights) {
		sum.bytes += weight->type == 0 ? weight->value : 0;
		sum.samples += weight->type == 1 ? weight->value : 0;
	}
	cut_free(c);
	return sum;
}

static void await_samples(struct world *w, const struct test_recording *t)
{
	struct recording_progress now = { 0 };
	u64 end_ns = time_mono_ns() + END_NS;

	while (!now.samples) {
		assert_true(time_mono_ns() < end_ns);
		tick_for(w, CUT_NS);
		recording_progress(t->recording, &now);
	}
}

/*
 * Returns their number once it is in this range. Other recorders of the node may have one for a
 * time, too.
 */
static u32 await_rings(struct world *w, u32 min, u32 max)
{
	u64 end_ns = time_mono_ns() + END_NS;
	u32 nr;

	while ((nr = memfds_count(w->jvm)) < min || nr > max) {
		assert_true(time_mono_ns() < end_ns);
		tick_for(w, CUT_NS);
	}
	return nr;
}

/* The agent reports at the shorter interval. The bytes of both recordings are right. */
static void recordings_share_an_agent(void **state)
{
	struct world *w = world_of(state);
	struct test_recording coarse, fine;

	begin_alloc(w, &coarse, 1 << 20);
	await_samples(w, &coarse);
	u32 nr_rings = await_rings(w, 1, UINT32_MAX);
	begin_alloc(w, &fine, 1 << 17);
	assert_int_equal(recording_cut(coarse.recording, coarse.sink), 0);
	tick_for(w, SUM_NS);
	await_rings(w, nr_rings, nr_rings);
	assert_int_equal(recording_cut(coarse.recording, coarse.sink), 0);
	stop(w, &fine);
	stop(w, &coarse);

	struct allocations alone = take_allocations(w, &coarse);
	struct allocations beside = take_allocations(w, &coarse);
	struct allocations of_fine = take_allocations(w, &fine);
	assert_true(alone.samples > 0);
	assert_true(beside.samples > of_fine.samples / 2);
	assert_in_range(beside.bytes, of_fine.bytes / 10 * 7, of_fine.bytes / 10 * 13);
	fini(&fine);
	fini(&coarse);
}

/* Ends the next cut of both recordings, and begins another one. */
static void cut_both(const struct test_recording *a, const struct test_recording *b)
{
	assert_int_equal(recording_cut(a->recording, a->sink), 0);
	assert_int_equal(recording_cut(b->recording, b->sink), 0);
}

static void detach_agent(const struct world *w)
{
	struct proc_status status;
	bool is_pending;

	assert_int_equal(proc_status_read(w->jvm, &status), 0);
	auto_free char *why =
		inject_detach_all(w->agent_path, proc_status_id(&status), &is_pending);
	assert_null(why);
}

/* libjvm's own functions report for the first recording until the agent comes back. */
static void allocations_count_once_when_a_detached_agent_comes_back(void **state)
{
	struct world *w = world_of(state);
	struct test_recording first, second;

	begin_alloc(w, &first, 1 << 18);
	await_samples(w, &first);
	detach_agent(w);
	tick_for(w, SUM_NS);
	assert_int_equal(recording_cut(first.recording, first.sink), 0);
	tick_for(w, SUM_NS / 3);
	assert_int_equal(recording_cut(first.recording, first.sink), 0);
	begin_alloc(w, &second, 1 << 18);
	await_samples(w, &second);
	tick_for(w, SUM_NS / 3);
	cut_both(&first, &second);
	tick_for(w, SUM_NS);
	cut_both(&first, &second);
	stop(w, &second);
	stop(w, &first);

	take_allocations(w, &first);
	struct allocations without_agent = take_allocations(w, &first);
	take_allocations(w, &first);
	struct allocations of_first = take_allocations(w, &first);
	take_allocations(w, &second);
	struct allocations of_second = take_allocations(w, &second);
	fini(&second);
	fini(&first);
	if (!without_agent.samples)
		skip_because("libjvm.so has no symbols");
	assert_true(of_second.samples > 0);
	assert_in_range(of_first.bytes, of_second.bytes / 10 * 7, of_second.bytes / 10 * 13);
}

#define recording_test(test) cmocka_unit_test_setup_teardown(test, make_world, end_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		recording_test(a_node_ticks_slowly_unless_someone_waits),
		recording_test(every_sample_is_in_one_cut),
		recording_test(no_cut_begins_after_the_end),
		recording_test(samples_by_a_period_have_no_rate),
		recording_test(recordings_have_targets_of_their_own),
		recording_test(a_recording_goes_on_when_another_one_ends),
		recording_test(a_recording_may_be_dropped_at_any_time),
		recording_test(an_awaited_program_may_start_before_the_recording_runs),
		recording_test(a_recording_may_end_before_it_runs),
		cmocka_unit_test_setup_teardown(recordings_share_an_agent, make_world_with_jvm,
						end_world),
		cmocka_unit_test_setup_teardown(
			allocations_count_once_when_a_detached_agent_comes_back,
			make_world_with_jvm, end_world),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
