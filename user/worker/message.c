/* SPDX-License-Identifier: Apache-2.0 */
/* Messages with descriptors over a socket: unix(7), SCM_RIGHTS. */
#include "worker/message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	struct cmsghdr head;
	char space[CMSG_SPACE(WORKER_FDS_MAX * sizeof(int))];
};

int message_send(int sock, const struct worker_message *m, const int *fds, size_t nr)
{
	union control control = { 0 };
	struct iovec iov = { (void *)m, WORKER_MESSAGE_BYTES(m->len) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (nr) {
		msg.msg_control = control.space;
		msg.msg_controllen = CMSG_SPACE(nr * sizeof(int));
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(nr * sizeof(int));
		memcpy(CMSG_DATA(&control.head), fds, nr * sizeof(int));
	}
	for (;;) {
		if (sendmsg(sock, &msg, MSG_NOSIGNAL) >= 0)
			return 0;
		if (errno != EINTR)
			return errno == ECONNRESET ? -EPIPE : -errno;
	}
}

/* Takes the descriptors out of the control data, all of them: those too many would stay open. */
static size_t take_fds(struct msghdr *msg, int fds[WORKER_FDS_MAX])
{
	size_t nr = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t here = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < here; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (nr < WORKER_FDS_MAX)
				fds[nr++] = fd;
			else
				close(fd);
		}
	}
	return nr;
}

static bool is_message(const struct worker_message *m, size_t len, int flags)
{
	return !(flags & (MSG_TRUNC | MSG_CTRUNC)) && len >= WORKER_MESSAGE_BYTES(0) &&
	       m->len <= WORKER_TEXT_MAX && len == WORKER_MESSAGE_BYTES(m->len);
}

int message_receive(int sock, struct worker_message *m, int fds[WORKER_FDS_MAX], size_t *nr)
{
	union control control = { 0 };
	struct iovec iov = { m, sizeof(*m) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.space,
			      .msg_controllen = sizeof(control.space) };
	ssize_t len;

	*nr = 0;
	while ((len = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
		;
	if (len <= 0)
		return !len || errno == ECONNRESET ? -EPIPE : -errno;
	*nr = take_fds(&msg, fds);
	if (is_message(m, (size_t)len, msg.msg_flags))
		return 0;
	for (size_t i = 0; i < *nr; i++)
		close(fds[i]);
	*nr = 0;
	return -EPROTO;
}
