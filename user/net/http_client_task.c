/* SPDX-License-Identifier: Apache-2.0 */
/* The process that makes the requests: the only user of libcurl. Part of net/http_client.h. */
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/packet.h"
#include "base/str.h"
#include "net/http_client.h"
#include "sandbox/rights.h"

#define CONNECT_S  10
#define SLOW_BYTES 1024 /* a second */
#define POLL_MS    1000
#define RETRY_MAX  86400      /* s */
#define JUDGED_MAX (1u << 20) /* bytes of an answer that a judge sees */

/* A request that is under way. */
struct transfer {
	struct http_order order;
	const struct http_server *server;
	int answer, body; /* descriptors; -1: none */
	off_t body_at;
	u64 len;
	bool is_too_long;
	CURL *curl;
	struct curl_slist *headers;
	char fault[CURL_ERROR_SIZE];
	struct transfer *next; /* of client.transfers */
};

struct client {
	int sock;
	const struct http_client_options *o;
	CURLM *multi;
	struct transfer *transfers; /* those that run */
};

static void transfer_free(struct transfer *t)
{
	curl_slist_free_all(t->headers);
	if (t->curl)
		curl_easy_cleanup(t->curl);
	close(t->answer);
	if (t->body >= 0)
		close(t->body);
	free(t);
}

static size_t take_bytes(char *at, size_t size, size_t nr, void *ctx)
{
	struct transfer *t = ctx;
	size_t len = size * nr, room = t->order.max_bytes - t->len;

	if (len > room && !t->order.cuts) {
		t->is_too_long = true;
		return 0;
	}
	size_t kept = len < room ? len : room;
	if (kept && pwrite(t->answer, at, kept, (off_t)t->len) != (ssize_t)kept)
		return 0;
	t->len += kept;
	return len;
}

static size_t read_body(char *to, size_t size, size_t nr, void *ctx)
{
	struct transfer *t = ctx;
	ssize_t got = pread(t->body, to, size * nr, t->body_at);

	if (got < 0)
		return CURL_READFUNC_ABORT;
	t->body_at += got;
	return (size_t)got;
}

/*
 * libcurl calls this to send the body again, on a new connection, if the server had closed the
 * first one.
 */
static int seek_body(void *ctx, curl_off_t at, int origin)
{
	struct transfer *t = ctx;

	if (origin != SEEK_SET)
		return CURL_SEEKFUNC_CANTSEEK;
	t->body_at = at;
	return CURL_SEEKFUNC_OK;
}

static void add_header(struct transfer *t, const char *text)
{
	t->headers = curl_slist_append(t->headers, text);
}

static void set_server(struct transfer *t)
{
	const struct http_server *s = t->server;
	auto_free char *url = xasprintf("%s%s", s->url, t->order.path);

	curl_easy_setopt(t->curl, CURLOPT_URL, url);
	curl_easy_setopt(t->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(t->curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(t->curl, CURLOPT_FOLLOWLOCATION, s->redirects ? 1L : 0L);
	curl_easy_setopt(t->curl, CURLOPT_MAXREDIRS, (long)s->redirects);
	if (!s->uses_proxy)
		curl_easy_setopt(t->curl, CURLOPT_PROXY, "");
	if (s->socket)
		curl_easy_setopt(t->curl, CURLOPT_UNIX_SOCKET_PATH, s->socket);
	if (s->basic) {
		curl_easy_setopt(t->curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		curl_easy_setopt(t->curl, CURLOPT_USERPWD, s->basic);
	}
	if (s->ca) {
		struct curl_blob ca = { s->ca, strlen(s->ca), CURL_BLOB_NOCOPY };
		curl_easy_setopt(t->curl, CURLOPT_CAINFO_BLOB, &ca);
	}
	for (size_t i = 0; i < HTTP_HEADERS_MAX && s->headers[i]; i++)
		add_header(t, s->headers[i]);
}

static void set_limits(struct transfer *t)
{
	const struct http_server *s = t->server;

	curl_easy_setopt(t->curl, CURLOPT_CONNECTTIMEOUT, (long)(s->connect_s ?: CONNECT_S));
	curl_easy_setopt(t->curl, CURLOPT_TIMEOUT, (long)t->order.timeout_s);
	if (s->quiet_s) {
		curl_easy_setopt(t->curl, CURLOPT_LOW_SPEED_LIMIT, (long)SLOW_BYTES);
		curl_easy_setopt(t->curl, CURLOPT_LOW_SPEED_TIME, (long)s->quiet_s);
	}
}

static int set_body(struct transfer *t)
{
	struct stat st;

	if (!t->order.is_post)
		return 0;
	add_header(t, "Expect:"); /* no wait for "100 Continue" */
	curl_easy_setopt(t->curl, CURLOPT_POST, 1L);
	if (t->body < 0) {
		add_header(t, "Content-Type: application/json");
		curl_easy_setopt(t->curl, CURLOPT_POSTFIELDS, t->order.json);
		return 0;
	}
	if (fstat(t->body, &st))
		return -errno;
	curl_easy_setopt(t->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)st.st_size);
	curl_easy_setopt(t->curl, CURLOPT_READFUNCTION, read_body);
	curl_easy_setopt(t->curl, CURLOPT_READDATA, t);
	curl_easy_setopt(t->curl, CURLOPT_SEEKFUNCTION, seek_body);
	curl_easy_setopt(t->curl, CURLOPT_SEEKDATA, t);
	return 0;
}

static int set_up(struct transfer *t)
{
	set_server(t);
	set_limits(t);
	int err = set_body(t) ?: ftruncate(t->answer, 0);

	curl_easy_setopt(t->curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(t->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(t->curl, CURLOPT_USERAGENT, "sysflame/" SYSFLAME_VERSION);
	curl_easy_setopt(t->curl, CURLOPT_WRITEFUNCTION, take_bytes);
	curl_easy_setopt(t->curl, CURLOPT_WRITEDATA, t);
	curl_easy_setopt(t->curl, CURLOPT_ERRORBUFFER, t->fault);
	curl_easy_setopt(t->curl, CURLOPT_PRIVATE, t);
	curl_easy_setopt(t->curl, CURLOPT_HTTPHEADER, t->headers);
	return err;
}

static void say(const struct client *c, u32 number, const struct http_finding *found)
{
	const struct http_event e = { .number = number, .found = *found };

	packet_send(c->sock, &e, sizeof(e), NULL, 0);
}

/* Takes the descriptors over. */
static void begin(struct client *c, const struct http_order *o, const int *fds)
{
	struct http_finding failed = { .fault = HTTP_BROKEN, .why = "the request cannot be made" };
	struct transfer *t = xcalloc(1, sizeof(*t));

	t->order = *o;
	t->order.path[HTTP_PATH_MAX - 1] = t->order.json[HTTP_BODY_MAX - 1] = '\0';
	t->answer = fds[0];
	t->body = o->has_file ? fds[1] : -1;
	bool is_known = o->server < c->o->nr_servers && (!*o->path || *o->path == '/');
	t->curl = is_known ? curl_easy_init() : NULL;
	if (t->curl) {
		t->server = &c->o->servers[o->server];
		if (!set_up(t) && !curl_multi_add_handle(c->multi, t->curl)) {
			t->next = c->transfers;
			c->transfers = t;
			return;
		}
	}
	say(c, o->number, &failed);
	transfer_free(t);
}

static void judge(const struct transfer *t, struct http_finding *f)
{
	size_t len = f->len < JUDGED_MAX ? f->len : JUDGED_MAX;
	auto_free char *bytes = xcalloc(len + 1, 1);

	if (len && pread(t->answer, bytes, len, 0) != (ssize_t)len)
		*bytes = '\0', len = 0;
	t->server->judge(f, bytes, len);
}

static void drop(struct client *c, struct transfer *t)
{
	struct transfer **at = &c->transfers;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	curl_multi_remove_handle(c->multi, t->curl);
	transfer_free(t);
}

static void cancel(struct client *c, u32 number)
{
	struct transfer *t = c->transfers;

	while (t && t->order.number != number)
		t = t->next;
	if (t)
		drop(c, t);
}

static void end(struct client *c, CURL *curl, CURLcode code)
{
	struct http_finding f = { 0 };
	struct transfer *t = NULL;
	curl_off_t after = 0;
	long status = 0;

	curl_easy_getinfo(curl, CURLINFO_PRIVATE, &t);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &after);
	if (!code && status > 0) {
		f.status = (u32)status;
		f.retry_after_s = (u32)(after > RETRY_MAX ? RETRY_MAX : after < 0 ? 0 : after);
		f.len = t->len;
		if (t->server->judge)
			judge(t, &f);
	} else {
		f.fault = t->is_too_long                                    ? HTTP_TOO_LONG
			  : code == CURLE_OPERATION_TIMEDOUT || status <= 0 ? HTTP_SILENT
									    : HTTP_BROKEN;
		copy_text(f.why, sizeof(f.why),
			  t->is_too_long ? "its answer is too long"
			  : *t->fault    ? t->fault
					 : curl_easy_strerror(code));
	}
	say(c, t->order.number, &f);
	drop(c, t);
}

/* -EPIPE: nobody asks any more. */
static int take_orders(struct client *c)
{
	struct http_order o;
	int fds[PACKET_FDS_MAX];
	size_t nr, nr_fds;

	for (;;) {
		int err = packet_receive(c->sock, &o, sizeof(o), &nr, fds, &nr_fds);
		if (err)
			return err == -EAGAIN ? 0 : err;
		if (nr == sizeof(o) && !nr_fds && o.is_cancel) {
			cancel(c, o.number);
			continue;
		}
		if (nr == sizeof(o) && nr_fds == 1u + o.has_file) {
			begin(c, &o, fds);
			continue;
		}
		for (size_t i = 0; i < nr_fds; i++)
			close(fds[i]);
	}
}

static int serve(struct client *c)
{
	struct curl_waitfd extra = { .fd = c->sock, .events = CURL_WAIT_POLLIN };

	for (;;) {
		int nr, err = take_orders(c);
		if (err)
			return err == -EPIPE ? 0 : 1;
		if (curl_multi_perform(c->multi, &nr))
			return 1;
		for (CURLMsg *m; (m = curl_multi_info_read(c->multi, &nr));)
			if (m->msg == CURLMSG_DONE)
				end(c, m->easy_handle, m->data.result);
		extra.revents = 0;
		if (curl_multi_poll(c->multi, &extra, 1, POLL_MS, NULL))
			return 1;
	}
}

int http_client_run(int sock, const void *ctx)
{
	struct client c = { .sock = sock, .o = ctx };
	const struct rlimit file = { c.o->max_bytes, c.o->max_bytes };

	prctl(PR_SET_NAME, c.o->name);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	fcntl(sock, F_SETFL, O_NONBLOCK);
	if (setrlimit(RLIMIT_FSIZE, &file) || guarded_confine(NULL) ||
	    curl_global_init(CURL_GLOBAL_DEFAULT))
		return 1;
	c.multi = curl_multi_init();
	if (!c.multi)
		return 1;
	say(&c, 0, &(struct http_finding){ 0 });
	return serve(&c);
}
