/* SPDX-License-Identifier: Apache-2.0 */
/* Asks container runtimes about a container, by plain HTTP on their sockets. */
#include "proc/runtime_socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"

#define SOCKET_NS (200 * NS_PER_MS)

struct runtime {
	const char *path;   /* NULL: the configured path */
	const char *behind; /* the text after the id in the URL */
};

static const struct runtime runtimes[NR_RUNTIME_SOCKETS] = {
	[SOCKET_DOCKER] = { "/run/docker.sock", "/json" },
	[SOCKET_DOCKER_ELSEWHERE] = { NULL, "/json" },
	[SOCKET_CRIO] = { "/run/crio/crio.sock", "" },
};

int runtime_socket_find(const char *root, const struct runtime_config *config,
			enum runtime_socket which, char **path)
{
	const char *name = runtimes[which].path ?: config->docker_socket;
	auto_free char *whole = xasprintf("%s%s", root, name ?: "");
	struct stat st;

	if (!name)
		return -ENOENT;
	if (stat(whole, &st))
		return -errno;
	if (!S_ISSOCK(st.st_mode) || (st.st_uid && st.st_uid != geteuid()))
		return -ENOENT;
	*path = take(whole);
	return 0;
}

/* Sets the time left until `until_ns` as timeout. A timeout of 0 would mean to wait forever. */
static int set_patience(int fd, int option, u64 until_ns)
{
	u64 now = time_mono_ns();
	struct timeval left = { .tv_usec = now < until_ns ? (long)(until_ns - now) / 1000 + 1 : 0 };

	if (!left.tv_usec)
		return -EAGAIN;
	return setsockopt(fd, SOL_SOCKET, option, &left, sizeof(left)) ? -errno : 0;
}

static int connect_to(const char *path, u64 until_ns)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	copy_text(address.sun_path, sizeof(address.sun_path), path);
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	int err = set_patience(fd, SO_SNDTIMEO, until_ns);
	if (err)
		return err;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return -errno;
	return take_fd(fd);
}

static int receive_all(int fd, u64 until_ns, struct str *out)
{
	char part[4096];

	while (out->len < RUNTIME_ANSWER_MAX) {
		int err = set_patience(fd, SO_RCVTIMEO, until_ns);
		if (err)
			return err;
		ssize_t got = recv(fd, part, sizeof(part), 0);
		if (got <= 0)
			return got ? -errno : 0;
		str_add_bytes(out, part, (size_t)got);
	}
	return 0;
}

/* HTTP/1.0: the answer is one piece and ends with the connection. */
static int exchange(int fd, const struct runtime *runtime, const char *id, u64 until_ns,
		    struct str *text)
{
	str_addf(text, "GET /containers/%s%s HTTP/1.0\r\nHost: sysflame\r\n\r\n", id,
		 runtime->behind);
	if (send(fd, text->at, text->len, MSG_NOSIGNAL) != (ssize_t)text->len)
		return -errno;
	str_clear(text);
	return receive_all(fd, until_ns, text);
}

int runtime_socket_ask(const char *root, const struct runtime_config *config,
		       enum runtime_socket which, const char *id, struct str *out)
{
	const u64 until_ns = time_mono_ns() + SOCKET_NS;
	auto_free char *path = NULL;
	auto_str struct str text = { 0 };
	int err = runtime_socket_find(root, config, which, &path);

	if (err)
		return err;
	auto_close int fd = connect_to(path, until_ns);
	err = fd < 0 ? fd : exchange(fd, &runtimes[which], id, until_ns, &text);
	const char *body = !err && text.at ? strstr(text.at, "\r\n\r\n") : NULL;
	if (body && strstr(text.at, " 200 "))
		str_add_bytes(out, body, text.len - (size_t)(body - text.at));
	return err;
}
