/* SPDX-License-Identifier: Apache-2.0 */
/* Hands a channel over. */
#include "daemon/channel/handover.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/packet.h"

#define BUFFER_BYTES (1 << 20) /* room for some 30 of the largest messages */
#define ASKS_MAX     64

int handover_pair(int ends[2])
{
	const int bytes = BUFFER_BYTES;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
		return -errno;
	for (int i = 0; i < 2; i++) /* a smaller buffer is only slower */
		setsockopt(ends[i], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	return 0;
}

static int send_kind(int sock, enum handover kind, int fd)
{
	const char byte = (char)kind;
	int err = packet_send(sock, &byte, 1, &fd, 1);

	close(fd);
	return err;
}

int handover_send(int sock, int end)
{
	return send_kind(sock, HANDOVER_CHANNEL, end);
}

int handover_send_tls(int sock, const char *cert, const char *key)
{
	int fd = memfile_new("sysflame-tls");
	int err = fd < 0 ? fd
			 : file_write_all(fd, cert, strlen(cert) + 1)
				   ?: file_write_all(fd, key, strlen(key) + 1);

	if (!err && lseek(fd, 0, SEEK_SET))
		err = -errno;
	if (!err)
		return send_kind(sock, HANDOVER_TLS, fd);
	if (fd >= 0)
		close(fd);
	return err;
}

int handover_receive(int sock, enum handover *kind)
{
	int fds[PACKET_FDS_MAX];
	size_t len, nr;
	char byte;
	int err = packet_receive(sock, &byte, 1, &len, fds, &nr);

	if (err)
		return err;
	for (size_t i = 1; i < nr; i++)
		close(fds[i]);
	if (!nr)
		return -EAGAIN;
	if (kind)
		*kind = (enum handover)byte;
	else if (byte != HANDOVER_CHANNEL) {
		close(fds[0]);
		return -EAGAIN;
	}
	return fds[0];
}

void handover_ask(int sock)
{
	/* a full socket already has requests, so this one is not needed */
	packet_send(sock, "", 1, NULL, 0);
}

bool handover_is_asked(int sock)
{
	bool is_asked = false;
	char byte;

	for (int i = 0; i < ASKS_MAX && recv(sock, &byte, 1, MSG_DONTWAIT | MSG_TRUNC) > 0; i++)
		is_asked = true;
	return is_asked;
}
