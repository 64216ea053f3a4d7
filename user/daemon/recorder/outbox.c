/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that wait. */
#include "daemon/recorder/outbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"

#define WAITING_MAX 256 /* enough for more than half an hour of slices */

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

static void redact_reading(const struct redaction *r, struct control_reading *reading)
{
	for (u32 i = 0; i < reading->nr; i++) {
		struct control_reading_jvm *j = &reading->at[i];
		redaction_field(r, j->name, sizeof(j->name));
		redaction_field(r, j->container, sizeof(j->container));
		for (u32 k = 0; k < j->nr_methods; k++)
			redaction_field(r, j->methods[k].name, sizeof(j->methods[k].name));
	}
}

/* Profiles are redacted before they are encoded (redaction_profile). */
static struct control_message *redacted(const struct outbox *o, const struct control_message *m)
{
	const struct redaction *r = o->redaction;
	struct control_message *own = xmemdup(m, sizeof(*m));

	switch (own->kind) {
	case CONTROL_JVMS:
		for (u32 i = 0; i < own->jvms.nr; i++) {
			struct control_jvm *j = &own->jvms.at[i];
			redaction_field(r, j->service, sizeof(j->service));
			redaction_field(r, j->main, sizeof(j->main));
			redaction_field(r, j->container, sizeof(j->container));
			redaction_field(r, j->container_name, sizeof(j->container_name));
		}
		break;
	case CONTROL_CRASHED:
		redaction_field(r, own->crashed.service, sizeof(own->crashed.service));
		redaction_field(r, own->crashed.container, sizeof(own->crashed.container));
		redaction_field(r, own->crashed.container_name,
				sizeof(own->crashed.container_name));
		redaction_field(r, own->crashed.pod, sizeof(own->crashed.pod));
		redaction_field(r, own->crashed.namespace, sizeof(own->crashed.namespace));
		break;
	case CONTROL_READING:
		redact_reading(r, &own->reading);
		break;
	case CONTROL_NODE:
		for (u32 i = 0; i < own->node.nr_excluded; i++)
			redaction_field(r, own->node.excluded[i].comm,
					sizeof(own->node.excluded[i].comm));
		break;
	case CONTROL_STATE:
		redaction_field(r, own->state.refusals, sizeof(own->state.refusals));
		redaction_field(r, own->state.event, sizeof(own->state.event));
		break;
	case CONTROL_ENDED:
		redaction_field(r, own->ended.why, sizeof(own->ended.why));
		break;
	default: /* others have no names of processes, or had them replaced with their profile's */
		break;
	}
	return own;
}

void outbox_add(struct outbox *o, const struct control_message *m, int fd)
{
	if (o->sock < 0) {
		if (fd >= 0)
			close(fd);
		return;
	}
	vec_push(&o->waiting, ((struct outbox_item){ redacted(o, m), fd }));
	outbox_flush(o);
}

void outbox_offer(struct outbox *o, const struct control_message *m)
{
	if (o->sock < 0 || o->waiting.nr)
		return;
	auto_free struct control_message *own = redacted(o, m);
	channel_send(o->sock, own, -1);
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
