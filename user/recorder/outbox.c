/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that wait. */
#include "recorder/outbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

#define WAITING_MAX 256 /* more than an hour of slices is lost otherwise */

static void drop(struct outbox *o)
{
	vec_each(item, &o->waiting) {
		free(item->m);
		if (item->fd >= 0)
			close(item->fd);
	}
	vec_fini(&o->waiting);
}

void outbox_use(struct outbox *o, int sock)
{
	drop(o);
	if (o->sock >= 0)
		close(o->sock);
	o->sock = sock;
}

void outbox_add(struct outbox *o, const struct control_message *m, int fd)
{
	if (o->sock < 0) {
		if (fd >= 0)
			close(fd);
		return;
	}
	vec_push(&o->waiting, ((struct outbox_item){ xmemdup(m, sizeof(*m)), fd }));
	outbox_flush(o);
}

void outbox_offer(struct outbox *o, const struct control_message *m)
{
	if (o->sock >= 0 && !o->waiting.nr)
		channel_send(o->sock, m, -1);
}

int outbox_flush(struct outbox *o)
{
	size_t sent = 0;
	int err = 0;

	while (sent < o->waiting.nr) {
		struct outbox_item *item = &o->waiting.at[sent];
		err = channel_send(o->sock, item->m, item->fd);
		if (err)
			break;
		free(item->m);
		if (item->fd >= 0)
			close(item->fd);
		sent++;
	}
	o->waiting.nr -= sent;
	memmove(o->waiting.at, o->waiting.at + sent, o->waiting.nr * sizeof(o->waiting.at[0]));
	if (err == -EAGAIN && o->waiting.nr < WAITING_MAX)
		return 0;
	return err && err != -EPIPE ? -EOVERFLOW : err;
}

void outbox_fini(struct outbox *o)
{
	outbox_use(o, -1);
}
