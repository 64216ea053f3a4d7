/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the HTTP API of daemons, and the process that makes them. With push/post.c and
 * sym/files/debuginfod_client.c the only user of libcurl.
 */
#include "fleet/http/fetch.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/build.h"
#include "base/file.h"
#include "base/packet.h"
#include "base/str.h"
#include "base/time.h"
#include "sandbox/rights.h"

#define GRACE_NS  (10 * NS_PER_SEC) /* beyond a request's own limit */
#define CONNECT_S 10
#define POLL_MS   1000

/* With the descriptor of a file for the answer. */
struct fetch_order {
	u32 number, node, max_bytes, timeout_s;
	bool is_post;
	char path[FETCH_PATH_MAX], body[FETCH_BODY_MAX];
};

struct fetch_event {
	u32 number, status, len; /* of the file's bytes */
	char why[160];
};

/* A request that is under way. */
struct transfer {
	u32 number, max_bytes, len;
	int fd;
	bool is_too_long;
	CURL *curl;
	struct curl_slist *headers;
	char body[FETCH_BODY_MAX], fault[CURL_ERROR_SIZE];
};

struct fetching {
	int sock;
	const struct http_entries *nodes;
	CURLM *multi;
	u32 nr;
};

static void transfer_free(struct transfer *t)
{
	curl_slist_free_all(t->headers);
	if (t->curl)
		curl_easy_cleanup(t->curl);
	if (t->fd >= 0)
		close(t->fd);
	free(t);
}

static size_t take_bytes(char *at, size_t size, size_t nr, void *ctx)
{
	struct transfer *t = ctx;
	size_t len = size * nr;

	if (len > t->max_bytes - t->len) {
		t->is_too_long = true;
		return 0;
	}
	if (pwrite(t->fd, at, len, t->len) != (ssize_t)len)
		return 0;
	t->len += (u32)len;
	return len;
}

static void add_header(struct transfer *t, const char *text)
{
	t->headers = curl_slist_append(t->headers, text);
}

static void set_security(struct transfer *t, const struct http_entry *e, const char *url)
{
	auto_free char *bearer = xasprintf("Authorization: Bearer %s", e->token);

	curl_easy_setopt(t->curl, CURLOPT_URL, url);
	curl_easy_setopt(t->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(t->curl, CURLOPT_FOLLOWLOCATION, 0L);
	/* A proxy of the environment would get tokens of plain http. */
	curl_easy_setopt(t->curl, CURLOPT_PROXY, "");
	add_header(t, bearer);
	add_header(t, "X-Sysflame: 1");
	explicit_bzero(bearer, strlen(bearer));
	if (e->socket)
		curl_easy_setopt(t->curl, CURLOPT_UNIX_SOCKET_PATH, e->socket);
	if (e->ca) {
		struct curl_blob ca = { e->ca, strlen(e->ca), CURL_BLOB_NOCOPY };
		curl_easy_setopt(t->curl, CURLOPT_CAINFO_BLOB, &ca);
	}
}

static void set_up(struct transfer *t, const struct http_entry *e, const struct fetch_order *o)
{
	auto_free char *url = xasprintf("%s%s", e->url, o->path);

	set_security(t, e, url);
	curl_easy_setopt(t->curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(t->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(t->curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
	curl_easy_setopt(t->curl, CURLOPT_TIMEOUT, (long)o->timeout_s);
	curl_easy_setopt(t->curl, CURLOPT_USERAGENT, "sysflame/" SYSFLAME_VERSION);
	curl_easy_setopt(t->curl, CURLOPT_WRITEFUNCTION, take_bytes);
	curl_easy_setopt(t->curl, CURLOPT_WRITEDATA, t);
	curl_easy_setopt(t->curl, CURLOPT_ERRORBUFFER, t->fault);
	curl_easy_setopt(t->curl, CURLOPT_PRIVATE, t);
	if (o->is_post) {
		memcpy(t->body, o->body, sizeof(t->body));
		add_header(t, "Content-Type: application/json");
		add_header(t, "Expect:");
		curl_easy_setopt(t->curl, CURLOPT_POSTFIELDS, t->body);
	}
	curl_easy_setopt(t->curl, CURLOPT_HTTPHEADER, t->headers);
}

static void say(const struct fetching *f, const struct transfer *t, u32 status, const char *why)
{
	struct fetch_event e = { .number = t->number, .status = status, .len = t->len };

	copy_text(e.why, sizeof(e.why), why);
	packet_send(f->sock, &e, sizeof(e), NULL, 0);
}

/* Takes the descriptor over. */
static void begin(struct fetching *f, struct fetch_order *o, int fd)
{
	struct transfer *t = xcalloc(1, sizeof(*t));

	t->number = o->number;
	t->max_bytes = o->max_bytes;
	t->fd = fd;
	o->path[sizeof(o->path) - 1] = o->body[sizeof(o->body) - 1] = '\0';
	t->curl = o->node < f->nodes->all.nr && o->path[0] == '/' ? curl_easy_init() : NULL;
	if (t->curl) {
		set_up(t, &f->nodes->all.at[o->node], o);
		if (!curl_multi_add_handle(f->multi, t->curl)) {
			f->nr++;
			return;
		}
	}
	say(f, t, 0, "the request cannot be made");
	transfer_free(t);
}

static void end(struct fetching *f, CURL *curl, CURLcode code)
{
	struct transfer *t = NULL;
	long status = 0;

	curl_easy_getinfo(curl, CURLINFO_PRIVATE, &t);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	if (!code && status > 0)
		say(f, t, (u32)status, "");
	else
		say(f, t, 0,
		    t->is_too_long ? "its answer is too long"
		    : *t->fault    ? t->fault
				   : curl_easy_strerror(code));
	curl_multi_remove_handle(f->multi, curl);
	f->nr--;
	transfer_free(t);
}

/* -EPIPE: nobody asks any more. */
static int take_orders(struct fetching *f)
{
	struct fetch_order o;
	int fds[PACKET_FDS_MAX];
	size_t nr, nr_fds;

	for (;;) {
		int err = packet_receive(f->sock, &o, sizeof(o), &nr, fds, &nr_fds);
		if (err)
			return err == -EAGAIN ? 0 : err;
		if (nr == sizeof(o) && nr_fds == 1) {
			begin(f, &o, fds[0]);
			continue;
		}
		for (size_t i = 0; i < nr_fds; i++)
			close(fds[i]);
	}
}

static int serve(struct fetching *f)
{
	struct curl_waitfd extra = { .fd = f->sock, .events = CURL_WAIT_POLLIN };

	for (;;) {
		int nr, err = take_orders(f);
		if (err)
			return err == -EPIPE ? 0 : 1;
		if (curl_multi_perform(f->multi, &nr))
			return 1;
		for (CURLMsg *m; (m = curl_multi_info_read(f->multi, &nr));)
			if (m->msg == CURLMSG_DONE)
				end(f, m->easy_handle, m->data.result);
		extra.revents = 0;
		if (curl_multi_poll(f->multi, &extra, 1, POLL_MS, NULL))
			return 1;
	}
}

/* A guarded_fn; `ctx` is the http_entries. */
static int fetch_run(int sock, const void *ctx)
{
	struct fetching f = { .sock = sock, .nodes = ctx };

	prctl(PR_SET_NAME, "sysflame-fetch");
	signal(SIGPIPE, SIG_IGN);
	fcntl(sock, F_SETFL, O_NONBLOCK);
	if (guarded_confine(NULL) || curl_global_init(CURL_GLOBAL_DEFAULT))
		return 1;
	f.multi = curl_multi_init();
	if (!f.multi)
		return 1;
	return serve(&f);
}

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
