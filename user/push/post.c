/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that posts requests; with fleet/http/fetch.c and sym/files/debuginfod_client.c the
 * only user of libcurl. Part of push/sender.h.
 */
#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/packet.h"
#include "base/str.h"
#include "export/interchange/pb.h"
#include "push/sender.h"
#include "sandbox/rights.h"

#include "push.pb-c.h"

#define CONNECT_S  10
#define WHOLE_S    30         /* of a request with its answer */
#define ANSWER_MAX (64 << 10) /* bytes; the rest is not read */
#define SAID_MAX   160        /* bytes of a receiver's own words in `why` */
#define RETRY_MAX  86400      /* s */

struct post {
	int sock;
	const struct post_options *o;
	CURL *curl; /* keeps its connection */
	struct curl_slist *headers;
	struct str answer;
};

struct source {
	int fd;
	off_t at;
};

static size_t read_body(char *to, size_t size, size_t nr, void *ctx)
{
	struct source *s = ctx;
	ssize_t got = pread(s->fd, to, size * nr, s->at);

	if (got < 0)
		return CURL_READFUNC_ABORT;
	s->at += got;
	return (size_t)got;
}

/* libcurl begins again on a connection that the receiver had closed. */
static int seek_body(void *ctx, curl_off_t at, int origin)
{
	struct source *s = ctx;

	if (origin != SEEK_SET)
		return CURL_SEEKFUNC_CANTSEEK;
	s->at = at;
	return CURL_SEEKFUNC_OK;
}

static size_t take_answer(char *at, size_t size, size_t nr, void *ctx)
{
	struct post *p = ctx;
	size_t room = ANSWER_MAX - p->answer.len;

	str_add_bytes(&p->answer, at, size * nr < room ? size * nr : room);
	return size * nr;
}

static void add_header(struct post *p, const char *name, const char *value)
{
	auto_free char *header = xasprintf("%s: %s", name, value);

	p->headers = curl_slist_append(p->headers, header);
}

static void set_headers(struct post *p)
{
	const struct receiver_protocol *protocol = &receiver_protocols[p->o->receiver->kind];
	const struct credentials *c = p->o->credentials;

	add_header(p, "Content-Type", protocol->type);
	if (protocol->encoding)
		add_header(p, "Content-Encoding", protocol->encoding);
	/* No wait for "100 Continue". */
	p->headers = curl_slist_append(p->headers, "Expect:");
	if (c->bearer) {
		auto_free char *value = xasprintf("Bearer %s", c->bearer);
		add_header(p, "Authorization", value);
	}
	for (u32 i = 0; i < c->nr_headers; i++)
		p->headers = curl_slist_append(p->headers, c->headers[i]);
}

static int set_up(struct post *p)
{
	const struct credentials *c = p->o->credentials;

	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return -ENOMEM;
	CURL *curl = p->curl = curl_easy_init();
	if (!curl)
		return -ENOMEM;
	set_headers(p);
	curl_easy_setopt(curl, CURLOPT_URL, p->o->receiver->request);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)WHOLE_S);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "sysflame/" SYSFLAME_VERSION);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, p->headers);
	curl_easy_setopt(curl, CURLOPT_POST, 1L);
	curl_easy_setopt(curl, CURLOPT_READFUNCTION, read_body);
	curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, seek_body);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, p);
	if (c->basic) {
		curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		curl_easy_setopt(curl, CURLOPT_USERPWD, c->basic);
	}
	if (c->ca) {
		struct curl_blob ca = { c->ca, strlen(c->ca), CURL_BLOB_NOCOPY };
		curl_easy_setopt(curl, CURLOPT_CAINFO_BLOB, &ca);
	}
	return 0;
}

/* The receiver's words, on one line. */
static void add_said(struct str *why, const char *text)
{
	auto_free char *line = xstrdup(text);
	auto_str struct str clean = { 0 };

	for (char *c = line; *c; c++)
		if (isspace((unsigned char)*c))
			*c = ' ';
	utf8_clean(&clean, line, SAID_MAX);
	if (clean.len)
		str_addf(why, ": %s", clean.at);
}

/* A receiver may accept a request and refuse profiles of it. */
static void look_at_partial_success(struct post *p, struct sender_event *e, struct str *why)
{
	auto_pb Push__OtlpAnswer *answer =
		push__otlp_answer__unpack(NULL, p->answer.len, (const u8 *)(p->answer.at ?: ""));

	if (!answer || !answer->partial_success || answer->partial_success->rejected <= 0)
		return;
	e->nr_rejected = (u64)answer->partial_success->rejected;
	str_add(why, "it rejected profiles");
	add_said(why, answer->partial_success->why);
}

static void judge(struct post *p, CURLcode code, const char *fault, struct sender_event *e)
{
	auto_str struct str why = { 0 };
	curl_off_t after = 0;
	long status = 0;

	if (!code) {
		curl_easy_getinfo(p->curl, CURLINFO_RESPONSE_CODE, &status);
		curl_easy_getinfo(p->curl, CURLINFO_RETRY_AFTER, &after);
		e->status = (s32)status;
		e->retry_after_s = (u32)(after > RETRY_MAX ? RETRY_MAX : after < 0 ? 0 : after);
	}
	if (code) {
		str_add(&why, *fault ? fault : curl_easy_strerror(code));
	} else if (status / 100 != 2) {
		str_addf(&why, "it answers %ld", status);
		add_said(&why, p->answer.at ?: "");
	} else if (p->o->receiver->kind == RECEIVER_OTLP) {
		look_at_partial_success(p, e, &why);
	}
	copy_text(e->why, sizeof(e->why), why.at ?: "");
}

static void post(struct post *p, u64 number, int fd)
{
	struct sender_event e = { .kind = SENDER_DONE, .number = number };
	struct source source = { .fd = fd };
	char fault[CURL_ERROR_SIZE] = "";
	struct stat st;

	str_clear(&p->answer);
	if (fstat(fd, &st)) {
		copy_text(e.why, sizeof(e.why), "the file of the request cannot be read");
	} else {
		curl_easy_setopt(p->curl, CURLOPT_READDATA, &source);
		curl_easy_setopt(p->curl, CURLOPT_SEEKDATA, &source);
		curl_easy_setopt(p->curl, CURLOPT_ERRORBUFFER, fault);
		curl_easy_setopt(p->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)st.st_size);
		CURLcode code = curl_easy_perform(p->curl);
		curl_easy_setopt(p->curl, CURLOPT_ERRORBUFFER, NULL);
		judge(p, code, fault, &e);
	}
	packet_send(p->sock, &e, sizeof(e), NULL, 0);
}

int post_run(int sock, const struct post_options *o)
{
	struct post p = { .sock = sock, .o = o };
	const struct sender_event started = { .kind = SENDER_STARTED };
	int fds[PACKET_FDS_MAX];
	size_t nr, nr_fds;
	u64 number;

	prctl(PR_SET_NAME, "sysflame-push");
	signal(SIGPIPE, SIG_IGN);
	if (guarded_confine(NULL) || set_up(&p))
		return 1;
	packet_send(sock, &started, sizeof(started), NULL, 0);
	for (;;) {
		int err = packet_receive(sock, &number, sizeof(number), &nr, fds, &nr_fds);
		if (err)
			return err == -EPIPE ? 0 : 1;
		if (nr == sizeof(number) && nr_fds == 1)
			post(&p, number, fds[0]);
		for (size_t i = 0; i < nr_fds; i++)
			close(fds[i]);
	}
}
