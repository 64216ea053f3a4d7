/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP client against a server of our own: limits, judges, files, a crash. */
#include "test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/str.h"
#include "base/time.h"
#include "net/http_client.h"

#define WAIT_NS (60 * NS_PER_SEC)

static pid_t server_pid;
static char url[64];

static void say(int sock, const char *text)
{
	send(sock, text, strlen(text), MSG_NOSIGNAL);
}

/* Answers by the path; "/echo" returns the request's last line with its headers before. */
static void answer(int sock)
{
	char request[4096] = "";
	size_t len = 0;

	for (;;) {
		ssize_t got = recv(sock, request + len, sizeof(request) - 1 - len, 0);
		if (got <= 0)
			return;
		len += (size_t)got;
		request[len] = '\0';
		const char *end = strstr(request, "\r\n\r\n"), *size;
		size = strstr(request, "Content-Length: ");
		if (end && (!size || strlen(end + 4) >= strtoul(size + 16, NULL, 10)))
			break;
	}
	const char *path = strchr(request, ' ') ?: " /";
	if (!strncmp(path, " /silent", 8))
		pause();
	if (!strncmp(path, " /moved", 7))
		say(sock, "HTTP/1.1 302 Found\r\nLocation: /echo\r\nContent-Length: 0\r\n\r\n");
	if (!strncmp(path, " /later", 7))
		say(sock, "HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nlate");
	if (!strncmp(path, " /echo", 6)) {
		auto_free char *out =
			xasprintf("HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", len, request);
		say(sock, out);
	}
}

static int start_server(void **state)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(at);

	if (bind(sock, (struct sockaddr *)&at, len) || listen(sock, 8) ||
	    getsockname(sock, (struct sockaddr *)&at, &len))
		return -1;
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", ntohs(at.sin_port));
	server_pid = fork();
	if (!server_pid) {
		signal(SIGCHLD, SIG_IGN);
		for (;;) {
			int one = accept(sock, NULL, NULL);
			if (!fork()) {
				alarm(60);
				answer(one);
				_exit(0);
			}
			close(one);
		}
	}
	close(sock);
	return server_pid < 0;
}

static int stop_server(void **state)
{
	kill(server_pid, SIGKILL);
	waitpid(server_pid, NULL, 0);
	return 0;
}

struct result {
	bool is_done, is_lost;
	struct http_finding found;
	char bytes[4096];
};

static void take_result(void *ctx, const struct http_answer *a)
{
	struct result *r = ctx;

	assert_false(r->is_done);
	r->is_done = true;
	r->is_lost = a->is_lost;
	r->found = a->found;
	copy_text(r->bytes, sizeof(r->bytes), a->bytes);
}

static void count_late(struct http_finding *f, const char *bytes, size_t len)
{
	f->value = !strcmp(bytes, "late") ? len : 0;
	copy_text(f->why, sizeof(f->why), bytes);
}

static struct http_client *start_client(void)
{
	struct http_server s = { .url = xstrdup(url), .judge = count_late };
	const struct http_client_options o = { .name = "http_client",
					       .servers = &s,
					       .nr_servers = 1,
					       .max_bytes = 1000,
					       .max_open = 2 };
	struct http_client *c;

	http_server_add_bearer(&s, "secret");
	assert_int_equal(http_client_start(&o, &c), 0);
	http_server_wipe(&s);
	return c;
}

static void wait_for(struct http_client *c, const struct result *r)
{
	u64 end_ns = time_mono_ns() + WAIT_NS;

	while (!r->is_done) {
		struct pollfd p = { http_client_fd(c), POLLIN, 0 };
		if (time_mono_ns() > end_ns)
			fail_msg("no answer");
		http_client_step(c);
		if (!r->is_done)
			poll(&p, 1, 50);
	}
}

static struct result ask(struct http_client *c, struct http_request r)
{
	struct result out = { 0 };

	r.timeout_s = r.timeout_s ?: 30;
	assert_int_equal(http_client_add(c, &r, take_result, &out), 0);
	wait_for(c, &out);
	return out;
}

static void an_answer_has_the_server_s_credentials_and_the_body(void **state)
{
	struct http_client *c = start_client();
	struct result r = ask(
		c, (struct http_request){ .path = "/echo", .json = "{\"a\":1}", .max_bytes = 900 });

	assert_int_equal(r.found.status, 200);
	assert_int_equal(r.found.len, strlen(r.bytes));
	assert_non_null(strstr(r.bytes, "POST /echo HTTP/1.1\r\n"));
	assert_non_null(strstr(r.bytes, "Authorization: Bearer secret\r\n"));
	assert_non_null(strstr(r.bytes, "Content-Type: application/json\r\n"));
	assert_non_null(strstr(r.bytes, "\r\n\r\n{\"a\":1}"));
	http_client_free(c);
}

static void files_are_posted_and_filled(void **state)
{
	struct http_client *c = start_client();
	int body = memfile_new("body"), answer = memfile_new("answer");
	char bytes[1000] = "";

	assert_int_equal(write(body, "posted", 6), 6);
	assert_int_equal(write(answer, "older and longer than the rest of it", 36), 36);
	struct result r = ask(c, (struct http_request){ .path = "/echo",
							.body_fd = body,
							.answer_fd = answer,
							.max_bytes = 900 });
	assert_int_equal(r.found.status, 200);
	assert_string_equal(r.bytes, "");
	assert_int_equal(pread(answer, bytes, sizeof(bytes) - 1, 0), (ssize_t)r.found.len);
	assert_non_null(strstr(bytes, "Content-Length: 6\r\n"));
	assert_non_null(strstr(bytes, "\r\n\r\nposted"));
	close(body);
	close(answer);
	http_client_free(c);
}

static void an_answer_that_is_too_long_fails_or_is_cut(void **state)
{
	struct http_client *c = start_client();
	struct result r = ask(c, (struct http_request){ .path = "/echo", .max_bytes = 20 });

	assert_int_equal(r.found.status, 0);
	assert_int_equal(r.found.fault, HTTP_TOO_LONG);
	assert_string_equal(r.found.why, "its answer is too long");
	r = ask(c, (struct http_request){ .path = "/echo", .max_bytes = 20, .cuts = true });
	assert_int_equal(r.found.status, 200);
	assert_string_equal(r.bytes, "GET /echo HTTP/1.1\r\n");
	http_client_free(c);
}

static void faults_have_their_kind_and_their_words(void **state)
{
	struct http_client *c = start_client();
	struct result r = ask(c, (struct http_request){ .path = "/later", .max_bytes = 900 });

	assert_int_equal(r.found.status, 503);
	assert_int_equal(r.found.retry_after_s, 7);
	assert_int_equal(r.found.value, 4);
	assert_string_equal(r.found.why, "late");
	r = ask(c, (struct http_request){ .path = "/moved", .max_bytes = 900 });
	assert_int_equal(r.found.status, 302); /* nobody follows */
	r = ask(c, (struct http_request){ .path = "/silent", .max_bytes = 900, .timeout_s = 1 });
	assert_int_equal(r.found.fault, HTTP_SILENT);
	r = ask(c, (struct http_request){ .path = "/nothing", .max_bytes = 900 });
	assert_int_equal(r.found.status, 0); /* it closes */
	r = ask(c, (struct http_request){ .path = "@elsewhere/", .max_bytes = 900 });
	assert_int_equal(r.found.fault,
			 HTTP_BROKEN); /* not a path: the host would be another one */
	http_client_free(c);
}

/* The client's process: the one of this name among the descendants. */
static void kill_client(void)
{
	auto_free char *command = xasprintf(
		"for g in $(pgrep -P %d); do pgrep -P $g -x http_client; done | xargs -r kill -9",
		getpid());

	assert_int_equal(system(command), 0);
}

static void a_request_is_lost_with_the_process_and_the_next_is_answered(void **state)
{
	struct http_client *c = start_client();
	const struct http_request silent = { .path = "/silent", .max_bytes = 900, .timeout_s = 50 };
	struct result lost = { 0 };

	assert_int_equal(
		ask(c, (struct http_request){ .path = "/echo", .max_bytes = 900 }).found.status,
		200);
	assert_int_equal(http_client_add(c, &silent, take_result, &lost), 0);
	http_client_step(c);
	kill_client();
	wait_for(c, &lost);
	assert_true(lost.is_lost);
	assert_int_equal(lost.found.status, 0);
	assert_int_equal(
		ask(c, (struct http_request){ .path = "/echo", .max_bytes = 900 }).found.status,
		200);
	http_client_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_has_the_server_s_credentials_and_the_body),
		cmocka_unit_test(files_are_posted_and_filled),
		cmocka_unit_test(an_answer_that_is_too_long_fails_or_is_cut),
		cmocka_unit_test(faults_have_their_kind_and_their_words),
		cmocka_unit_test(a_request_is_lost_with_the_process_and_the_next_is_answered),
	};

	return cmocka_run_group_tests(tests, start_server, stop_server);
}
