/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's supervisor, directory and socket, with children that only connect. */
#include "sleeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/time.h"
#include "daemon/channel/channel.h"
#include "daemon/channel/handover.h"
#include "daemon/supervisor/home.h"
#include "daemon/supervisor/listen.h"
#include "daemon/supervisor/supervisor.h"
#include "proc/blocking.h"
#include "proc/mapping.h"
#include "proc/mem.h"
#include "proc/target_file.h"

#define PATIENCE_NS (30 * NS_PER_SEC)

/* Shared with the processes under test. */
struct seen {
	pid_t recorder, web;
	int nr_recorders, nr_webs, nr_hellos;
	bool recorder_hangs, web_fails, recorder_asks;
	pid_t blocker, excluded; /* read by a recorder that hangs; refused by the newest */
};

struct world {
	struct seen *seen;
	struct pulse *pulse;
	struct excluded_list refused;
	pid_t supervisor;
	char dir[64];
};

/* A recorder that says hello on each channel. */
static int fake_recorder(int control_fd, u64 nr_before, void *ctx)
{
	struct world *w = ctx;
	const struct control_message hello = { .kind = CONTROL_HELLO, .hello.version = 1 };

	excluded_begin(&w->refused, &w->pulse->target);
	if (w->refused.nr && excluded_touch(w->refused.at[0].id.pid) == -EBUSY)
		w->seen->excluded = w->refused.at[0].id.pid;
	excluded_rest();
	w->seen->recorder = getpid();
	w->seen->nr_recorders++;
	while (getppid() > 1) {
		struct pollfd p = { control_fd, POLLIN, 0 };
		poll(&p, 1, 50);
		if (!w->seen->recorder_hangs)
			pulse_beat(w->pulse);
		else if (w->seen->blocker)
			excluded_touch(w->seen->blocker);
		if (w->seen->recorder_asks)
			handover_ask(control_fd);
		int end = handover_receive(control_fd, NULL);
		if (end >= 0)
			channel_send(end, &hello, -1);
	}
	return 0;
}

static int fake_web(int control_fd, u64 nr_before, void *ctx)
{
	struct world *w = ctx;
	struct control_message m;
	int channel = -1, fd;

	if (w->seen->web_fails)
		return 7;
	w->seen->web = getpid();
	w->seen->nr_webs++;
	while (getppid() > 1) {
		int end = handover_receive(control_fd, NULL);
		if (end >= 0)
			channel = end;
		if (channel >= 0 && !channel_receive(channel, &m, &fd))
			w->seen->nr_hellos++;
		usleep(1000);
	}
	return 0;
}

static void ready(void *ctx)
{
}

static void start(struct world *w)
{
	const struct supervisor_options o = {
		.recorder = { "test-rec", fake_recorder, w },
		.web = { "test-web", fake_web, w },
		.pulse = w->pulse,
		.excluded = &w->refused,
		.ready = ready,
	};

	w->supervisor = fork();
	if (!w->supervisor) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(supervisor_run(&o));
	}
}

static int make_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->seen = mmap(NULL, sizeof(*w->seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	w->pulse = pulse_new();
	snprintf(w->dir, sizeof(w->dir), "/tmp/test_daemon.%d", getpid());
	*state = w;
	return 0;
}

static int free_world(void **state)
{
	struct world *w = *state;

	if (w->supervisor > 0) {
		kill(w->supervisor, SIGKILL);
		waitpid(w->supervisor, NULL, 0);
	}
	auto_free char *remove = malloc(100);
	sprintf(remove, "rm -rf %s", w->dir);
	assert_int_equal(system(remove), 0);
	munmap(w->seen, sizeof(*w->seen));
	pulse_free(w->pulse);
	free(w);
	return 0;
}

/* Waits until *counter is at least `least`. */
static void await(const int *counter, int least)
{
	u64 end_ns = time_mono_ns() + PATIENCE_NS;

	while (__atomic_load_n(counter, __ATOMIC_RELAXED) < least && time_mono_ns() < end_ns)
		usleep(1000);
	assert_true(*counter >= least);
}

static void a_killed_child_is_started_and_connected_again(void **state)
{
	struct world *w = *state;

	start(w);
	await(&w->seen->nr_hellos, 1);
	kill(w->seen->recorder, SIGKILL);
	await(&w->seen->nr_recorders, 2);
	await(&w->seen->nr_hellos, 2);
	kill(w->seen->web, SIGKILL);
	await(&w->seen->nr_webs, 2);
	await(&w->seen->nr_hellos, 3);
	assert_int_equal(w->seen->nr_recorders, 2);
}

static void who_asks_gets_a_channel_once_a_second(void **state)
{
	struct world *w = *state;
	u64 begin_ns = time_mono_ns();

	start(w);
	await(&w->seen->nr_hellos, 1);
	w->seen->recorder_asks = true;
	await(&w->seen->nr_hellos, 4);
	u64 seconds = (time_mono_ns() - begin_ns) / NS_PER_SEC;
	assert_in_range(w->seen->nr_hellos, 4, seconds + 2);
	assert_int_equal(w->seen->nr_recorders, 1);
	assert_int_equal(w->seen->nr_webs, 1);
}

static void a_recorder_that_hangs_is_killed(void **state)
{
	struct world *w = *state;

	start(w);
	await(&w->seen->nr_hellos, 1);
	w->seen->recorder_hangs = true;
	await(&w->seen->nr_recorders, 2);
}

/* As after a freeze of both, the supervisor wakes up first. */
static void a_recorder_is_not_killed_for_a_stop_of_the_supervisor(void **state)
{
	struct world *w = *state;

	start(w);
	await(&w->seen->nr_hellos, 1);
	kill(w->supervisor, SIGSTOP);
	w->seen->recorder_hangs = true;
	sleep(PULSE_SILENT_NS / NS_PER_SEC + 2);
	kill(w->supervisor, SIGCONT);
	sleep(2);
	w->seen->recorder_hangs = false;
	sleep(2);
	assert_int_equal(w->seen->nr_recorders, 1);
}

static void a_process_that_blocked_a_recorder_is_excluded(void **state)
{
	struct world *w = *state;

	start(w);
	await(&w->seen->nr_hellos, 1);
	w->seen->blocker = start_sleeper();
	w->seen->recorder_hangs = true;
	await(&w->seen->nr_recorders, 2);
	kill(w->seen->blocker, SIGKILL);
	waitpid(w->seen->blocker, NULL, 0);
	assert_int_equal(w->seen->excluded, w->seen->blocker);
}

static void an_excluded_process_is_not_read(void **state)
{
	struct excluded_list list = { 0 };
	struct mappings all;
	struct target_root root;
	struct mem *m;
	s32 shown = 0;
	pid_t child = start_sleeper(), other = start_sleeper();

	excluded_begin(&list, &shown);
	assert_int_equal(mappings_read(child, true, &all), 0);
	mappings_fini(&all);
	assert_int_equal(shown, child);
	excluded_rest();
	assert_int_equal(shown, 0);
	assert_int_equal(excluded_add(&list, child), 0);
	assert_int_equal(mappings_read(child, true, &all), -EBUSY);
	assert_int_equal(mem_open(list.at[0].id, &m), -EBUSY);
	assert_int_equal(target_root_open(child, &root), -EBUSY);
	assert_int_equal(mappings_read(other, true, &all), 0);
	mappings_fini(&all);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	/* It has ended: another one may have its place and its PID. */
	assert_int_equal(excluded_touch(child), 0);
	assert_int_equal(excluded_add(&list, child), -ESRCH);
	assert_int_equal(excluded_add(&list, other), 0);
	assert_int_equal(list.nr, 1);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	excluded_begin(NULL, NULL);
}

/* Six restarts at once, then one every ten seconds; ten seconds of peace pay for one. */
static void a_child_that_keeps_failing_is_started_seldom(void **state)
{
	struct restart r = { 0 };
	u64 now_ns = 5 * NS_PER_SEC, at_ns;

	for (int i = 0; i < RESTARTS_AT_ONCE; i++)
		assert_int_equal(restart_at_ns(&r, now_ns + i), now_ns + i);
	now_ns += RESTARTS_AT_ONCE;
	for (int i = 0; i < 100; i++) {
		at_ns = restart_at_ns(&r, now_ns);
		assert_in_range(at_ns, now_ns + RESTART_EACH_NS - 100, now_ns + RESTART_EACH_NS);
		now_ns = at_ns;
	}
	now_ns += 2 * RESTART_EACH_NS;
	assert_int_equal(restart_at_ns(&r, now_ns), now_ns);
	assert_int_equal(restart_at_ns(&r, now_ns), now_ns);
	assert_true(restart_at_ns(&r, now_ns) > now_ns);
}

static void a_child_that_fails_at_once_ends_the_daemon(void **state)
{
	struct world *w = *state;
	int status;

	w->seen->web_fails = true;
	start(w);
	assert_int_equal(waitpid(w->supervisor, &status, 0), w->supervisor);
	w->supervisor = 0;
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_int_equal(kill(w->seen->recorder, 0), -1);
}

static void children_end_with_the_supervisor(void **state)
{
	struct world *w = *state;
	u64 end_ns = time_mono_ns() + PATIENCE_NS;

	start(w);
	await(&w->seen->nr_hellos, 1);
	kill(w->supervisor, SIGKILL);
	waitpid(w->supervisor, NULL, 0);
	w->supervisor = 0;
	while ((!kill(w->seen->recorder, 0) || !kill(w->seen->web, 0)) && time_mono_ns() < end_ns)
		usleep(1000);
	assert_int_equal(kill(w->seen->recorder, 0), -1);
	assert_int_equal(kill(w->seen->web, 0), -1);
}

static void term_ends_everything(void **state)
{
	struct world *w = *state;
	int status;

	start(w);
	await(&w->seen->nr_hellos, 1);
	kill(w->supervisor, SIGTERM);
	assert_int_equal(waitpid(w->supervisor, &status, 0), w->supervisor);
	w->supervisor = 0;
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(kill(w->seen->recorder, 0), -1);
}

static void the_directory_keeps_its_tokens(void **state)
{
	struct world *w = *state;
	auto_str struct str why = { 0 }, address = { 0 };
	struct home h, other;
	char token[TOKEN_LEN + 1];
	struct stat st;
	char path[100];

	assert_int_equal(home_open(w->dir, geteuid(), getegid(), &h, &why), 0);
	assert_string_not_equal(h.operator_token, h.viewer_token);
	assert_int_equal(home_open(w->dir, geteuid(), getegid(), &other, &why), -EBUSY);
	assert_non_null(strstr(why.at, "another daemon"));
	home_close(&other);
	assert_int_equal(home_set_address(&h, "http://127.0.0.1:7070"), 0);
	assert_int_equal(home_read_link(w->dir, &address, token, &why), 0);
	assert_string_equal(address.at, "http://127.0.0.1:7070");
	assert_string_equal(token, h.operator_token);
	snprintf(path, sizeof(path), "%s/token", w->dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	home_close(&h);
	assert_int_equal(home_open(w->dir, geteuid(), getegid(), &h, &why), 0);
	assert_string_equal(token, h.operator_token);
	home_close(&h);
	chmod(path, 0644); /* somebody else may have read it */
	assert_int_equal(home_open(w->dir, geteuid(), getegid(), &h, &why), -EPERM);
	home_close(&h);
}

static void write_token(const char *dir, const char *name, const char *text, mode_t mode)
{
	auto_free char *path = xasprintf("%s/%s", dir, name);
	auto_fclose FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs(text, f);
	fchmod(fileno(f), mode);
}

#define GIVEN "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopq"

static void a_folder_of_tokens_replaces_those_that_it_has(void **state)
{
	struct world *w = *state;
	auto_str struct str why = { 0 };
	struct home h;
	auto_free char *folder = xasprintf("%s/tokens", w->dir);

	assert_int_equal(home_open(w->dir, geteuid(), getegid(), &h, &why), 0);
	auto_free char *own = xstrdup(h.operator_token);
	mkdir(folder, 0700);
	assert_int_equal(home_read_tokens(folder, &h, &why), -ENOENT);
	assert_non_null(strstr(why.at, "it has neither token nor token.viewer"));
	write_token(folder, "token.viewer", GIVEN "\n", 0440);
	assert_int_equal(home_read_tokens(folder, &h, &why), 0);
	assert_string_equal(h.operator_token, own);
	assert_string_equal(h.viewer_token, GIVEN);
	write_token(folder, "token", "short", 0440);
	assert_int_equal(home_read_tokens(folder, &h, &why), -EINVAL);
	write_token(folder, "token", GIVEN, 0444);
	assert_int_equal(home_read_tokens(folder, &h, &why), -EPERM);
	assert_non_null(strstr(why.at, "token: others than root and its group may read it"));
	home_close(&h);
}

static int read_link(const char *dir, const char *sentence)
{
	auto_str struct str why = { 0 }, address = { 0 };
	char token[TOKEN_LEN + 1];
	int err = home_read_link(dir, &address, token, &why);

	if (sentence)
		assert_non_null(strstr(why.at, sentence));
	return err;
}

static void the_address_of_a_dead_daemon_is_no_link(void **state)
{
	struct world *w = *state;
	auto_str struct str why = { 0 };
	struct home h;
	char path[100];

	assert_int_equal(home_open(w->dir, geteuid(), getegid(), &h, &why), 0);
	assert_int_equal(read_link(w->dir, "no daemon runs"), -ENOENT);
	assert_int_equal(home_set_address(&h, "http://127.0.0.1:7070"), 0);
	assert_int_equal(read_link(w->dir, NULL), 0);
	snprintf(path, sizeof(path), "%s/address", w->dir);
	assert_int_equal(chmod(path, 0666), 0); /* somebody else may have written it */
	assert_int_equal(read_link(w->dir, "only its owner"), -EPERM);
	assert_int_equal(chmod(path, 0600), 0);
	home_close(&h); /* as the end of a daemon that was killed */
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(read_link(w->dir, "no daemon runs"), -ENOENT);
	/* The next daemon holds the lock before it has an address. */
	assert_int_equal(home_open(w->dir, geteuid(), getegid(), &h, &why), 0);
	assert_int_equal(read_link(w->dir, "no daemon runs"), -ENOENT);
	home_close(&h);
}

/* Opens the directory for a web process of another user. */
static int try_home(const char *dir, const char *sentence)
{
	auto_str struct str why = { 0 };
	struct home h;
	int err = home_open(dir, geteuid() + 1, getegid(), &h, &why);

	home_close(&h);
	if (sentence)
		assert_non_null(strstr(why.at, sentence));
	return err;
}

static void a_directory_with_other_files_stays_as_it_is(void **state)
{
	struct world *w = *state;
	char path[100];
	struct stat st;

	assert_int_equal(mkdir(w->dir, 0755), 0);
	snprintf(path, sizeof(path), "%s/passwd", w->dir);
	close(creat(path, 0600));
	assert_int_equal(try_home(w->dir, "an empty directory"), -ENOTEMPTY);
	assert_int_equal(stat(w->dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	unlink(path);
	assert_int_equal(try_home(w->dir, NULL), 0);
	assert_int_equal(stat(w->dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 01770);
	/* Now it is the daemon's: its mode is restored. */
	assert_int_equal(chmod(w->dir, 0700), 0);
	assert_int_equal(try_home(w->dir, NULL), 0);
	assert_int_equal(stat(w->dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 01770);
}

static void files_of_an_earlier_web_user_are_refused_with_the_remedy(void **state)
{
	struct world *w = *state;
	char path[100], sentence[100];

	assert_int_equal(try_home(w->dir, NULL), 0);
	snprintf(path, sizeof(path), "%s/profiles", w->dir);
	assert_int_equal(mkdir(path, 0700), 0); /* ours, not that of the web process */
	snprintf(sentence, sizeof(sentence), "run chown -hR --from=%u %u:%u ", geteuid(),
		 geteuid() + 1, getegid());
	assert_int_equal(try_home(w->dir, sentence), -EPERM);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(try_home(w->dir, NULL), 0);
}

static void a_directory_of_all_users_is_refused(void **state)
{
	struct world *w = *state;
	auto_str struct str why = { 0 };
	struct home h;

	assert_int_equal(mkdir(w->dir, 0700), 0);
	assert_int_equal(chmod(w->dir, 0777), 0);
	assert_int_equal(home_open(w->dir, geteuid(), getegid(), &h, &why), -EPERM);
	home_close(&h);
	assert_non_null(strstr(why.at, "chmod o-w"));
	assert_int_equal(try_home(w->dir, "chmod o-w"), -EPERM);
	assert_int_equal(chmod(w->dir, 0755), 0);
	assert_int_equal(home_open(w->dir, geteuid(), getegid(), &h, &why), 0);
	home_close(&h);
}

static void expect_no_address(const char *address)
{
	auto_str struct str why = { 0 };
	struct listening l;

	assert_true(listen_on(address, &l, &why) < 0);
	assert_true(why.len > 0);
}

static void addresses_are_checked(void **state)
{
	struct world *w = *state;
	auto_str struct str why = { 0 }, address = { 0 };
	struct listening l, other;
	char path[100];

	assert_int_equal(listen_on("127.0.0.1:0", &l, &why), 0);
	assert_true(l.is_loopback);
	assert_true(strncmp(l.url, "http://127.0.0.1:", 17) == 0 && atoi(l.url + 17) > 0);
	assert_int_equal(listen_on(l.url + 7, &other, &why), -EADDRINUSE);
	close(l.fd);
	assert_int_equal(listen_on("0.0.0.0:0", &l, &why), 0);
	assert_false(l.is_loopback);
	assert_true(strncmp(l.url, "http://127.0.0.1:", 17) == 0 && atoi(l.url + 17) > 0);
	close(l.fd);
	if (!listen_on("[::]:0", &l, &why)) { /* a kernel may lack IPv6 */
		assert_false(l.is_loopback);
		assert_true(strncmp(l.url, "http://[::1]:", 13) == 0 && atoi(l.url + 13) > 0);
		close(l.fd);
	}
	snprintf(path, sizeof(path), "unix:%s.socket", w->dir);
	assert_int_equal(listen_on(path, &l, &why), 0);
	close(l.fd);
	unlink(path + 5);
	listening_address(&l, "", "\n", &address);
	assert_string_equal(address.at, path);
	listening_address(&l, "/a/b", "\n", &address);
	assert_string_equal(address.at + 2 * strlen(path), "\n/a/b");
	expect_no_address("");
	expect_no_address("7070");
	expect_no_address("127.0.0.1:");
	expect_no_address("::1:7070");
	expect_no_address("[::1");
	expect_no_address("127.0.0.1:http-no-such");
	expect_no_address("unix:");
	expect_no_address("unix:/no/such/folder/socket");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, free_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_killed_child_is_started_and_connected_again),
		TEST(who_asks_gets_a_channel_once_a_second),
		TEST(a_recorder_that_hangs_is_killed),
		TEST(a_recorder_is_not_killed_for_a_stop_of_the_supervisor),
		TEST(a_process_that_blocked_a_recorder_is_excluded),
		cmocka_unit_test(an_excluded_process_is_not_read),
		cmocka_unit_test(a_child_that_keeps_failing_is_started_seldom),
		TEST(a_child_that_fails_at_once_ends_the_daemon),
		TEST(children_end_with_the_supervisor),
		TEST(term_ends_everything),
		TEST(the_directory_keeps_its_tokens),
		TEST(a_folder_of_tokens_replaces_those_that_it_has),
		TEST(the_address_of_a_dead_daemon_is_no_link),
		TEST(a_directory_with_other_files_stays_as_it_is),
		TEST(files_of_an_earlier_web_user_are_refused_with_the_remedy),
		TEST(a_directory_of_all_users_is_refused),
		TEST(addresses_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
