/* SPDX-License-Identifier: Apache-2.0 */
/* Hands a channel over. */
#include "control/handover.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/packet.h"

#define BUFFER_BYTES (1 << 20) /* some 30 of the largest messages */
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

int handover_send(int sock, int end)
{
	int err = packet_send(sock, "", 1, &end, 1);

	close(end);
	return err;
}

int handover_receive(int sock)
{
	int fds[PACKET_FDS_MAX];
	size_t len, nr;
	char byte;
	int err = packet_receive(sock, &byte, 1, &len, fds, &nr);

	if (err)
		return err;
	for (size_t i = 1; i < nr; i++)
		close(fds[i]);
	return nr ? fds[0] : -EAGAIN;
}

void handover_ask(int sock)
{
	packet_send(sock, "", 1, NULL, 0); /* if it is full, others wait there */
}

bool handover_is_asked(int sock)
{
	bool is_asked = false;
	char byte;

	for (int i = 0; i < ASKS_MAX && recv(sock, &byte, 1, MSG_DONTWAIT | MSG_TRUNC) > 0; i++)
		is_asked = true;
	return is_asked;
}
