/* SPDX-License-Identifier: Apache-2.0 */
/* The way of requests to one receiver. */
#include "push/delivery.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>

#include "base/auto.h"
#include "base/time.h"

#define CRASHES_MAX 3
#define FAULTS_MAX  10   /* of one request, while the receiver takes others */
#define END_MS      1000 /* to wait for an answer at the end */

/* Credentials and addresses can be set right, and the receiver may recover; a body cannot. */
static bool is_final(s32 status)
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
 * The receiver has a fault with this request, perhaps for ever: others get their turn. It is given
 * up after FAULTS_MAX, unless the receiver takes nothing at all.
 */
static bool is_given_up(struct delivery *d, const struct sender_event *e)
{
	struct waiting *first = &d->backlog.waiting.at[0];

	if (e->status / 100 != 5)
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

static void take_answer(struct delivery *d, const struct sender_event *e, u64 now_ns)
{
	if (!d->is_sending || e->number != d->number)
		return;
	d->is_sending = false;
	bool is_refused = is_final(e->status) || e->nr_rejected || is_given_up(d, e);
	if (is_refused) {
		d->counts.refused++;
		copy_text(d->refused_why, sizeof(d->refused_why), e->why);
	}
	if (!is_refused && e->status / 100 != 2) {
		note_failure(d, e->why, e->retry_after_s, now_ns);
		return;
	}
	d->counts.sent += !is_refused;
	d->took_others = !is_refused;
	backlog_remove_first(&d->backlog);
	succeed(d);
}

/* Whether the receiver has the request is unknown; a request that kills senders is given up. */
static void take_start(struct delivery *d, u64 now_ns)
{
	d->is_ready = true;
	if (!d->is_sending)
		return;
	d->is_sending = false;
	if (++d->backlog.waiting.at[0].nr_crashes >= CRASHES_MAX) {
		backlog_remove_first(&d->backlog);
		d->counts.crashed++;
	}
	note_failure(d, "the process that sends has ended", 0, now_ns);
}

static void take_events(struct delivery *d, u64 now_ns)
{
	struct sender_event e;

	for (int i = 0; i < 16 && !d->is_broken; i++) {
		int err = sender_receive(d->sender, &e);
		if (err == -EAGAIN)
			return;
		if (err == -EPIPE)
			d->is_broken = true;
		else if (!err && e.kind == SENDER_STARTED)
			take_start(d, now_ns);
		else if (!err)
			take_answer(d, &e, now_ns);
	}
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
	int err = sender_post(d->sender, ++d->number, fd);
	d->is_sending = !err;
	if (err) { /* it is being started */
		d->next_ns = now_ns + NS_PER_SEC;
		backlog_put_back(&d->backlog);
	}
}

void delivery_tick(struct delivery *d, u64 now_ns, u64 next)
{
	take_events(d, now_ns);
	if (d->is_ready && !d->is_sending && !d->is_broken && now_ns >= d->next_ns &&
	    d->backlog.waiting.nr && d->backlog.waiting.at[0].minute < next) {
		backlog_choose(&d->backlog);
		if (d->backlog.waiting.at[0].minute < next)
			send_next(d, now_ns);
		else
			backlog_put_back(&d->backlog);
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
	struct pollfd answer = { d->sender ? sender_fd(d->sender) : -1, POLLIN, 0 };

	if (d->is_sending && !d->is_broken && poll(&answer, 1, END_MS) > 0)
		take_events(d, time_mono_ns());
	sender_free(d->sender);
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
