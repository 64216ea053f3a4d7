/* SPDX-License-Identifier: Apache-2.0 */
/* A web process for tests, over real sockets; the test plays its recorder and its supervisor. */
#pragma once
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/str.h"
#include "base/time.h"
#include "daemon/channel/channel.h"
#include "daemon/channel/handover.h"
#include "web/web.h"

#define OPERATOR   "operator-token-of-at-least-32-bytes-7"
#define VIEWER     "viewer-token-of-at-least-32-bytes-77"
#define BEARER     "Authorization: Bearer " OPERATOR "\r\n"
#define LOOKER     "Authorization: Bearer " VIEWER "\r\n"
#define PATIENCE_S 60

/* A profile as collapsed stacks; 17 + 6 samples. */
#define COLLAPSED "main;work 17\nmain;rest 6\n"

struct world {
	char folder[64];
	struct sockaddr_in at;
	int supervisor, recorder; /* our ends */
	int dir;
	pid_t pid;
	char host[64];
};

struct answer {
	int status;
	char *head, *body;
	size_t len;
};

static inline void answer_fini(struct answer *a)
{
	free(a->head);
	*a = (struct answer){ 0 };
}
#define auto_answer __attribute__((cleanup(answer_fini)))

static inline int listen_here(struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t len = sizeof(*at);

	*at = (struct sockaddr_in){ .sin_family = AF_INET };
	at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)at, sizeof(*at)), 0);
	assert_int_equal(listen(fd, 64), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)at, &len), 0);
	return fd;
}

/* Of the web processes started from now on; 0: the usual limit. */
static u64 world_max_profile_bytes;

static inline void start_web(struct world *w, const char *prefix)
{
	int pair[2], fd = listen_here(&w->at);

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	snprintf(w->host, sizeof(w->host), "127.0.0.1:%d", ntohs(w->at.sin_port));
	w->pid = fork();
	if (!w->pid) {
		struct web_options o = {
			.site = { .listen_fd = fd,
				  .prefix = prefix,
				  .operator_token = OPERATOR,
				  .viewer_token = VIEWER,
				  .allowed_hosts = "profiles.example,other.example:7070" },
			.control_fd = pair[1],
			.dir = w->dir,
			.limits = { .max_disk_bytes = 1ull << 30 },
			.max_profile_bytes = world_max_profile_bytes,
		};
		close(pair[0]);
		int err = web_start_workers(&o);
		_exit(err ? 99 : web_run(&o));
	}
	close(fd);
	close(pair[1]);
	w->supervisor = pair[0];
}

static inline void send_recorder(struct world *w)
{
	struct control_message *m = xcalloc(1, sizeof(*m));
	int pair[2];

	assert_int_equal(handover_pair(pair), 0);
	assert_int_equal(handover_send(w->supervisor, pair[1]), 0);
	w->recorder = pair[0];

	m->kind = CONTROL_HELLO;
	m->hello.version = CONTROL_VERSION;
	assert_int_equal(channel_send(w->recorder, m, -1), 0);
	*m = (struct control_message){ .kind = CONTROL_CAPS };
	m->caps = (struct control_caps){ 999, 3600, 2, 4, "6.1.0" };
	assert_int_equal(channel_send(w->recorder, m, -1), 0);
	*m = (struct control_message){ .kind = CONTROL_EVENT };
	m->event = (struct control_event){ "cpu", "ns", "CPU time", "" };
	assert_int_equal(channel_send(w->recorder, m, -1), 0);
	free(m);
}

/* Waits for a message of a kind from the web process; others are dropped. */
static inline struct control_message *await(struct world *w, u32 kind)
{
	struct control_message *m = xcalloc(1, sizeof(*m));

	for (;;) {
		struct pollfd p = { w->recorder, POLLIN, 0 };
		assert_int_equal(poll(&p, 1, PATIENCE_S * 1000), 1);
		int fd = -1;
		assert_int_equal(channel_receive(w->recorder, m, &fd), 0);
		assert_int_equal(fd, -1);
		if (m->kind == kind)
			return m;
	}
}

static inline int connect_to(const struct world *w)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct timeval patience = { PATIENCE_S, 0 };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	assert_int_equal(connect(fd, (const struct sockaddr *)&w->at, sizeof(w->at)), 0);
	return fd;
}

static inline void write_all(int fd, const char *at, size_t nr)
{
	while (nr) {
		ssize_t done = send(fd, at, nr, MSG_NOSIGNAL);
		if (done <= 0)
			return; /* refused before its end: the answer says why */
		at += done;
		nr -= (size_t)done;
	}
}

static inline void send_request(int fd, const struct world *w, const char *what,
				const char *headers, const void *body, size_t len)
{
	auto_str struct str s = { 0 };

	str_addf(&s, "%s HTTP/1.1\r\n%s", what, headers);
	if (!strstr(headers, "Host: "))
		str_addf(&s, "Host: %s\r\n", w->host);
	if (body)
		str_addf(&s, "Content-Length: %zu\r\n", len);
	str_add(&s, "Connection: close\r\n\r\n");
	write_all(fd, s.at, s.len);
	write_all(fd, body ?: "", body ? len : 0);
}

static inline void read_answer(int fd, struct answer *a)
{
	struct str s = { 0 };
	char chunk[16384];
	ssize_t nr;

	while ((nr = recv(fd, chunk, sizeof(chunk), 0)) > 0)
		str_add_bytes(&s, chunk, (size_t)nr);
	assert_non_null(s.at);
	size_t len = s.len;
	*a = (struct answer){ .head = str_take(&s) };
	a->body = strstr(a->head, "\r\n\r\n");
	assert_non_null(a->body);
	*a->body = '\0';
	a->body += 4;
	a->len = len - (size_t)(a->body - a->head);
	assert_int_equal(sscanf(a->head, "HTTP/1.1 %d", &a->status), 1);
}

static inline void ask_with(const struct world *w, const char *what, const char *headers,
			    const void *body, size_t len, struct answer *a)
{
	auto_close int fd = connect_to(w);

	answer_fini(a);
	send_request(fd, w, what, headers, body, len);
	read_answer(fd, a);
}

static inline void ask(const struct world *w, const char *what, const char *headers,
		       struct answer *a)
{
	ask_with(w, what, headers, NULL, 0, a);
}

static inline int status_of(const struct world *w, const char *what, const char *headers)
{
	auto_answer struct answer a = { 0 };

	ask_with(w, what, headers, !strncmp(what, "POST", 4) ? "" : NULL, 0, &a);
	return a.status;
}

static inline json_t *json_of(const struct answer *a)
{
	json_t *o = json_loadb(a->body, a->len, 0, NULL);

	assert_non_null(o);
	return o;
}

/* Posts JSON as the operator; returns the type of the error, or "" (for the caller to free). */
static inline char *post(const struct world *w, const char *path, const char *json,
			 struct answer *a)
{
	auto_free char *what = xasprintf("POST %s", path);

	ask_with(w, what, BEARER, json, strlen(json), a);
	json_t *o = json_of(a);
	const char *type = json_string_value(json_object_get(json_object_get(o, "error"), "type"));
	char *copy = xstrdup(type ?: "");
	json_decref(o);
	return copy;
}

static inline json_int_t number_in(const struct answer *a, const char *field)
{
	json_t *o = json_of(a);
	json_int_t nr = json_integer_value(json_object_get(o, field));

	json_decref(o);
	return nr;
}

/* Asks until `text` is in the answer. */
static inline void await_text(const struct world *w, const char *what, const char *text,
			      struct answer *a)
{
	u64 end = time_mono_ns() + PATIENCE_S * NS_PER_SEC;

	do {
		ask(w, what, BEARER, a);
		if (strstr(a->body, text))
			return;
		usleep(50000);
	} while (time_mono_ns() < end);
	fail_msg("%s has no %s: %s", what, text, a->body);
}

static inline int make_world(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));

	strcpy(w->folder, "/tmp/test_web.XXXXXX");
	assert_non_null(mkdtemp(w->folder));
	w->dir = open(w->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	start_web(w, "");
	send_recorder(w);
	*state = w;
	auto_answer struct answer a = { 0 };
	await_text(w, "GET /api/v1/events", "CPU time", &a);
	return 0;
}

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static inline int stop_web(struct world *w)
{
	int status;

	close(w->supervisor);
	close(w->recorder);
	assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static inline int end_world(void **state)
{
	struct world *w = *state;
	int status = stop_web(w);

	close(w->dir);
	nftw(w->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(w);
	assert_int_equal(status, 0);
	return 0;
}

#define IN_A_WORLD(f) cmocka_unit_test_setup_teardown(f, make_world, end_world)
