/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the HTTP API of daemons, as their user sees them. */
#include "fleet/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/build.h"
#include "base/memfile.h"
#include "base/packet.h"
#include "base/time.h"
#include "base/utf8.h"
#include "fleet/fetch_packet.h"
#include "proc/guarded.h"

#define GRACE_NS (10 * NS_PER_SEC) /* beyond a request's own limit */

struct open_fetch {
	u32 number;
	int fd; /* -1: it waits */
	u64 until_ns;
	struct fetch_order order;
	fetched_fn done;
	void *ctx;
};

struct fetcher {
	int sock;
	u32 last_number, nr_sent;
	VEC(struct open_fetch *) all; /* in the order in which they came */
};

static void open_free(struct open_fetch *o)
{
	if (o->fd >= 0)
		close(o->fd);
	free(o);
}

int fetcher_start(const struct http_entries *nodes, struct fetcher **out)
{
	int sock, err = build_is_static() ? -ENOTSUP : guarded_start(fetch_run, nodes, &sock);

	if (err)
		return err;
	struct fetcher *f = xcalloc(1, sizeof(*f));
	f->sock = sock;
	*out = f;
	return 0;
}

void fetcher_free(struct fetcher *f)
{
	if (!f)
		return;
	close(f->sock);
	vec_each(o, &f->all)
		open_free(*o);
	vec_fini(&f->all);
	free(f);
}

int fetcher_fd(const struct fetcher *f)
{
	return f->sock;
}

int fetcher_add(struct fetcher *f, const struct fetch_request *r, fetched_fn done, void *ctx)
{
	if (strlen(r->path) >= FETCH_PATH_MAX || (r->body && strlen(r->body) >= FETCH_BODY_MAX))
		return -E2BIG;
	struct open_fetch *o = xcalloc(1, sizeof(*o));
	o->number = o->order.number = ++f->last_number;
	o->fd = -1;
	o->done = done;
	o->ctx = ctx;
	o->order.node = r->node;
	o->order.max_bytes = r->max_bytes;
	o->order.timeout_s = r->timeout_s;
	o->order.is_post = r->body != NULL;
	copy_text(o->order.path, sizeof(o->order.path), r->path);
	copy_text(o->order.body, sizeof(o->order.body), r->body ?: "");
	vec_push(&f->all, o);
	return 0;
}

/* Removes it, calls back, and frees it. */
static void finish(struct fetcher *f, struct open_fetch *o, u32 status, u32 len, const char *why)
{
	auto_str struct str clean = { 0 };
	auto_free char *bytes = NULL;
	size_t kept = 0;

	vec_each(one, &f->all)
		if (*one != o)
			f->all.at[kept++] = *one;
	f->all.nr = kept;
	f->nr_sent -= o->fd >= 0;
	len = len <= o->order.max_bytes ? len : 0;
	bytes = xcalloc(len + 1u, 1);
	if (len && pread(o->fd, bytes, len, 0) != (ssize_t)len) {
		status = len = 0;
		why = "its answer could not be kept";
	}
	utf8_clean(&clean, why, 200);
	const struct fetched result = { status, clean.at ?: "", bytes, len };
	o->done(o->ctx, &result);
	open_free(o);
}

static struct open_fetch *find(const struct fetcher *f, u32 number)
{
	vec_each(o, &f->all)
		if ((*o)->number == number && (*o)->fd >= 0)
			return *o;
	return NULL;
}

static void take_answers(struct fetcher *f)
{
	struct fetch_event e;
	int fds[PACKET_FDS_MAX];
	size_t nr, nr_fds;

	while (!packet_receive(f->sock, &e, sizeof(e), &nr, fds, &nr_fds)) {
		for (size_t i = 0; i < nr_fds; i++)
			close(fds[i]);
		e.why[sizeof(e.why) - 1] = '\0';
		struct open_fetch *o = nr == sizeof(e) ? find(f, e.number) : NULL;
		if (o)
			finish(f, o, e.status, e.len, e.why);
	}
}

static void send_more(struct fetcher *f)
{
	for (size_t i = 0; i < f->all.nr && f->nr_sent < FETCH_OPEN_MAX; i++) {
		struct open_fetch *o = f->all.at[i];
		if (o->fd >= 0)
			continue;
		int fd = memfile_new("fetched");
		if (fd < 0 || packet_send(f->sock, &o->order, sizeof(o->order), &fd, 1)) {
			if (fd >= 0)
				close(fd);
			return; /* it is tried again */
		}
		o->fd = fd;
		o->until_ns = time_mono_ns() + o->order.timeout_s * NS_PER_SEC + GRACE_NS;
		f->nr_sent++;
	}
}

static struct open_fetch *find_late(const struct fetcher *f, u64 now_ns)
{
	vec_each(o, &f->all)
		if ((*o)->fd >= 0 && now_ns > (*o)->until_ns)
			return *o;
	return NULL;
}

void fetcher_step(struct fetcher *f)
{
	struct open_fetch *late;

	take_answers(f);
	while ((late = find_late(f, time_mono_ns())))
		finish(f, late, 0, 0, "the process that asks nodes has ended");
	send_more(f);
}
