/* SPDX-License-Identifier: Apache-2.0 */
/* The channel to the recorder. */
#include "web/recordings/recorder_link.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/str.h"
#include "base/time.h"
#include "daemon/channel/channel.h"

#define EVENTS_MAX       4096
#define JVMS_MAX         16384
#define READING_JVMS_MAX 4096
#define READING_NS       (5 * NS_PER_SEC) /* an older reading says nothing about now */
#define WATCH_NS         NS_PER_SEC       /* between two requests for readings */
/* after a longer pause between reports, its CPU time is not counted */
#define SILENT_NS (5 * NS_PER_SEC)

void recorder_link_init(struct recorder_link *r)
{
	*r = (struct recorder_link){ .sock = -1, .since_wall_ns = time_wall_ns() };
	r->message = xcalloc(1, sizeof(*r->message));
}

static void free_reading(struct reading *r)
{
	if (!r)
		return;
	vec_fini(&r->jvms);
	free(r);
}

void recorder_link_detach(struct recorder_link *r)
{
	if (r->sock >= 0)
		close(take_fd(r->sock));
	if (r->is_up)
		r->since_wall_ns = time_wall_ns();
	r->is_up = false;
	r->has_node = r->is_ending = false;
	r->jvms.nr = r->arriving.nr = 0;
	free_reading(take(r->reading));
	free_reading(take(r->arriving_reading));
	r->watched_wall_ns = 0;
}

void recorder_link_count_loss(struct recorder_link *r)
{
	if (!r->is_up)
		return;
	r->losses.nr++;
	r->losses.wall_ns = time_wall_ns();
	if (!r->is_ending)
		copy_text(r->losses.why, sizeof(r->losses.why),
			  "The recorder ended by itself or was killed; the daemon's log says how.");
}

void recorder_link_fini(struct recorder_link *r)
{
	recorder_link_detach(r);
	vec_fini(&r->events);
	vec_fini(&r->jvms);
	vec_fini(&r->arriving);
	free(r->message);
}

void recorder_link_attach(struct recorder_link *r, int sock)
{
	struct control_message *hello = r->message;

	recorder_link_detach(r);
	fcntl(sock, F_SETFL, O_NONBLOCK);
	r->sock = sock;
	r->is_other = false;
	r->events.nr = 0;
	*hello = (struct control_message){ .kind = CONTROL_HELLO };
	hello->hello.version = CONTROL_VERSION;
	recorder_link_send(r, hello);
}

int recorder_link_send(struct recorder_link *r, const struct control_message *m)
{
	return r->sock < 0 ? -EPIPE : channel_send(r->sock, m, -1);
}

static int take_hello(struct recorder_link *r)
{
	r->is_other = r->message->hello.version != CONTROL_VERSION;
	return r->is_other ? -EPROTO : 0;
}

static void take_caps(struct recorder_link *r)
{
	r->caps = r->message->caps;
	/* the events follow in messages of their own, also after the limits were read again */
	r->events.nr = 0;
	if (r->is_up)
		return;
	r->is_up = true;
	r->since_wall_ns = time_wall_ns();
}

static void take_event(struct recorder_link *r)
{
	if (r->events.nr < EVENTS_MAX)
		vec_push(&r->events, r->message->event);
}

static void take_node(struct recorder_link *r)
{
	u64 now = time_wall_ns(), since = now - r->heard_wall_ns;

	r->node = r->message->node;
	if (r->has_node && now > r->heard_wall_ns && since < SILENT_NS)
		r->cpu_ns += since / 1000 * r->node.cpu_ppm / 1000;
	r->has_node = true;
	r->heard_wall_ns = now;
}

static void take_jvms(struct recorder_link *r)
{
	const struct control_jvms *m = &r->message->jvms;

	if (m->first)
		r->arriving.nr = 0;
	for (u32 i = 0; i < m->nr && r->arriving.nr < JVMS_MAX; i++)
		vec_push(&r->arriving, m->at[i]);
	if (!m->last)
		return;
	typeof(r->jvms) old = r->jvms;
	r->jvms.at = r->arriving.at;
	r->jvms.nr = r->arriving.nr;
	r->jvms.cap = r->arriving.cap;
	r->arriving.at = old.at;
	r->arriving.cap = old.cap;
	r->arriving.nr = 0;
}

static void take_reading(struct recorder_link *r)
{
	const struct control_reading *m = &r->message->reading;

	if (m->first) {
		free_reading(r->arriving_reading);
		r->arriving_reading = xcalloc(1, sizeof(*r->arriving_reading));
		r->arriving_reading->node = *m;
	}
	struct reading *arriving = r->arriving_reading;
	if (!arriving)
		return;
	for (u32 i = 0; i < m->nr && arriving->jvms.nr < READING_JVMS_MAX; i++)
		vec_push(&arriving->jvms, m->at[i]);
	if (!m->last)
		return;
	free_reading(r->reading);
	r->reading = take(r->arriving_reading);
}

void recorder_link_watch(struct recorder_link *r)
{
	u64 now = time_wall_ns();
	bool is_old = r->reading && now - r->reading->node.wall_ns > READING_NS;

	if (is_old)
		free_reading(take(r->reading));
	if (r->sock < 0 || now - r->watched_wall_ns < WATCH_NS)
		return;
	*r->message = (struct control_message){ .kind = CONTROL_WATCH };
	if (!recorder_link_send(r, r->message))
		r->watched_wall_ns = now;
}

/* The recordings end as usual. */
static void take_restart(struct recorder_link *r)
{
	if (!r->is_ending)
		r->losses.nr_by_helper[r->message->restart.helper]++;
	r->is_ending = true;
	copy_text(r->losses.why, sizeof(r->losses.why), r->message->restart.why);
}

int recorder_link_receive(struct recorder_link *r, int *fd)
{
	if (r->sock < 0)
		return -EAGAIN;
	*fd = -1;
	int err = channel_receive(r->sock, r->message, fd);
	if (err)
		return err;
	switch (r->message->kind) {
	case CONTROL_HELLO:
		return take_hello(r);
	case CONTROL_CAPS:
		take_caps(r);
		return 0;
	case CONTROL_EVENT:
		take_event(r);
		return 0;
	case CONTROL_NODE:
		take_node(r);
		return 0;
	case CONTROL_JVMS:
		take_jvms(r);
		return 0;
	case CONTROL_READING:
		take_reading(r);
		return 0;
	case CONTROL_RESTART:
		take_restart(r);
		return 0;
	default:
		return 1;
	}
}
