/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's recorder as a process, asked over its channel as the web process does. */
#include "test.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/time.h"
#include "daemon/channel/channel.h"
#include "daemon/channel/handover.h"
#include "daemon/recorder/recorder.h"
#include "export/read.h"
#include "export/slices/slice_reader.h"

#define PATIENCE_NS (300 * NS_PER_SEC)

struct world {
	pid_t recorder, load;
	int supervisor, channel;
	struct pulse *pulse;
	char conf[64];
};

static pid_t start_load(void)
{
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "recorder_load");
		for (;;)
			asm volatile("");
	}
	return child;
}

static int run(struct world *w, int control_fd)
{
	const struct recorder_options options = {
		.control_fd = control_fd,
		.pulse = w->pulse,
		.conf = w->conf,
		.continuous = "cpu,offcpu",
		.limits = { 1000000, 10000 },
		.has_agents = false,
	};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return recorder_run(&options);
}

static void connect_to(struct world *w)
{
	int ends[2];

	assert_int_equal(handover_pair(ends), 0);
	if (w->channel >= 0)
		close(w->channel);
	w->channel = ends[0];
	assert_int_equal(handover_send(w->supervisor, ends[1]), 0);
}

static int make_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	int pair[2];

	if (geteuid()) {
		free(w);
		*state = NULL;
		return 0;
	}
	snprintf(w->conf, sizeof(w->conf), "/tmp/test_recorder.%d.conf", getpid());
	w->pulse = pulse_new();
	w->load = start_load();
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	w->recorder = fork();
	if (!w->recorder) {
		close(pair[0]);
		_exit(run(w, pair[1]));
	}
	close(pair[1]);
	w->supervisor = pair[0];
	w->channel = -1;
	connect_to(w);
	*state = w;
	return 0;
}

static int free_world(void **state)
{
	struct world *w = *state;

	if (!w)
		return 0;
	kill(w->recorder, SIGKILL);
	kill(w->load, SIGKILL);
	waitpid(w->recorder, NULL, 0);
	waitpid(w->load, NULL, 0);
	close(w->channel);
	close(w->supervisor);
	pulse_free(w->pulse);
	unlink(w->conf);
	free(w);
	return 0;
}

/* The next message of that kind; others are dropped. */
static void await(const struct world *w, enum control_kind kind, struct control_message *m, int *fd)
{
	u64 end_ns = time_mono_ns() + PATIENCE_NS;

	for (;;) {
		struct pollfd p = { w->channel, POLLIN, 0 };
		assert_true(time_mono_ns() < end_ns);
		poll(&p, 1, 100);
		int err = channel_receive(w->channel, m, fd);
		if (err == -EAGAIN)
			continue;
		assert_int_equal(err, 0);
		if (m->kind == (u32)kind)
			return;
		if (*fd >= 0)
			close(*fd);
	}
}

static void ask_for(const struct world *w, u32 id, const char *comm, const char *events, u32 hz,
		    u32 seconds)
{
	struct control_message m = { .kind = CONTROL_START };

	m.start = (struct control_start){ .id = id, .rate_hz = hz, .duration_s = seconds };
	m.start.target = CONTROL_TARGET_COMM;
	channel_text(m.start.events, sizeof(m.start.events), events);
	channel_text(m.start.target_text, sizeof(m.start.target_text), comm);
	assert_int_equal(channel_send(w->channel, &m, -1), 0);
}

static void ask(const struct world *w, u32 id, const char *events, u32 hz, u32 seconds)
{
	ask_for(w, id, "recorder_load", events, hz, seconds);
}

/* Reads the profile in a part. The caller frees it. */
static struct profile *read_part(int fd)
{
	struct profile *p = profile_new();
	auto_str struct str why = { 0 };
	FILE *f = fdopen(fd, "r");

	assert_non_null(f);
	assert_int_equal(profile_read(f, p, &why), 0);
	fclose(f);
	return p;
}

static bool has_comm(const struct profile *p, const char *comm)
{
	vec_each(f, &p->nodes) {
		const struct frame *frame = frames_get(p->frames, f->frame);
		if (f != p->nodes.at && strstr(frame->name, comm))
			return true;
	}
	return false;
}

static void it_says_what_it_can(void **state)
{
	struct world *w = *state;
	static struct control_message m;
	int fd;

	if (!w)
		skip_because("it needs root");
	await(w, CONTROL_HELLO, &m, &fd);
	assert_int_equal(m.hello.version, CONTROL_VERSION);
	await(w, CONTROL_CAPS, &m, &fd);
	assert_int_equal(m.caps.max_hz, 999);
	await(w, CONTROL_EVENT, &m, &fd);
	assert_true(*m.event.name);
	await(w, CONTROL_NODE, &m, &fd);
	assert_true(m.node.memory_bytes > 0);
}

static void stop(const struct world *w, u32 id)
{
	const struct control_message m = { .kind = CONTROL_STOP, .id = { .id = id } };

	assert_int_equal(channel_send(w->channel, &m, -1), 0);
}

static void a_recording_arrives_in_parts(void **state)
{
	struct world *w = *state;
	static struct control_message m;
	u64 samples = 0, in_profiles = 0, parts = 0, end_ns = time_mono_ns() + PATIENCE_NS;
	bool is_stopped = false;
	int fd;

	if (!w)
		skip_because("it needs root");
	ask(w, 7, "cpu", 199, 3600);
	for (;;) {
		assert_true(time_mono_ns() < end_ns);
		struct pollfd p = { w->channel, POLLIN, 0 };
		poll(&p, 1, 100);
		int err = channel_receive(w->channel, &m, &fd);
		if (err == -EAGAIN)
			continue;
		assert_int_equal(err, 0);
		if (m.kind == CONTROL_ENDED)
			break;
		if (m.kind != CONTROL_PART) {
			if (fd >= 0)
				close(fd);
			continue;
		}
		struct profile *part = read_part(fd);
		samples += m.part.samples;
		in_profiles += profile_total(part, 0);
		assert_true(m.part.begin_wall_ns < m.part.end_wall_ns);
		assert_true(!m.part.samples || has_comm(part, "recorder_load"));
		profile_free(part);
		parts++;
		if (parts < 2 || samples <= 50 || is_stopped)
			continue;
		is_stopped = true; /* a busy machine takes fewer samples in a part */
		stop(w, 7);
	}
	assert_int_equal(m.ended.id, 7);
	assert_int_equal(m.ended.err, 0);
	assert_true(parts >= 3);
	assert_true(samples > 50);
	assert_int_equal(samples, in_profiles);
}

static void expect_refusal(const struct world *w, u32 id, int err, const char *why)
{
	static struct control_message m;
	int fd;

	await(w, CONTROL_ENDED, &m, &fd);
	assert_int_equal(m.ended.id, id);
	assert_int_equal(m.ended.err, err);
	assert_non_null(strstr(m.ended.why, why));
}

static void what_the_configuration_forbids_is_refused(void **state)
{
	struct world *w = *state;

	if (!w)
		skip_because("it needs root");
	ask(w, 20, "cpu", 1000, 5);
	expect_refusal(w, 20, -ERANGE, "999 Hz");
	ask(w, 21, "cpu", 99, 3601);
	expect_refusal(w, 21, -ERANGE, "3600 s");
	ask(w, 22, "cpu,uprobe:libc.so.6:malloc", 99, 5);
	expect_refusal(w, 22, -EPERM, "allow = uprobe");
	ask(w, 23, "sched:sched_switch", 99, 5);
	expect_refusal(w, 23, -EPERM, "allow = tracepoint");
	ask(w, 24, "no-such-event", 99, 5);
	expect_refusal(w, 24, -ENOENT, "no-such-event");
}

static void a_short_recording_of_nothing_is_refused(void **state)
{
	struct world *w = *state;

	if (!w)
		skip_because("it needs root");
	ask_for(w, 25, "recorder_none", "cpu", 99, 1);
	expect_refusal(w, 25, -ESRCH, "No process is called recorder_none. None came within 1 s.");
}

/* Waits for a byte, takes the name and sleeps. */
static pid_t start_sleeper(const char *comm, int pipe_fd)
{
	pid_t child = fork();
	char c;

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(pipe_fd, &c, 1) == 1)
			prctl(PR_SET_NAME, comm);
		for (;;)
			pause();
	}
	return child;
}

static void a_sleeping_process_that_takes_the_name_is_a_target(void **state)
{
	struct world *w = *state;
	static struct control_message m;
	int ends[2], fd;

	if (!w)
		skip_because("it needs root");
	assert_int_equal(pipe(ends), 0);
	pid_t sleeper = start_sleeper("recorder_late", ends[0]);
	ask_for(w, 26, "recorder_late", "cpu", 99, 60);
	usleep(1500000); /* the recording has looked for targets */
	assert_int_equal(write(ends[1], "x", 1), 1);
	await(w, CONTROL_STATE, &m, &fd); /* none comes before a target */
	assert_int_equal(m.state.id, 26);
	m = (struct control_message){ .kind = CONTROL_DISCARD, .id = { .id = 26 } };
	assert_int_equal(channel_send(w->channel, &m, -1), 0);
	await(w, CONTROL_ENDED, &m, &fd);
	assert_int_equal(m.ended.err, -ECANCELED);
	kill(sleeper, SIGKILL);
	waitpid(sleeper, NULL, 0);
	close(ends[0]);
	close(ends[1]);
}

static void more_recordings_than_allowed_are_refused(void **state)
{
	struct world *w = *state;
	static struct control_message m;
	int fd;

	if (!w)
		skip_because("it needs root");
	for (u32 id = 30; id < 35; id++)
		ask(w, id, "cpu", 49, 60);
	expect_refusal(w, 34, -EBUSY, "stop one first");
	m = (struct control_message){ .kind = CONTROL_DISCARD };
	for (u32 id = 30; id < 34; id++) {
		m.id.id = id;
		assert_int_equal(channel_send(w->channel, &m, -1), 0);
		await(w, CONTROL_ENDED, &m, &fd);
		assert_int_equal(m.ended.id, id);
		m = (struct control_message){ .kind = CONTROL_DISCARD };
	}
}

static void slices_have_services_and_time(void **state)
{
	struct world *w = *state;
	static struct control_message m;
	const struct slice_query all = { .to_wall_ns = TIME_NEVER };
	auto_str struct str why = { 0 };
	u64 found_ns = 0;
	int fd;

	if (!w)
		skip_because("it needs root");
	connect_to(w); /* so that the slice begins a book */
	await(w, CONTROL_SLICE, &m, &fd);
	assert_true(m.slice.begins_book);
	void *bytes = mmap(NULL, m.slice.bytes, PROT_READ, MAP_SHARED, fd, 0);
	assert_true(bytes != MAP_FAILED);
	for (u32 i = 0; i < m.slice.nr; i++)
		if (!strcmp(m.slice.services[i].name, "recorder_load"))
			found_ns = m.slice.services[i].values[0];
	assert_true(found_ns > 0);
	struct profile *p = profile_new();
	assert_int_equal(slices_read(bytes, m.slice.bytes, &all, p, &why), 0);
	assert_string_equal(p->types.at[0].unit, "ns");
	u64 of_service = 0;
	vec_each(weight, &p->weights) {
		const char *service = p->labels.at[weight->labels].service;
		if (!strcmp(p->types.at[weight->type].name, "cpu") && service &&
		    !strcmp(service, "recorder_load"))
			of_service += weight->value;
	}
	assert_int_equal(of_service, found_ns);
	profile_free(p);
	munmap(bytes, m.slice.bytes);
	close(fd);
}

static void a_new_web_process_starts_afresh(void **state)
{
	struct world *w = *state;
	static struct control_message m;
	int fd;

	if (!w)
		skip_because("it needs root");
	ask(w, 40, "cpu", 49, 60);
	await(w, CONTROL_STATE, &m, &fd);
	connect_to(w);
	await(w, CONTROL_HELLO, &m, &fd);
	ask(w, 40, "cpu", 49, 1); /* the number is free again */
	await(w, CONTROL_ENDED, &m, &fd);
	assert_int_equal(m.ended.id, 40);
	assert_int_equal(m.ended.err, 0);
}

static void nonsense_costs_the_channel_only(void **state)
{
	struct world *w = *state;
	static struct control_message m;
	int fd;

	if (!w)
		skip_because("it needs root");
	assert_int_equal(send(w->channel, "nonsense", 8, 0), 8);
	u64 end_ns = time_mono_ns() + PATIENCE_NS;
	int err = 0;
	while (err != -EPIPE && time_mono_ns() < end_ns) {
		err = channel_receive(w->channel, &m, &fd);
		if (!err && fd >= 0)
			close(fd);
		usleep(1000);
	}
	assert_int_equal(err, -EPIPE);
	connect_to(w);
	await(w, CONTROL_HELLO, &m, &fd);
	assert_true(pulse_silent_ns(w->pulse) < PULSE_SILENT_NS);
}

static void it_has_few_rights(void **state)
{
	struct world *w = *state;
	char path[64], line[256];
	int seccomp = 0, no_new = 0;

	if (!w)
		skip_because("it needs root");
	snprintf(path, sizeof(path), "/proc/%d/status", w->recorder);
	auto_fclose FILE *f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		sscanf(line, "Seccomp: %d", &seccomp);
		sscanf(line, "NoNewPrivs: %d", &no_new);
	}
	assert_int_equal(seccomp, 2);
	assert_int_equal(no_new, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_says_what_it_can),
		cmocka_unit_test(a_recording_arrives_in_parts),
		cmocka_unit_test(what_the_configuration_forbids_is_refused),
		cmocka_unit_test(a_short_recording_of_nothing_is_refused),
		cmocka_unit_test(a_sleeping_process_that_takes_the_name_is_a_target),
		cmocka_unit_test(more_recordings_than_allowed_are_refused),
		cmocka_unit_test(slices_have_services_and_time),
		cmocka_unit_test(a_new_web_process_starts_afresh),
		cmocka_unit_test(nonsense_costs_the_channel_only),
		cmocka_unit_test(it_has_few_rights),
	};

	return cmocka_run_group_tests(tests, make_world, free_world);
}
