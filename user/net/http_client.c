/* SPDX-License-Identifier: Apache-2.0 */
/* Queues requests and hands them to the process that makes them. */
#include "net/http_client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/build.h"
#include "base/file.h"
#include "base/packet.h"
#include "base/str.h"
#include "base/time.h"
#include "base/vec.h"
#include "sandbox/rights.h"

#define GRACE_NS (10 * NS_PER_SEC) /* beyond a request's own limit */

struct open_request {
	bool is_sent, has_file, keeps; /* keeps: the answer's file is the client's */
	int answer, body;              /* descriptors; -1: none */
	u64 until_ns;
	struct http_order order;
	http_answer_fn done;
	void *ctx;
};

struct http_client {
	int sock;
	bool is_ready; /* the process has started */
	bool has_ended;
	u32 max_open, last_number, nr_sent;
	VEC(struct open_request *) all; /* in the order in which they came */
};

static void wipe(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

void http_server_add_header(struct http_server *s, char *header)
{
	for (size_t i = 0; i < HTTP_HEADERS_MAX; i++)
		if (!s->headers[i]) {
			s->headers[i] = header;
			return;
		}
	wipe(header);
}

void http_server_add_bearer(struct http_server *s, const char *token)
{
	http_server_add_header(s, xasprintf("Authorization: Bearer %s", token));
}

void http_server_wipe(struct http_server *s)
{
	for (size_t i = 0; i < HTTP_HEADERS_MAX; i++)
		wipe(s->headers[i]);
	wipe(s->basic);
	free(s->url);
	free(s->ca);
	free(s->socket);
	*s = (struct http_server){ 0 };
}

static void open_free(struct open_request *o)
{
	if (o->answer >= 0)
		close(o->answer);
	if (o->body >= 0)
		close(o->body);
	free(o);
}

int http_client_start(const struct http_client_options *o, struct http_client **out)
{
	int sock, err = build_is_static() ? -ENOTSUP : guarded_start(http_client_run, o, &sock);

	if (err)
		return err;
	struct http_client *c = xcalloc(1, sizeof(*c));
	c->sock = sock;
	c->max_open = o->max_open;
	*out = c;
	return 0;
}

void http_client_free(struct http_client *c)
{
	if (!c)
		return;
	close(c->sock);
	vec_each(o, &c->all)
		open_free(*o);
	vec_fini(&c->all);
	free(c);
}

int http_client_fd(const struct http_client *c)
{
	return c->sock;
}

static int duplicate(int fd)
{
	return fd > 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
}

int http_client_add(struct http_client *c, const struct http_request *r, http_answer_fn done,
		    void *ctx)
{
	if (strlen(r->path) >= HTTP_PATH_MAX || (r->json && strlen(r->json) >= HTTP_BODY_MAX))
		return -E2BIG;
	struct open_request *o = xcalloc(1, sizeof(*o));
	o->keeps = r->answer_fd <= 0;
	o->answer = o->keeps ? memfile_new("answer") : duplicate(r->answer_fd);
	o->body = r->json ? -1 : duplicate(r->body_fd);
	o->done = done;
	o->ctx = ctx;
	o->order = (struct http_order){
		.number = ++c->last_number,
		.server = r->server,
		.timeout_s = r->timeout_s,
		.is_post = r->json || r->body_fd > 0,
		.has_file = o->body >= 0,
		.cuts = r->cuts,
		.max_bytes = r->max_bytes,
	};
	copy_text(o->order.path, sizeof(o->order.path), r->path);
	copy_text(o->order.json, sizeof(o->order.json), r->json ?: "");
	bool lacks_body = !r->json && r->body_fd > 0 && o->body < 0;
	int err = o->answer < 0 || lacks_body ? -EMFILE : 0;
	if (err)
		open_free(o);
	else
		vec_push(&c->all, o);
	return err;
}

static void remove_from_list(struct http_client *c, const struct open_request *o)
{
	size_t kept = 0;

	vec_each(one, &c->all)
		if (*one != o)
			c->all.at[kept++] = *one;
	c->all.nr = kept;
	c->nr_sent -= o->is_sent;
}

void http_client_cancel(struct http_client *c, const void *ctx)
{
	for (size_t i = c->all.nr; i-- > 0;) {
		struct open_request *o = c->all.at[i];
		const struct http_order cancel = { .number = o->order.number, .is_cancel = true };
		if (o->ctx != ctx)
			continue;
		/* If it cannot be sent, the request ends by its time limit. */
		if (o->is_sent)
			packet_send(c->sock, &cancel, sizeof(cancel), NULL, 0);
		remove_from_list(c, o);
		open_free(o);
	}
}

/* Removes the request, calls back, and frees it. */
static void finish(struct http_client *c, struct open_request *o, struct http_answer *a)
{
	auto_str struct str clean = { 0 };
	auto_free char *bytes = NULL;

	remove_from_list(c, o);
	if (a->found.len > o->order.max_bytes)
		a->found.len = 0;
	if (o->keeps) {
		size_t len = a->found.len;
		bytes = xcalloc(len + 1, 1);
		if (len && pread(o->answer, bytes, len, 0) != (ssize_t)len)
			a->found = (struct http_finding){ .fault = HTTP_BROKEN,
							  .why = "its answer could not be kept" };
	}
	/* Clean the text: the process may have been taken over and have written anything. */
	utf8_clean(&clean, a->found.why, HTTP_WHY_MAX - 1);
	copy_text(a->found.why, sizeof(a->found.why), clean.at ?: "");
	if (a->found.fault > HTTP_BROKEN || a->found.status > 999)
		a->found.fault = HTTP_BROKEN, a->found.status = 0;
	a->bytes = bytes ?: "";
	o->done(o->ctx, a);
	open_free(o);
}

static void lose(struct http_client *c, struct open_request *o)
{
	struct http_answer a = {
		.is_lost = true,
		.found = { .fault = HTTP_BROKEN, .why = "the process that asks has ended" },
	};

	finish(c, o, &a);
}

static struct open_request *find_sent(const struct http_client *c, u32 number)
{
	vec_each(o, &c->all)
		if ((*o)->is_sent && (!number || (*o)->order.number == number))
			return *o;
	return NULL;
}

static void take_event(struct http_client *c, struct http_event *e)
{
	struct open_request *o;

	e->found.why[HTTP_WHY_MAX - 1] = '\0';
	if (e->number) {
		struct http_answer a = { .found = e->found };
		if ((o = find_sent(c, e->number)))
			finish(c, o, &a);
		return;
	}
	c->is_ready = true;
	/* Take only requests that were sent before: a callback may add new ones. */
	while ((o = find_sent(c, 0)))
		lose(c, o);
}

static void take_events(struct http_client *c)
{
	struct http_event e;
	int fds[PACKET_FDS_MAX];
	size_t nr, nr_fds;
	int err;

	while (!(err = packet_receive(c->sock, &e, sizeof(e), &nr, fds, &nr_fds))) {
		for (size_t i = 0; i < nr_fds; i++)
			close(fds[i]);
		if (nr == sizeof(e))
			take_event(c, &e);
	}
	c->has_ended |= err == -EPIPE;
}

static void send_more(struct http_client *c)
{
	for (size_t i = 0; i < c->all.nr && c->nr_sent < c->max_open && c->is_ready; i++) {
		struct open_request *o = c->all.at[i];
		const int fds[] = { o->answer, o->body };
		if (o->is_sent)
			continue;
		if (packet_send(c->sock, &o->order, sizeof(o->order), fds, 1 + o->order.has_file))
			return; /* it is tried again */
		o->is_sent = true;
		o->until_ns = time_mono_ns() + o->order.timeout_s * NS_PER_SEC + GRACE_NS;
		c->nr_sent++;
	}
}

static struct open_request *find_late(const struct http_client *c, u64 now_ns)
{
	vec_each(o, &c->all)
		if ((*o)->is_sent && now_ns > (*o)->until_ns)
			return *o;
	return NULL;
}

int http_client_step(struct http_client *c)
{
	struct open_request *o;

	take_events(c);
	while ((o = find_late(c, time_mono_ns())))
		lose(c, o);
	send_more(c);
	while (c->has_ended && c->all.nr)
		lose(c, c->all.at[0]);
	return c->has_ended ? -EPIPE : 0;
}
