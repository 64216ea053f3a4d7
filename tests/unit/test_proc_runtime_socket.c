/* SPDX-License-Identifier: Apache-2.0 */
/* Names of containers that only the socket of a runtime has, and who may ask there. */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "proc/container.h"
#include "proc/open_request.h"
#include "proc/runtime.h"
#include "sandbox/rights.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char root[] = "/tmp/runtime-test-XXXXXX";

static void make_folder(const char *name)
{
	auto_free char *path = xasprintf("%s/%s", root, name);

	assert_int_equal(mkdir(path, 0700), 0);
}

/* With a file of names that opt out. */
static int make_root(void **state)
{
	strcpy(root + strlen(root) - 6, "XXXXXX");
	assert_non_null(mkdtemp(root));
	make_folder("run");
	make_folder("etc");
	make_folder("etc/sysflame");
	auto_free char *path = xasprintf("%s/etc/sysflame/deny", root);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs("db\n", f);
	return fclose(f);
}

static int remove_root(void **state)
{
	auto_free char *command = xasprintf("rm -r %s", root);

	return system(command);
}

static int listen_as_docker(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/run/docker.sock", root);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 64), 0);
	return fd;
}

/* Answers each request as Docker does about a container that is named db. */
static void *answer_db(void *listening)
{
	const char *text = "HTTP/1.0 200 OK\r\n\r\n{\"Name\": \"/db\"}";

	for (int fd; (fd = accept(*(int *)listening, NULL, NULL)) >= 0; close(fd)) {
		char request[512] = "";
		assert_true(read(fd, request, sizeof(request) - 1) > 0);
		send(fd, text, strlen(text), MSG_NOSIGNAL); /* the asker may have given up */
	}
	return NULL;
}

struct docker {
	int fd;
	pthread_t thread;
};

static void start_docker(struct docker *d)
{
	d->fd = listen_as_docker();
	pthread_create(&d->thread, NULL, answer_db, &d->fd);
}

static void stop_docker(struct docker *d)
{
	shutdown(d->fd, SHUT_RDWR);
	pthread_join(d->thread, NULL);
	close(d->fd);
}

static int check_denied(void)
{
	struct containers *all = containers_new(root);
	bool is_right = containers_find(all, ID, NULL)->is_denied && containers_are_reported(all) &&
			!containers_refused(all);

	containers_free(all);
	return !is_right;
}

static void a_name_that_only_a_socket_has_opts_out(void **state)
{
	struct docker docker;

	start_docker(&docker);
	assert_int_equal(check_denied(), 0);
	stop_docker(&docker);
}

static int load_filter(enum privileged process)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ?: call_filter_load(process);
}

static int start_opener(void *ctx, int sock, u64 *number)
{
	pid_t pid = fork();

	if (!pid) {
		if (!load_filter(PRIVILEGED_OPENER))
			opener_serve(sock, root);
		_exit(0);
	}
	if (pid < 0)
		return -errno;
	*number = (u64)pid;
	return 0;
}

static void end_opener(void *ctx, u64 number)
{
	kill((pid_t)number, SIGKILL);
	waitpid((pid_t)number, NULL, 0);
}

/* The wait status of a process that may do what a recorder may and that runs `check`. */
static int as_recorder(bool has_opener, int (*check)(void))
{
	const struct open_requests_ops ops = { start_opener, end_opener, NULL };
	int status;
	pid_t pid = fork();

	if (!pid) {
		int failed = (has_opener && open_requests_begin(&ops)) ||
			     load_filter(PRIVILEGED_RECORDER) || check();
		if (has_opener)
			open_requests_end();
		_exit(failed);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static int check_refused(void)
{
	struct containers *all = containers_new(root);
	bool is_right = !containers_refused(all) && !*containers_find(all, ID, NULL)->name &&
			containers_refused(all) == -EPERM && !containers_are_reported(all);

	containers_free(all);
	return !is_right;
}

static void a_recorder_has_its_opener_ask(void **state)
{
	struct docker docker;

	start_docker(&docker);
	assert_int_equal(as_recorder(true, check_denied), 0);
	stop_docker(&docker);
}

static void a_runtime_that_cannot_be_asked_has_not_answered(void **state)
{
	struct docker docker;

	start_docker(&docker);
	assert_int_equal(as_recorder(false, check_refused), 0);
	stop_docker(&docker);
}

/* Without a socket there is nothing to be refused. */
static int check_no_runtime(void)
{
	struct containers *all = containers_new(root);

	containers_find(all, ID, NULL);
	bool is_right = !containers_refused(all) && containers_are_reported(all);
	containers_free(all);
	return !is_right;
}

static void without_a_runtime_none_refuses(void **state)
{
	assert_int_equal(as_recorder(false, check_no_runtime), 0);
	assert_int_equal(as_recorder(true, check_no_runtime), 0);
}

/* A recorder that was taken over may send anything. */
static void the_opener_asks_known_sockets_for_containers_only(void **state)
{
	const struct open_requests_ops ops = { start_opener, end_opener, NULL };
	static const char *const ids[] = { "", "../../x", "a HTTP/1.0\r\nX: y", ID "0" };
	struct docker docker;

	start_docker(&docker);
	assert_int_equal(open_requests_begin(&ops), 0);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		assert_int_equal(open_request_answer(SOCKET_DOCKER, ids[i]), -EPROTO);
	assert_int_equal(open_request_answer(NR_RUNTIME_SOCKETS, ID), -EPROTO);
	assert_int_equal(open_request_answer(SOCKET_CRIO, ID), -ENOENT);
	int fd = open_request_answer(SOCKET_DOCKER, ID);
	assert_true(fd >= 0);
	close(fd);
	open_requests_end();
	stop_docker(&docker);
}

static void a_socket_of_another_user_is_not_asked(void **state)
{
	struct runtime_config config = { 0 };
	char *path = xasprintf("%s/run/docker.sock", root), *found = NULL;

	if (geteuid())
		skip_because("not root");
	int fd = listen_as_docker();
	assert_int_equal(runtime_socket_find(root, &config, SOCKET_DOCKER, &found), 0);
	assert_string_equal(found, path);
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_int_equal(runtime_socket_find(root, &config, SOCKET_DOCKER, &found), -ENOENT);
	free(found);
	free(path);
	close(fd);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_root, remove_root)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_name_that_only_a_socket_has_opts_out),
		TEST(a_recorder_has_its_opener_ask),
		TEST(a_runtime_that_cannot_be_asked_has_not_answered),
		TEST(without_a_runtime_none_refuses),
		TEST(the_opener_asks_known_sockets_for_containers_only),
		TEST(a_socket_of_another_user_is_not_asked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
