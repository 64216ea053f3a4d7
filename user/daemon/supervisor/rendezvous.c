/* SPDX-License-Identifier: Apache-2.0 */
/* The socket by which a recorder and a web process with separate supervisors find each other. */
#include "daemon/supervisor/rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/time.h"

#define RETRY_NS NS_PER_SEC

struct rendezvous {
	struct sockaddr_un at;
	bool listens;
	int fd; /* the listening socket; the web process's side: a copy of the connection, or -1 */
	uid_t uid; /* user who may connect, besides root and our own user */
	u64 tried_ns;
};

static int begin(const char *path, struct rendezvous **out, struct str *why)
{
	struct rendezvous *m = xcalloc(1, sizeof(*m));

	m->fd = -1;
	m->at.sun_family = AF_UNIX;
	if (*path == '/' && strlen(path) < sizeof(m->at.sun_path)) {
		strcpy(m->at.sun_path, path);
		*out = m;
		return 0;
	}
	str_addf(why, "takes an absolute path of at most %zu bytes", sizeof(m->at.sun_path) - 1);
	free(m);
	return -EINVAL;
}

static int new_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

/* Removes a socket on which nobody listens: a killed recorder has left it. */
static void remove_stale(const struct rendezvous *m)
{
	auto_close int fd = new_socket();
	struct stat st;

	if (fd >= 0 && !lstat(m->at.sun_path, &st) && S_ISSOCK(st.st_mode) &&
	    connect(fd, (const struct sockaddr *)&m->at, sizeof(m->at)) && errno == ECONNREFUSED)
		unlink(m->at.sun_path);
}

int rendezvous_listen(const char *path, uid_t uid, struct rendezvous **out, struct str *why)
{
	struct rendezvous *m;
	int err = begin(path, &m, why);

	if (err)
		return err;
	m->listens = true;
	m->uid = uid;
	remove_stale(m);
	m->fd = new_socket();
	/*
	 * The socket's mode lets the web process's user connect; rendezvous_accept checks the user.
	 */
	if (m->fd < 0 || bind(m->fd, (struct sockaddr *)&m->at, sizeof(m->at)) ||
	    chmod(path, 0666) || listen(m->fd, 4)) {
		err = -errno;
		str_add(why, strerror(errno));
		if (m->fd >= 0)
			close(m->fd);
		free(m);
		return err;
	}
	*out = m;
	return 0;
}

int rendezvous_new(const char *path, struct rendezvous **out, struct str *why)
{
	return begin(path, out, why);
}

void rendezvous_free(struct rendezvous *m)
{
	if (!m)
		return;
	if (m->listens)
		unlink(m->at.sun_path);
	if (m->fd >= 0)
		close(m->fd);
	free(m);
}

void rendezvous_close(struct rendezvous *m)
{
	if (m->fd >= 0)
		close(take_fd(m->fd));
}

/* Whether the process at the other end is one that we expect. */
static bool is_known(const struct rendezvous *m, int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return false;
	if (!peer.uid || peer.uid == geteuid() || (m->listens && peer.uid == m->uid))
		return true;
	log_warn("%s: a process of user %u is at the other end; the connection is closed",
		 m->at.sun_path, peer.uid);
	return false;
}

static bool has_ended(int fd)
{
	struct pollfd p = { .fd = fd };

	return poll(&p, 1, 0) == 1 && p.revents & (POLLHUP | POLLERR);
}

void rendezvous_drop(struct rendezvous *m)
{
	if (!m->listens && m->fd >= 0)
		close(take_fd(m->fd));
}

static int accept_one(struct rendezvous *m)
{
	auto_close int fd = accept4(m->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	return fd >= 0 && is_known(m, fd) ? take_fd(fd) : -EAGAIN;
}

int rendezvous_accept(struct rendezvous *m)
{
	u64 now_ns = time_mono_ns();

	if (m->listens)
		return accept_one(m);
	if (m->fd >= 0 && !has_ended(m->fd))
		return -EAGAIN;
	rendezvous_drop(m);
	if (m->tried_ns && now_ns - m->tried_ns < RETRY_NS)
		return -EAGAIN;
	m->tried_ns = now_ns;
	auto_close int fd = new_socket();
	if (fd < 0 || connect(fd, (struct sockaddr *)&m->at, sizeof(m->at)) || !is_known(m, fd))
		return -EAGAIN;
	m->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return take_fd(fd);
}
