/* SPDX-License-Identifier: Apache-2.0 */
/* Packets with descriptors. */
#include "base/packet.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	struct cmsghdr head;
	char space[CMSG_SPACE(PACKET_FDS_MAX * sizeof(int))];
};

int packet_send(int sock, const void *bytes, size_t len, const int *fds, size_t nr)
{
	union control control = { 0 };
	struct iovec iov = { (void *)bytes, len };
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

/*
 * Takes all descriptors out of the control data, also those beyond the limit, because they would
 * stay open otherwise.
 */
static size_t take_fds(struct msghdr *msg, int fds[PACKET_FDS_MAX])
{
	size_t nr = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t here = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < here; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (nr < PACKET_FDS_MAX)
				fds[nr++] = fd;
			else
				close(fd);
		}
	}
	return nr;
}

int packet_receive(int sock, void *bytes, size_t size, size_t *len, int fds[PACKET_FDS_MAX],
		   size_t *nr)
{
	union control control = { 0 };
	struct iovec iov = { bytes, size };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.space,
			      .msg_controllen = sizeof(control.space) };
	ssize_t got;

	*nr = *len = 0;
	while ((got = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
		;
	if (got <= 0)
		return !got || errno == ECONNRESET ? -EPIPE : -errno;
	*nr = take_fds(&msg, fds);
	*len = (size_t)got;
	if (!(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return 0;
	for (size_t i = 0; i < *nr; i++)
		close(fds[i]);
	*nr = 0;
	return -EPROTO;
}
