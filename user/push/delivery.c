/* SPDX-License-Identifier: Apache-2.0 */
/* Delivers requests to one receiver. */
#include "push/delivery.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"

#define CRASHES_MAX 3
#define REQUEST_S   30         /* time limit of a request with its answer */
#define ANSWER_MAX  (64 << 10) /* bytes; the rest is not read */
/* most failures of one request while the receiver takes others; then it is dropped */
#define FAULTS_MAX 10
#define END_MS     1000 /* to wait for an answer at the end */

/*
 * Whether a status means that the receiver will never take this request. Statuses about
 * credentials, addresses or load are not final: an operator can correct the settings, and the
 * receiver can recover.
 */
static bool is_final(u32 status)
{
	switch (status) {
	case 401:
	case 403:
	case 404:
	case 405:
	case 407:
	case 408:
	case 425:
	case 429:
		return false;
	default:
		return status / 100 == 4;
	}
}

static u64 random_below(u64 nr)
{
	u64 value = 0;

	if (getrandom(&value, sizeof(value), 0) != sizeof(value))
		return nr / 2;
	return nr ? value % nr : 0;
}

/* 1, 2, 4, .. 60 s, with jitter: nodes that lost the same receiver come back one by one. */
static u64 pause_ns(u32 nr_failures, u32 retry_after_s)
{
	u64 s = nr_failures < 7 ? 1ull << (nr_failures - 1) : DELIVERY_PAUSE_MAX_S;

	if (s > DELIVERY_PAUSE_MAX_S)
		s = DELIVERY_PAUSE_MAX_S;
	u64 ns = s * NS_PER_SEC / 2 + random_below(s * NS_PER_SEC / 2);
	u64 wanted_ns = retry_after_s * NS_PER_SEC;
	return ns > wanted_ns ? ns : wanted_ns + random_below(NS_PER_SEC);
}

static void succeed(struct delivery *d)
{
	if (d->nr_failures || !d->since_wall_ns)
		d->since_wall_ns = time_wall_ns();
	d->nr_failures = 0;
	d->next_ns = 0;
	*d->why = '\0';
}

/*
 * Whether to give up a request to which the receiver always answers with a fault. Other requests
 * get their turn in between. After FAULTS_MAX faults the request is given up, unless the receiver
 * takes no other request either.
 */
static bool is_given_up(struct delivery *d, const struct http_finding *f)
{
	struct waiting *first = &d->backlog.waiting.at[0];

	if (f->status / 100 != 5)
		return false;
	first->nr_faults++;
	return first->nr_faults >= FAULTS_MAX && d->took_others;
}

static void note_failure(struct delivery *d, const char *why, u32 retry_after_s, u64 now_ns)
{
	if (!d->nr_failures)
		d->since_wall_ns = time_wall_ns();
	d->nr_failures++;
	d->counts.tried_again++;
	d->next_ns = now_ns + pause_ns(d->nr_failures, retry_after_s);
	copy_text(d->why, sizeof(d->why), why);
	backlog_put_back(&d->backlog);
}

/*
 * The sending process crashed. Whether the receiver has got the request is unknown. A request that
 * crashes the process repeatedly is given up.
 */
static void take_loss(struct delivery *d, const char *why, u64 now_ns)
{
	if (++d->backlog.waiting.at[0].nr_crashes >= CRASHES_MAX) {
		backlog_remove_first(&d->backlog);
		d->counts.crashed++;
	}
	note_failure(d, why, 0, now_ns);
}

/* The value of a finding is the number of profiles that the receiver did not take. */
static void take_answer(void *ctx, const struct http_answer *a)
{
	struct delivery *d = ctx;
	const struct http_finding *f = &a->found;
	u64 now_ns = d->now_ns;

	d->is_sending = false;
	if (a->is_lost) {
		take_loss(d, f->why, now_ns);
		return;
	}
	bool is_refused = is_final(f->status) || f->value || is_given_up(d, f);
	if (is_refused) {
		d->counts.refused++;
		copy_text(d->refused_why, sizeof(d->refused_why), f->why);
	}
	if (!is_refused && f->status / 100 != 2) {
		note_failure(d, f->why, f->retry_after_s, now_ns);
		return;
	}
	d->counts.sent += !is_refused;
	d->took_others = !is_refused;
	backlog_remove_first(&d->backlog);
	succeed(d);
}

static void send_next(struct delivery *d, u64 now_ns)
{
	auto_close int fd = backlog_get_first(&d->backlog);

	if (fd < 0) { /* somebody removed the file */
		d->disk_err = fd;
		d->counts.not_kept++;
		backlog_remove_first(&d->backlog);
		return;
	}
	const struct http_request r = { .path = "",
					.body_fd = fd,
					.max_bytes = ANSWER_MAX,
					.cuts = true,
					.timeout_s = REQUEST_S };
	int err = http_client_add(d->client, &r, take_answer, d);
	d->is_sending = !err;
	if (err) { /* no descriptors are left */
		d->next_ns = now_ns + NS_PER_SEC;
		backlog_put_back(&d->backlog);
	}
}

int delivery_start(struct delivery *d, const struct credentials *c)
{
	const struct receiver_protocol *protocol = &receiver_protocols[d->receiver.kind];
	struct http_server s = {
		.url = xstrdup(d->receiver.request),
		.basic = c->basic ? xstrdup(c->basic) : NULL,
		.ca = c->ca ? xstrdup(c->ca) : NULL,
		.uses_proxy = true,
		.judge = d->receiver.kind == RECEIVER_OTLP ? receiver_judge_otlp : receiver_judge,
	};
	const struct http_client_options o = {
		.name = "sysflame-push",
		.servers = &s,
		.nr_servers = 1,
		.max_bytes = ANSWER_MAX,
		.max_open = 1,
	};

	http_server_add_header(&s, xasprintf("Content-Type: %s", protocol->type));
	if (protocol->encoding)
		http_server_add_header(&s, xasprintf("Content-Encoding: %s", protocol->encoding));
	if (c->bearer)
		http_server_add_bearer(&s, c->bearer);
	for (u32 i = 0; i < c->nr_headers; i++)
		http_server_add_header(&s, xstrdup(c->headers[i]));
	int err = http_client_start(&o, &d->client);
	http_server_wipe(&s);
	return err;
}

void delivery_tick(struct delivery *d, u64 now_ns, u64 next)
{
	d->now_ns = now_ns;
	d->is_broken = http_client_step(d->client) != 0;
	if (!d->is_sending && !d->is_broken && now_ns >= d->next_ns && d->backlog.waiting.nr &&
	    d->backlog.waiting.at[0].minute < next) {
		backlog_choose(&d->backlog);
		if (d->backlog.waiting.at[0].minute < next)
			send_next(d, now_ns);
		else
			backlog_put_back(&d->backlog);
		d->is_broken = http_client_step(d->client) != 0;
	}
	if (delivery_lost(d) != d->nr_lost_before)
		d->lost_ns = now_ns;
	d->nr_lost_before = delivery_lost(d);
}

void delivery_add(struct delivery *d, u64 minute, u32 number, const char *service,
		  const void *bytes, size_t len)
{
	struct waiting w = { .minute = minute, .bytes = len, .number = number };

	copy_text(w.service, sizeof(w.service), service);
	int err = backlog_add(&d->backlog, &w, bytes, d->is_sending);
	if (!err)
		return;
	d->counts.not_kept++;
	d->disk_err = err;
}

void delivery_close(struct delivery *d)
{
	struct pollfd answer = { d->client ? http_client_fd(d->client) : -1, POLLIN, 0 };

	if (d->is_sending && !d->is_broken && poll(&answer, 1, END_MS) > 0) {
		d->now_ns = time_mono_ns();
		http_client_step(d->client);
	}
	http_client_free(d->client);
	backlog_close(&d->backlog);
}

bool delivery_is_ok(const struct delivery *d, u64 now_ns)
{
	bool loses = d->lost_ns && now_ns - d->lost_ns < DELIVERY_LOSS_NS;

	return !d->nr_failures && !d->is_broken && !loses;
}

u64 delivery_lost(const struct delivery *d)
{
	return d->counts.refused + d->counts.crashed + d->counts.not_kept + d->backlog.nr_full +
	       d->backlog.nr_old + d->backlog.nr_ahead;
}

static void say(struct str *out, u64 nr, const char *rest)
{
	if (nr)
		str_addf(out, " %llu profile%s %s.", (unsigned long long)nr, nr == 1 ? "" : "s",
			 rest);
}

static void explain_losses(const struct delivery *d, struct str *out)
{
	auto_free char *full = xasprintf("lost because %llu MB already waited",
					 (unsigned long long)d->backlog.limits.max_bytes >> 20);
	auto_free char *old = xasprintf("lost because they had waited for %llu min",
					(unsigned long long)d->backlog.limits.max_minutes);
	auto_free char *refused = xasprintf("refused by the receiver: %s", d->refused_why);
	auto_free char *not_kept =
		xasprintf("lost because they could not be kept on the disk: %s",
			  d->disk_err == -EFBIG ? "a request is larger than the spool"
						: strerror(-d->disk_err));

	say(out, d->backlog.nr_full, full);
	say(out, d->backlog.nr_old, old);
	say(out, d->backlog.nr_ahead, "lost because the clock was set back");
	say(out, d->counts.refused, refused);
	say(out, d->counts.not_kept, not_kept);
	say(out, d->counts.crashed, "lost because the process that sends them ended each time");
}

void delivery_explain(const struct delivery *d, u64 now_ns, struct str *out)
{
	size_t nr = d->backlog.waiting.nr;

	if (d->is_broken)
		str_add(out, "The process that sends has ended.");
	else if (d->nr_failures)
		str_addf(out, "Sending fails: %s. It is tried again in %llu s.", d->why,
			 (unsigned long long)(d->next_ns > now_ns
						      ? (d->next_ns - now_ns + NS_PER_SEC - 1) /
								NS_PER_SEC
						      : 0));
	else if (d->counts.sent)
		str_addf(out, "%llu profile%s sent.", (unsigned long long)d->counts.sent,
			 d->counts.sent == 1 ? "" : "s");
	else
		str_add(out, "Nothing was sent yet.");
	say(out, nr, nr == 1 ? "waits" : "wait");
	explain_losses(d, out);
}
