/* SPDX-License-Identifier: Apache-2.0 */
/* The connection to NATS as its user sees it. */
#include "fleet/wire/link.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/build.h"
#include "base/log.h"
#include "base/packet.h"
#include "base/str.h"
#include "base/time.h"
#include "fleet/wire/bus.h"
#include "sandbox/rights.h"

#define FLUSH_NS (2 * NS_PER_SEC)
#define POLL_MS  100

struct link {
	int sock;
	char *subjects[LINK_SUBJECTS_MAX];
	u32 nr_subjects;
	struct str out;
	struct bus_parts parts; /* of `packet` */
	u8 *packet;             /* LINK_PACKET_MAX and a NUL */
};

static int run_bus(int sock, const void *ctx)
{
	return bus_run(sock, ctx);
}

int link_start(const struct link_options *o, struct link **out)
{
	int sock;

	if (build_is_static()) {
		log_error("this static binary has no client of NATS; install sysflame with its "
			  "libraries");
		return -ENOTSUP;
	}
	int err = guarded_start(run_bus, o, &sock);
	if (err)
		return err;
	struct link *l = xcalloc(1, sizeof(*l));
	l->sock = sock;
	l->packet = xmalloc(LINK_PACKET_MAX + 1);
	*out = l;
	return 0;
}

void link_free(struct link *l)
{
	if (!l)
		return;
	close(l->sock);
	for (u32 i = 0; i < l->nr_subjects; i++)
		free(l->subjects[i]);
	str_fini(&l->out);
	free(l->packet);
	free(l);
}

int link_fd(const struct link *l)
{
	return l->sock;
}

static int put(struct link *l, enum bus_packet_kind kind, const char *subject, const char *reply,
	       const void *bytes, size_t len)
{
	int err = bus_pack(kind, subject, reply, bytes, len, &l->out);

	return err ?: packet_send(l->sock, l->out.at, l->out.len, NULL, 0);
}

int link_publish(struct link *l, const char *subject, const char *reply, const void *bytes,
		 size_t len)
{
	return put(l, BUS_PUBLISH, subject, reply, bytes, len);
}

int link_subscribe(struct link *l, const char *subject)
{
	if (l->nr_subjects == LINK_SUBJECTS_MAX || strlen(subject) >= LINK_SUBJECT_MAX)
		return -E2BIG;
	l->subjects[l->nr_subjects++] = xstrdup(subject);
	return put(l, BUS_SUBSCRIBE, subject, "", "", 0);
}

/*
 * Sends all subjects to a process that was started anew, which knows none. A process that already
 * has a subject ignores its repetition.
 */
static void repeat_subjects(struct link *l)
{
	for (u32 i = 0; i < l->nr_subjects; i++)
		put(l, BUS_SUBSCRIBE, l->subjects[i], "", "", 0);
}

static bool take_packet(struct link *l, size_t nr, struct link_event *out)
{
	static const u8 kinds[] = {
		/* and 1; 0: no event */
		[BUS_MESSAGE] = LINK_MESSAGE + 1, [BUS_UP] = LINK_UP + 1,
		[BUS_DOWN] = LINK_DOWN + 1,       [BUS_FAULT] = LINK_FAULT + 1,
		[BUS_STORED] = LINK_STORED + 1,   [BUS_STORED_END] = LINK_STORED_END + 1,
	};
	const struct bus_parts *p = &l->parts;

	l->packet[nr] = '\0';
	if (!bus_unpack(l->packet, nr, &l->parts))
		return false;
	*out = (struct link_event){ .subject = p->subject,
				    .reply = p->reply,
				    .text = (const char *)p->bytes,
				    .bytes = p->bytes,
				    .len = p->len };
	if (p->kind == BUS_STARTED)
		repeat_subjects(l);
	if (p->kind >= ARRAY_SIZE(kinds) || !kinds[p->kind])
		return false;
	out->kind = (enum link_event_kind)(kinds[p->kind] - 1);
	return true;
}

static int receive_packet(struct link *l, size_t *nr)
{
	int fds[PACKET_FDS_MAX];
	size_t nr_fds;
	int err = packet_receive(l->sock, l->packet, LINK_PACKET_MAX, nr, fds, &nr_fds);

	for (size_t i = 0; !err && i < nr_fds; i++)
		close(fds[i]);
	return err;
}

int link_receive(struct link *l, struct link_event *out)
{
	size_t nr;

	for (;;) {
		int err = receive_packet(l, &nr);
		if (err)
			return err;
		if (take_packet(l, nr, out))
			return 0;
	}
}

void link_flush(struct link *l)
{
	struct pollfd polled = { l->sock, POLLIN, 0 };
	u64 until = time_mono_ns() + FLUSH_NS;
	size_t nr;
	int err = put(l, BUS_FLUSH, "", "", "", 0);

	while (!err && time_mono_ns() < until) {
		poll(&polled, 1, POLL_MS);
		err = receive_packet(l, &nr);
		if (!err && nr && l->packet[0] == BUS_FLUSH)
			return;
		if (err == -EAGAIN)
			err = 0;
	}
}

int link_read_stream(struct link *l, enum link_stream stream, u32 max, bool creates)
{
	const struct bus_read ask = { stream, max, creates };

	return put(l, BUS_STORED, "", "", &ask, sizeof(ask));
}

const char *link_seen_node(const struct link_event *e)
{
	size_t len = strlen(STREAM_SEEN);

	return e->kind == LINK_STORED && !strncmp(e->subject, STREAM_SEEN, len) ? e->subject + len
										: NULL;
}
