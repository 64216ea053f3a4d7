/* SPDX-License-Identifier: Apache-2.0 */
/* Pushes continuous profiling to receivers. */
#include "web/recordings/push.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/log.h"
#include "base/str.h"
#include "base/time.h"
#include "push/delivery.h"
#include "push/request.h"
#include "store/files.h"
#include "web/jobs/queue.h"
#include "web/recordings/service.h"

#define FOLDER    "push"
#define MINUTE_NS (60 * NS_PER_SEC)
/* after a minute's end, its slices arrive within this time */
#define LATE_NS      (30 * NS_PER_SEC)
#define RETRY_NS     (5 * NS_PER_SEC) /* after a job could not be started */
#define LOOK_NS      NS_PER_SEC
#define AT_ONCE      8 /* most requests that are written in a turn */
#define JUMP_MINUTES 2 /* if the clock is set back by at most so much, wait until it catches up */

struct push {
	struct service *sv;
	const struct web_push *o;
	int dir;
	struct delivery all[RECEIVERS_MAX];
	u32 nr, kinds;
	u64 next;       /* the first minute whose requests are not in the spool */
	u64 seen_ns;    /* begin of the newest slice */
	bool is_making; /* a worker makes the requests of minute `next`, or they go to the spool */
	struct payload *made; /* the worker's result; NULL before it has one */
	size_t nr_taken;      /* bytes of `made` that are in the spool */
	u32 number;           /* of the next request in `made` */
	u64 retry_ns;         /* CLOCK_MONOTONIC; no job is started before */
	u64 looked_ns;        /* CLOCK_MONOTONIC, when a minute was last looked for */
	u64 nr_bad_minutes;   /* minutes whose requests could not be made */
	u64 bad_ns;           /* CLOCK_MONOTONIC of the last bad minute; 0: there was none */
	u64 nr_late;          /* slices that came after their minute's requests were made */
	/* why the requests of the last bad minute could not be made; a phrase */
	char why[256];
};

/* Whether a minute was lost a short time ago. The next one is not logged then. */
static bool loses_minutes(const struct push *p)
{
	return p->bad_ns && time_mono_ns() - p->bad_ns < DELIVERY_LOSS_NS;
}

static void lose_minute(struct push *p, const char *why)
{
	p->nr_bad_minutes++;
	copy_text(p->why, sizeof(p->why), why);
	if (!loses_minutes(p))
		log_warn("push: a minute is not sent: %s", why);
	p->bad_ns = time_mono_ns();
}

/* Takes one request out of a worker's result, which may be anything. */
static const u8 *take_request(struct push *p, const u8 *at, const u8 *end, u32 number)
{
	struct push_head head;
	auto_str struct str service = { 0 };

	if ((size_t)(end - at) < sizeof(head))
		return NULL;
	memcpy(&head, at, sizeof(head));
	at += sizeof(head);
	if (head.kind >= NR_RECEIVERS || head.service_len > 1024 ||
	    (size_t)(end - at) < (u64)head.service_len + head.len)
		return NULL;
	auto_free char *name = xstrndup((const char *)at, head.service_len);
	utf8_clean(&service, name, head.service_len * 3ull);
	at += head.service_len;
	for (u32 i = 0; i < p->nr; i++)
		if (p->all[i].receiver.kind == head.kind)
			delivery_add(&p->all[i], p->next, number, service.at ?: "", at, head.len);
	return at + head.len;
}

static void undo(struct push *p)
{
	for (u32 i = 0; i < p->nr; i++)
		backlog_undo(&p->all[i].backlog, p->next, p->all[i].is_sending);
}

/* Requests of a minute are sent after `next` has passed it: a kill leaves all of them, or none. */
static void end_minute(struct push *p, const char *fault)
{
	int err;

	if (fault)
		undo(p);
	err = backlog_write_next(p->dir, p->next + 1);
	if (err && !fault)
		undo(p);
	if (err || fault)
		lose_minute(p, fault ?: strerror(-err));
	p->next++;
}

/*
 * Writes a few requests a turn: each write waits for the disk, and people wait for the page
 * meanwhile.
 */
static void keep_requests(struct push *p)
{
	const u8 *at = (const u8 *)p->made->at + p->nr_taken,
		 *end = (const u8 *)p->made->at + p->made->nr;

	for (int i = 0; i < AT_ONCE && at && at < end; i++) {
		at = p->number < PUSH_SERVICES * NR_RECEIVERS ? take_request(p, at, end, p->number)
							      : NULL;
		p->number++;
	}
	if (at && at < end) {
		p->nr_taken = (size_t)(at - (const u8 *)p->made->at);
		return;
	}
	payload_put(take(p->made));
	p->is_making = false;
	end_minute(p, at ? NULL : "the worker's result is malformed");
}

static void made(void *ctx, int err, struct payload *result)
{
	struct push *p = ctx;

	if (!err) {
		p->made = payload_get(result);
		p->nr_taken = p->number = 0;
		return;
	}
	p->is_making = false;
	if (err != -ECANCELED)
		end_minute(p, result ? result->at : strerror(-err));
}

static void make_minute(struct push *p)
{
	static const struct payload nothing = { 0 };
	const struct input in = {
		.store = p->sv->store,
		.kind = INPUT_SLICES,
		.from_ns = p->next * MINUTE_NS,
		.to_ns = (p->next + 1) * MINUTE_NS,
	};
	struct job_order order = {
		.task = WEB_PUSH,
		.params = { .from_wall_ns = in.from_ns,
			    .to_wall_ns = in.to_ns,
			    .kinds = p->kinds,
			    .share = p->o->share },
		.fds = { payload_file(&nothing), -1 },
		.open = input_open,
		.open_ctx = input_new(&in),
		.is_needed = true,
		.done = made,
		.ctx = p,
	};

	copy_text(order.params.host, sizeof(order.params.host), p->sv->host);
	copy_text(order.params.labels, sizeof(order.params.labels), p->o->labels);
	p->is_making = true;
	if (queue_add(p->sv->queue, &order)) {
		p->is_making = false;
		p->retry_ns = time_mono_ns() + RETRY_NS;
	}
}

/* A minute is over when a later slice is there: slices arrive in the order of time. */
static bool is_over(const struct push *p, u64 now_wall_ns)
{
	u64 end_ns = (p->next + 1) * MINUTE_NS;

	return now_wall_ns >= end_ns && (p->seen_ns >= end_ns || now_wall_ns - end_ns >= LATE_NS);
}

/* Minutes that receivers would not take any more are left out; the clock may have been set. */
static void choose_next(struct push *p, u64 now_wall_ns)
{
	u64 now = now_wall_ns / MINUTE_NS, most = p->o->limits.max_minutes;

	if (p->next + most < now)
		p->next = now - most;
	if (p->next > now + JUMP_MINUTES) {
		log_warn("push: the clock was set back; it goes on with the present");
		p->next = now;
	}
}

/*
 * Between two minutes all requests are of earlier ones, unless the clock was set back. Requests
 * from the future would hold up those behind them until their own minute comes.
 */
static void drop_ahead(struct delivery *d, u64 next)
{
	d->backlog.nr_ahead += backlog_undo(&d->backlog, next, d->is_sending);
}

static void tick_delivery(struct push *p, struct delivery *d, u64 now_ns)
{
	auto_str struct str text = { 0 };

	delivery_tick(d, now_ns, p->next);
	if (delivery_is_ok(d, now_ns) != d->is_failing)
		return;
	d->is_failing = !d->is_failing;
	delivery_explain(d, now_ns, &text);
	if (d->is_failing)
		log_warn("push to %s: %s", d->receiver.url, text.at);
	else
		log_info("push to %s works again", d->receiver.url);
}

void push_tick(struct push *p)
{
	if (!p)
		return;
	u64 now_ns = time_mono_ns(), wall_ns = time_wall_ns();
	for (u32 i = 0; i < p->nr; i++)
		tick_delivery(p, &p->all[i], now_ns);
	if (p->made)
		keep_requests(p);
	if (now_ns - p->looked_ns < LOOK_NS || p->is_making || now_ns < p->retry_ns)
		return;
	p->looked_ns = now_ns;
	for (u32 i = 0; i < p->nr; i++)
		backlog_expire(&p->all[i].backlog, wall_ns / MINUTE_NS, p->all[i].is_sending);
	choose_next(p, wall_ns);
	for (u32 i = 0; i < p->nr; i++)
		drop_ahead(&p->all[i], p->next);
	if (is_over(p, wall_ns))
		make_minute(p);
}

void push_saw_slice(struct push *p, u64 begin_wall_ns)
{
	if (!p)
		return;
	p->seen_ns = begin_wall_ns;
	p->nr_late += begin_wall_ns / MINUTE_NS < p->next;
}

static int open_folder(struct push *p)
{
	const struct web_push *o = p->o;
	char folders[RECEIVERS_MAX][RECEIVER_FOLDER_BYTES];

	p->dir = dir_open(p->sv->dir, FOLDER);
	if (p->dir < 0)
		return p->dir;
	p->next = backlog_read_next(p->dir) ?: time_wall_ns() / MINUTE_NS;
	choose_next(p, time_wall_ns());
	for (u32 i = 0; i < o->nr; i++) {
		receiver_folder(&o->receivers[i], folders[i]);
		int err = backlog_open(p->dir, folders[i], &o->limits, p->next, &p->all[i].backlog);
		if (err)
			return err;
		p->all[i].receiver = o->receivers[i];
		p->kinds |= 1u << o->receivers[i].kind;
		p->nr++;
	}
	u64 nr_left = backlog_remove_others(p->dir, folders, o->nr);
	if (nr_left)
		log_warn(
			"push: %llu requests to receivers that are not given any more were removed",
			(unsigned long long)nr_left);
	return 0;
}

int push_new(struct service *sv, const struct web_push *o, struct push **out)
{
	struct push *p = o ? xcalloc(1, sizeof(*p)) : NULL;

	if (!o)
		return 0;
	p->sv = sv;
	p->o = o;
	int err = open_folder(p);
	for (u32 i = 0; i < o->nr; i++) {
		if (!err)
			err = delivery_start(&p->all[i], &o->credentials[i]);
		credentials_wipe(&o->credentials[i]);
	}
	if (err) {
		log_error("push: cannot start: %s", strerror(-err));
		push_free(p);
		return err;
	}
	*out = p;
	return 0;
}

void push_free(struct push *p)
{
	if (!p)
		return;
	for (u32 i = 0; i < p->nr; i++)
		delivery_close(&p->all[i]);
	if (p->made)
		payload_put(p->made);
	if (p->dir >= 0)
		close(p->dir);
	free(p);
}

size_t push_polled(const struct push *p, struct pollfd *out)
{
	u32 nr = p ? p->nr : 0;

	for (u32 i = 0; i < nr; i++)
		out[i] = (struct pollfd){ http_client_fd(p->all[i].client), POLLIN, 0 };
	return nr;
}

bool push_is_broken(const struct push *p)
{
	for (u32 i = 0; p && i < p->nr; i++)
		if (p->all[i].is_broken)
			return true;
	return false;
}

static void explain(const struct push *p, const struct delivery *d, struct str *out)
{
	delivery_explain(d, time_mono_ns(), out);
	if (p->o->share.one_in > 1)
		str_addf(out, " One minute in %u is sent, more of them while the node is busy.",
			 p->o->share.one_in);
	if (p->nr_bad_minutes)
		str_addf(out, " %llu minute%s lost: %s.", (unsigned long long)p->nr_bad_minutes,
			 p->nr_bad_minutes == 1 ? " is" : "s are", p->why);
	if (p->nr_late)
		str_addf(out, " %llu slice%s too late for their minute.",
			 (unsigned long long)p->nr_late, p->nr_late == 1 ? " came" : "s came");
}

json_t *push_json(const struct push *p)
{
	json_t *list = json_array();

	for (u32 i = 0; p && i < p->nr; i++) {
		const struct delivery *d = &p->all[i];
		const struct backlog *b = &d->backlog;
		auto_str struct str text = { 0 };
		explain(p, d, &text);
		json_t *o =
			json_pack("{s:s,s:s,s:b,s:s,s:I,s:I,s:I,s:I,s:I}", "kind",
				  receiver_protocols[d->receiver.kind].name, "url", d->receiver.url,
				  "ok", delivery_is_ok(d, time_mono_ns()) && !loses_minutes(p),
				  "text", text.at, "sent", (json_int_t)d->counts.sent, "retries",
				  (json_int_t)d->counts.tried_again, "lost",
				  (json_int_t)delivery_lost(d), "waiting",
				  (json_int_t)b->waiting.nr, "waiting_bytes", (json_int_t)b->bytes);
		json_object_set_new(o, "since_ms",
				    json_integer((json_int_t)(d->since_wall_ns / NS_PER_MS)));
		json_array_append_new(list, o);
	}
	return list;
}

struct metric {
	const char *name, *type, *help, *labels;
	u64 (*value)(const struct delivery *d);
};

#define VALUE(name, expression)                   \
	static u64 name(const struct delivery *d) \
	{                                         \
		return expression;                \
	}
VALUE(sent, d->counts.sent)
VALUE(tried_again, d->counts.tried_again)
VALUE(waiting, d->backlog.waiting.nr)
VALUE(waiting_bytes, d->backlog.bytes)
VALUE(failures, d->nr_failures)
VALUE(refused, d->counts.refused)
VALUE(full, d->backlog.nr_full)
VALUE(old, d->backlog.nr_old)
VALUE(ahead, d->backlog.nr_ahead)
VALUE(not_kept, d->counts.not_kept)
VALUE(crashed, d->counts.crashed)

#define LOST(reason, value)                                                     \
	{                                                                       \
		"lost_total", "counter", "Profiles that were lost, by reason.", \
			",reason=\"" reason "\"", value                         \
	}

static const struct metric metrics[] = {
	{ "sent_total", "counter", "Profiles that a receiver took.", "", sent },
	{ "retries_total", "counter", "Requests that were not taken, and are sent again.", "",
	  tried_again },
	{ "failures", "gauge", "Failures since the last success.", "", failures },
	{ "waiting", "gauge", "Profiles that wait to be sent.", "", waiting },
	{ "waiting_bytes", "gauge", "Bytes that wait to be sent.", "", waiting_bytes },
	LOST("refused", refused),
	LOST("spool_full", full),
	LOST("too_old", old),
	LOST("clock_set_back", ahead),
	LOST("disk", not_kept),
	LOST("crash", crashed),
};

static void add_total(struct str *out, const char *name, const char *help, u64 value)
{
	str_addf(out,
		 "# HELP sysflame_push_%s %s\n# TYPE sysflame_push_%s counter\n"
		 "sysflame_push_%s %llu\n",
		 name, help, name, name, (unsigned long long)value);
}

void push_metrics(const struct push *p, struct str *out)
{
	const char *last = "";

	if (!p)
		return;
	for (size_t m = 0; m < ARRAY_SIZE(metrics); m++) {
		const struct metric *of = &metrics[m];
		if (strcmp(of->name, last))
			str_addf(out, "# HELP sysflame_push_%s %s\n# TYPE sysflame_push_%s %s\n",
				 of->name, of->help, of->name, of->type);
		last = of->name;
		for (u32 i = 0; i < p->nr; i++)
			str_addf(out, "sysflame_push_%s{kind=\"%s\",url=\"%s\"%s} %llu\n", of->name,
				 receiver_protocols[p->all[i].receiver.kind].name,
				 p->all[i].receiver.url, of->labels,
				 (unsigned long long)of->value(&p->all[i]));
	}
	add_total(out, "lost_minutes_total", "Minutes of which no profiles could be made.",
		  p->nr_bad_minutes);
	add_total(out, "late_slices_total", "Slices that came after their minute was sent.",
		  p->nr_late);
}
