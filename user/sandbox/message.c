/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of workers. */
#include "sandbox/message.h"

#include <errno.h>
#include <unistd.h>

#include "base/packet.h"

_Static_assert(WORKER_FDS_MAX == PACKET_FDS_MAX, "a packet carries a message's descriptors");

int message_send(int sock, const struct worker_message *m, const int *fds, size_t nr)
{
	return packet_send(sock, m, WORKER_MESSAGE_BYTES(m->len), fds, nr);
}

static bool is_message(const struct worker_message *m, size_t len)
{
	return len >= WORKER_MESSAGE_BYTES(0) && m->len <= WORKER_TEXT_MAX &&
	       len == WORKER_MESSAGE_BYTES(m->len);
}

int message_receive(int sock, struct worker_message *m, int fds[WORKER_FDS_MAX], size_t *nr)
{
	size_t len;
	int err = packet_receive(sock, m, sizeof(*m), &len, fds, nr);

	if (err || is_message(m, len))
		return err;
	for (size_t i = 0; i < *nr; i++)
		close(fds[i]);
	*nr = 0;
	return -EPROTO;
}
