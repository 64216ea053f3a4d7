/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that work, never end, crash, break the protocol, and make forbidden system calls. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "sandbox/message.h"
#include "sandbox/sandbox.h"
#include "sandbox/workers.h"
#include "sandbox/zygote.h"

#define PATIENCE (20 * NS_PER_SEC)

/* The tasks of this test, in places of the recorder's. */
enum {
	CONTENT = WORKER_ROWS,
	TRY = WORKER_PERF_MAP,
	OTHER_FILE = WORKER_HEADERS,
	LIE = WORKER_SYMBOLS
};

/* The file's content, as often as the parameter says. */
static int content(struct worker_io *io, const int *fds, const void *params, size_t len)
{
	char buf[64];
	ssize_t got = pread(fds[0], buf, sizeof(buf), 0);
	int err = got < 0 ? -errno : 0;

	for (int i = 0; !err && i < *(const int *)params; i++)
		err = worker_put(io, buf, (size_t)got);
	return err;
}

enum trial {
	SOCKET,
	OPEN,
	EXEC,
	FORK,
	KILL,
	CODE,
	SPIN,
	CRASH,
	MUCH_MEMORY,
	AGAIN
};

/* Tries what a worker that was taken over might try; returns 0 if that was possible. */
static int try_it(struct worker_io *io, const int *fds, const void *params, size_t len)
{
	char *const argv[] = { "true", NULL };

	switch (*(const enum trial *)params) {
	case SOCKET:
		return socket(AF_INET, SOCK_STREAM, 0) < 0;
	case OPEN:
		return open("/etc/passwd", O_RDONLY) < 0;
	case EXEC:
		return execv("/bin/true", argv) < 0;
	case FORK:
		return fork() < 0;
	case KILL:
		return kill(getppid(), 0) < 0;
	case CODE:
		return syscall(SYS_mmap, NULL, 4096, 4, 0x22, -1, 0) < 0; /* PROT_EXEC */
	case SPIN:
		for (;;)
			asm volatile("");
	case CRASH:
		return syscall(SYS_exit_group, 11) < 0;
	case MUCH_MEMORY:
		return syscall(SYS_mmap, NULL, 1u << 30, 3, 0x22, -1, 0) < 0 ? -ENOMEM : 0;
	case AGAIN:
		return -EAGAIN;
	}
	return -EINVAL;
}

static int other_file(struct worker_io *io, const int *fds, const void *params, size_t len)
{
	auto_close int fd = worker_open(io, 7, params);

	return fd < 0 ? fd : content(io, &fd, &(int){ 1 }, sizeof(int));
}

/* Sends what no honest worker sends: a result too large, or one nobody asked for. */
static int lie(struct worker_io *io, const int *fds, const void *params, size_t len)
{
	struct worker_message m = { .kind = *(const u32 *)params, .nr = UINT32_MAX };

	if (m.kind == WORKER_OPENED) { /* here: asks for files and never reads an answer */
		m = (struct worker_message){
			.kind = WORKER_OPEN, .what = 7, .len = 2, .text = "a"
		};
		while (!message_send(3, &m, NULL, 0))
			;
	}
	message_send(3, &m, NULL, 0);
	return 0;
}

static const worker_fn tasks[PARSER_TASKS] = {
	[CONTENT] = content, [TRY] = try_it, [OTHER_FILE] = other_file, [LIE] = lie
};

static const struct worker_kind kind = PARSER_KIND(tasks);

static int file_with(const char *text)
{
	char path[] = "/tmp/test_worker.XXXXXX";
	int fd = mkstemp(path);

	unlink(path);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

static struct work *begin(struct workers *w, u32 task, uid_t user, const void *params, size_t len)
{
	const struct work_order order = {
		.task = task,
		.user = user,
		.fds = { file_with("text"), -1 },
		.params = params,
		.len = len,
		.max = 100,
		.run = tasks[task],
	};

	return work_start(w, &order);
}

static int result_of(struct workers *w, struct work *k, char text[101])
{
	auto_free void *bytes = NULL;
	size_t nr = 0;

	workers_set_patience(w, PATIENCE);
	int err = work_result(k, &bytes, &nr);
	work_free(k);
	if (!err) {
		memcpy(text, bytes, nr);
		text[nr] = '\0';
	}
	return err;
}

static struct workers *new_workers(void)
{
	struct workers *w;

	assert_int_equal(workers_new(&kind, &w), 0);
	return w;
}

static void work_is_done_elsewhere(void **state)
{
	struct workers *w = new_workers();
	char text[101];

	for (int i = 0; i < 50; i++) {
		assert_int_equal(
			result_of(w, begin(w, CONTENT, (uid_t)i / 10, &(int){ 2 }, 4), text), 0);
		assert_string_equal(text, "texttext");
	}
	assert_int_equal(workers_usage(w).nr_done, 50);
	workers_free(w);
}

static void without_workers_it_is_done_here(void **state)
{
	char text[101];

	assert_int_equal(result_of(NULL, begin(NULL, CONTENT, 0, &(int){ 3 }, 4), text), 0);
	assert_string_equal(text, "texttexttext");
}

static void a_result_has_a_limit(void **state)
{
	struct workers *w = new_workers();
	char text[101];

	assert_int_equal(result_of(w, begin(w, CONTENT, 0, &(int){ 26 }, 4), text), -EFBIG);
	assert_int_equal(result_of(w, begin(w, CONTENT, 0, &(int){ 25 }, 4), text), 0);
	workers_free(w);
}

static void a_worker_may_do_nothing_else(void **state)
{
	static const enum trial forbidden[] = { SOCKET, OPEN, EXEC, FORK, KILL, CODE, CRASH };
	struct workers *w = new_workers();
	char text[101];

	for (size_t i = 0; i < ARRAY_SIZE(forbidden); i++) {
		assert_int_equal(result_of(w, begin(w, TRY, 0, &forbidden[i], 4), text), -EPIPE);
		/* The next work has a new worker. */
		assert_int_equal(result_of(w, begin(w, CONTENT, 0, &(int){ 1 }, 4), text), 0);
	}
	assert_int_equal(workers_usage(w).nr_failed, ARRAY_SIZE(forbidden));
	workers_free(w);
}

static void work_that_does_not_end_is_killed(void **state)
{
	u64 began_ns = time_mono_ns();
	struct workers *w = new_workers();
	char text[101];
	struct work *spin = begin(w, TRY, 1000, &(enum trial){ SPIN }, 4);

	/* Meanwhile others are served. */
	assert_int_equal(result_of(w, begin(w, CONTENT, 0, &(int){ 1 }, 4), text), 0);
	assert_int_equal(result_of(w, spin, text), -ETIMEDOUT);
	assert_int_equal(workers_usage(w).nr_late, 1);
	/*
	 * That user has used up its time, unless the machine was very slow. Root has not. A turn
	 * forgives no more than the share.
	 */
	workers_turn(w);
	struct work *again = begin(w, CONTENT, 1000, &(int){ 1 }, 4);
	workers_set_patience(w, 100 * NS_PER_MS);
	auto_free void *bytes = NULL;
	size_t nr;
	int err = work_result(again, &bytes, &nr);
	if (time_mono_ns() - began_ns < 2 * PARSER_CPU_NS - NS_PER_SEC)
		assert_int_equal(err, -EAGAIN);
	assert_int_equal(result_of(w, begin(w, CONTENT, 0, &(int){ 1 }, 4), text), 0);
	work_free(again);
	workers_free(w);
}

static void work_is_forgotten_in_every_state(void **state)
{
	struct workers *w = new_workers();
	char text[101];
	struct work *all[6];

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		all[i] = begin(w, TRY, 0, &(enum trial){ SPIN }, 4);
	for (size_t i = ARRAY_SIZE(all); i-- > 0;)
		work_free(all[i]);
	assert_int_equal(result_of(w, begin(w, CONTENT, 0, &(int){ 1 }, 4), text), 0);
	workers_free(w);
}

static void with_little_memory_one_works_and_results_are_taken_first(void **state)
{
	struct workers *w = new_workers();
	struct work *all[3];
	char text[101];

	workers_save_memory(w, 1);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		all[i] = begin(w, CONTENT, 0, &(int){ 2 }, 4);
	assert_int_equal(workers_usage(w).nr_waiting, 2);
	while (!workers_usage(w).nr_done)
		workers_poll(w);
	for (int i = 0; i < 100; i++)
		workers_poll(w);
	assert_int_equal(workers_usage(w).nr_done, 1);
	assert_int_equal(workers_usage(w).nr_waiting, 2);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		assert_int_equal(result_of(w, all[i], text), 0);
	workers_free(w);
}

static int open_seven(void *ctx, u32 place, const char *path)
{
	if (place != 7 || strcmp(path, ctx))
		return -EACCES;
	return file_with("another");
}

static void another_file_is_opened_by_the_recorder(void **state)
{
	struct workers *w = new_workers();
	char text[101];

	for (int with = 1; with >= 0; with--) {
		for (int right = 1; right >= 0; right--) {
			const struct work_order order = {
				.task = OTHER_FILE,
				.fds = { file_with("text"), -1 },
				.params = right ? "right" : "wrong",
				.len = 6,
				.max = 100,
				.open = open_seven,
				.ctx = xstrdup("right"),
				.run = other_file,
			};
			struct work *k = work_start(with ? w : NULL, &order);
			assert_int_equal(result_of(w, k, text), right ? 0 : -EACCES);
			if (right)
				assert_string_equal(text, "another");
		}
	}
	workers_free(w);
}

static void lies_end_the_worker(void **state)
{
	static const u32 kinds[] = { WORKER_RESULT, WORKER_OPEN, WORKER_REQUEST, 99 };
	struct workers *w = new_workers();
	char text[101];

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		int err = result_of(w, begin(w, LIE, 0, &kinds[i], 4), text);
		assert_int_equal(err, -EPROTO);
		assert_int_equal(result_of(w, begin(w, CONTENT, 0, &(int){ 1 }, 4), text), 0);
	}
	workers_free(w);
}

static void questions_without_end_end_the_worker(void **state)
{
	struct workers *w = new_workers();
	char text[101];

	int err = result_of(w, begin(w, LIE, 0, &(u32){ WORKER_OPENED }, 4), text);
	assert_true(err == -EIO || err == -ETIMEDOUT);
	assert_int_equal(result_of(w, begin(w, CONTENT, 0, &(int){ 1 }, 4), text), 0);
	workers_free(w);
}

static void its_memory_is_limited(void **state)
{
	struct workers *w = new_workers();
	char text[101];

	assert_int_equal(result_of(w, begin(w, TRY, 0, &(enum trial){ MUCH_MEMORY }, 4), text),
			 -ENOMEM);
	workers_free(w);
}

/* -EAGAIN of the task itself would have the recorder ask for ever. */
static void no_work_ends_by_asking_again(void **state)
{
	struct workers *w = new_workers();
	char text[101];

	assert_int_equal(result_of(w, begin(w, TRY, 0, &(enum trial){ AGAIN }, 4), text), -EIO);
	assert_int_equal(result_of(NULL, begin(NULL, TRY, 0, &(enum trial){ AGAIN }, 4), text),
			 -EIO);
	workers_free(w);
}

/* The PID that the zygote says, or an error; *sock, if that worker lives, ends it. */
static pid_t fork_one(struct zygote *z, int *sock)
{
	int pair[2];
	auto_close int shared = memfd_create("test", MFD_CLOEXEC);

	assert_int_equal(ftruncate(shared, WORKER_RESULT_MAX), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	pid_t pid = zygote_fork(z, pair[1], shared);
	close(pair[1]);
	*sock = pair[0];
	return pid;
}

/* Who serves the other end of the socket: the worker itself says so. */
static pid_t serving(int sock)
{
	const struct worker_message m = { .kind = WORKER_REQUEST, .what = CONTENT, .nr = 1 };
	struct worker_message answer;
	char buf[256];
	struct iovec part = { &answer, sizeof(answer) };
	struct msghdr head = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = buf, .msg_controllen = sizeof(buf)
	};

	assert_int_equal(setsockopt(sock, SOL_SOCKET, SO_PASSCRED, &(int){ 1 }, sizeof(int)), 0);
	assert_int_equal(message_send(sock, &m, NULL, 0), 0);
	assert_true(recvmsg(sock, &head, 0) > 0);
	struct cmsghdr *c = CMSG_FIRSTHDR(&head);
	assert_non_null(c);
	assert_int_equal(c->cmsg_type, SCM_CREDENTIALS);
	struct ucred who;
	memcpy(&who, CMSG_DATA(c), sizeof(who));
	return who.pid;
}

/* A deadline would otherwise measure and kill another worker. */
static void a_late_answer_is_of_no_other_request(void **state)
{
	struct zygote z;
	int late, next;

	assert_int_equal(zygote_start(&kind, &z) ?: zygote_await(&z), 0);
	assert_int_equal(kill(z.pid, SIGSTOP), 0);
	assert_int_equal(fork_one(&z, &late), -ETIMEDOUT);
	assert_int_equal(kill(z.pid, SIGCONT), 0);
	pid_t pid = fork_one(&z, &next);
	assert_true(pid > 0);
	assert_int_equal(serving(next), pid);
	close(late);
	close(next);
	zygote_stop(&z);
}

static void read_oom_score(pid_t pid, char score[8])
{
	auto_free char *path = xasprintf("/proc/%d/oom_score_adj", (int)pid);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t nr = fd < 0 ? -1 : read(fd, score, 7);

	assert_true(nr > 0);
	score[nr] = '\0';
}

/* Who is killed first when memory is short, from -1000 to 1000. Without a zygote no worker starts.
 */
static void the_kernel_ends_workers_before_recorder_and_zygote(void **state)
{
	char own[8], of_zygote[8], of_worker[8] = "";
	struct zygote z;
	int sock;

	assert_int_equal(zygote_start(&kind, &z) ?: zygote_await(&z), 0);
	pid_t pid = fork_one(&z, &sock);
	assert_true(pid > 0);
	for (int i = 0; i < 2000 && strcmp(of_worker, "1000\n") != 0; i++) {
		read_oom_score(pid, of_worker);
		usleep(10000);
	}
	assert_string_equal(of_worker, "1000\n");
	read_oom_score(getpid(), own);
	read_oom_score(z.pid, of_zygote);
	assert_string_equal(of_zygote, own);
	close(sock);
	zygote_stop(&z);
}

/* The only child of this process, once those of earlier tests are gone. */
static pid_t only_child(void)
{
	auto_free char *path = xasprintf("/proc/self/task/%d/children", (int)gettid());
	int pid = 0, nr = 0, other;

	for (int i = 0; i < 2000 && nr != 1; i++) {
		if (i)
			usleep(10000);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			continue;
		FILE *f = fopen(path, "re");
		assert_non_null(f);
		nr = fscanf(f, "%d %d", &pid, &other);
		fclose(f);
	}
	assert_int_equal(nr, 1);
	return pid;
}

static void workers_without_a_zygote_are_broken(void **state)
{
	struct workers *w = new_workers();
	char text[101];

	assert_int_equal(result_of(w, begin(w, CONTENT, 0, &(int){ 1 }, 4), text), 0);
	assert_false(workers_are_broken(w));
	assert_false(workers_are_broken(NULL));
	pid_t zygote = only_child();
	assert_int_equal(kill(zygote, SIGKILL), 0);
	for (int i = 0; i < 2000 && !workers_are_broken(w); i++)
		usleep(10000);
	assert_true(workers_are_broken(w));
	/* Another user needs another worker. */
	assert_int_equal(result_of(w, begin(w, CONTENT, 7, &(int){ 1 }, 4), text), -EPIPE);
	assert_true(workers_are_broken(w));
	workers_free(w);
}

static void workers_of_a_silent_zygote_are_broken(void **state)
{
	struct workers *w = new_workers();
	char text[101];

	pid_t zygote = only_child();
	assert_int_equal(kill(zygote, SIGSTOP), 0);
	assert_int_equal(result_of(w, begin(w, CONTENT, 0, &(int){ 1 }, 4), text), -EPIPE);
	assert_true(workers_are_broken(w));
	/* A recorder goes on as soon as it answers again. */
	assert_int_equal(kill(zygote, SIGCONT), 0);
	assert_int_equal(result_of(w, begin(w, CONTENT, 0, &(int){ 2 }, 4), text), 0);
	assert_string_equal(text, "texttext");
	assert_false(workers_are_broken(w));
	workers_free(w);
}

static int spin(struct worker_io *io, const int *fds, const void *params, size_t len)
{
	while (!params || len < WORKER_TEXT_MAX)
		asm volatile("");
	return 0;
}

/* The kernel ends a worker whose parent does not look at its time. */
static void its_cpu_time_is_limited(void **state)
{
	static const worker_fn spins[] = { spin };
	static const struct worker_kind once = { .tasks = spins,
						 .nr_tasks = 1,
						 .memory_bytes = PARSER_MEMORY,
						 .cpu_ns = 1,
						 .wall_ns = 1,
						 .ends_after_task = true };
	const struct worker_message m = { .kind = WORKER_REQUEST, .nr = 1 };
	auto_close int file = file_with("text");
	struct worker_message answer;
	int fds[WORKER_FDS_MAX], sock;
	struct zygote z;
	size_t nr;

	assert_int_equal(zygote_start(&once, &z) ?: zygote_await(&z), 0);
	assert_true(fork_one(&z, &sock) > 0);
	assert_int_equal(message_send(sock, &m, &file, 1), 0);
	assert_int_equal(message_receive(sock, &answer, fds, &nr), -EPIPE);
	close(sock);
	zygote_stop(&z);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_is_done_elsewhere),
		cmocka_unit_test(without_workers_it_is_done_here),
		cmocka_unit_test(a_result_has_a_limit),
		cmocka_unit_test(a_worker_may_do_nothing_else),
		cmocka_unit_test(work_that_does_not_end_is_killed),
		cmocka_unit_test(work_is_forgotten_in_every_state),
		cmocka_unit_test(with_little_memory_one_works_and_results_are_taken_first),
		cmocka_unit_test(the_kernel_ends_workers_before_recorder_and_zygote),
		cmocka_unit_test(another_file_is_opened_by_the_recorder),
		cmocka_unit_test(lies_end_the_worker),
		cmocka_unit_test(questions_without_end_end_the_worker),
		cmocka_unit_test(its_memory_is_limited),
		cmocka_unit_test(no_work_ends_by_asking_again),
		cmocka_unit_test(a_late_answer_is_of_no_other_request),
		cmocka_unit_test(workers_without_a_zygote_are_broken),
		cmocka_unit_test(workers_of_a_silent_zygote_are_broken),
		cmocka_unit_test(its_cpu_time_is_limited),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
