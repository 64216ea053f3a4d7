/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles rendered by workers. Part of web/api/api.h. */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/dict.h"
#include "web/api/api.h"
#include "web/recordings/range.h"
#include "web/recordings/service.h"

/* The same id is another page after an upgrade or a rename, so browsers ask each time. */
#define REVALIDATE "private, no-cache"

/* The formats of downloads. The first one is the page itself. */
struct download {
	const char *format, *type, *extension;
};

static const struct download downloads[] = {
	{ "html", "text/html; charset=utf-8", "html" },
	{ "svg", "image/svg+xml", "svg" },
	{ "collapsed", "text/plain; charset=utf-8", "collapsed" },
	{ "pprof", "application/octet-stream", "pb.gz" },
	{ "json", "application/json", "json" },
	{ "otlp", "application/octet-stream", "otlp.pb" },
	{ "sflm", "application/octet-stream", "sflm" },
};

/* Letters and digits of a name, for a file's. The caller frees it. */
static char *file_name(const struct stored *s, const char *extension)
{
	struct str out = { 0 };

	for (const char *c = s->name; *c && out.len < 60; c++) {
		bool is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
				(*c >= '0' && *c <= '9');
		if (is_plain)
			str_add_char(&out, *c);
		else if (out.len && out.at[out.len - 1] != '-')
			str_add_char(&out, '-');
	}
	str_addf(&out, "%s%llu.%s", out.len && out.at[out.len - 1] != '-' ? "-" : "",
		 (unsigned long long)s->id, extension);
	return str_take(&out);
}

/* Sends the rendered profile. The options of the request are parsed again here. */
static void reply_rendered(struct request *q, struct payload *b, const struct stored *s,
			   const struct download *d, bool is_page)
{
	static const u8 key[SIPHASH_KEY_LEN] = "rendered";
	auto_free char *name = is_page ? NULL : file_name(s, d->extension);
	auto_free char *version = xasprintf("%s\n%s", SYSFLAME_VERSION, s->name);
	char etag[48];

	snprintf(etag, sizeof(etag), "\"%llu-%s-%016llx\"", (unsigned long long)s->id, d->format,
		 (unsigned long long)siphash(key, version, strlen(version)));
	const struct reply_form form = {
		.type = d->type,
		.policy = is_page ? POLICY_PAGE : POLICY_DATA,
		.cache = is_page ? REVALIDATE : NULL,
		.etag = is_page ? etag : NULL,
		.filename = name,
	};
	if (!b) {
		reply_unchanged(q, &form);
		return;
	}
	reply_payload(q, b, &form);
}

static const struct download *download_of(const struct request *q)
{
	const char *name = request_query(q, "format");

	for (size_t i = 0; name && i < ARRAY_SIZE(downloads); i++)
		if (!strcmp(downloads[i].format, name))
			return &downloads[i];
	return name ? NULL : &downloads[0];
}

static void finish(struct request *q, int err, struct payload *result, bool is_page)
{
	struct stored s;

	err = err ?: store_get(q->service->store, q->id, &s);
	if (err) {
		reply_job_error(q, err, result, "render the profile");
		return;
	}
	reply_rendered(q, result, &s, is_page ? &downloads[0] : download_of(q), is_page);
	stored_fini(&s);
}

static void page_rendered(void *ctx, int err, struct payload *result)
{
	finish(ctx, err, result, true);
}

static void download_rendered(void *ctx, int err, struct payload *result)
{
	finish(ctx, err, result, false);
}

static int render(struct request *q, const struct stored *s, const char *format, job_done_fn done)
{
	auto_free char *key = xasprintf("%llu %s %s", (unsigned long long)s->id, format, s->name);
	struct job_order order = {
		.task = WEB_CONVERT,
		.params = { .nr_inputs = 1 },
		.fds = { store_open_file(q->service->store, s->id), -1 },
		.key = key,
		.is_immutable = true,
		.done = done,
		.ctx = q,
	};

	if (order.fds[0] < 0)
		return order.fds[0];
	copy_text(order.params.format, sizeof(order.params.format), format);
	copy_text(order.params.title, sizeof(order.params.title), s->name);
	return queue_add(q->service->queue, &order);
}

/* The profile of the request, if it has a file; replies otherwise. */
static bool find(struct request *q, struct stored *s)
{
	int err = store_get(q->service->store, q->id, s);

	if (err) {
		reply_errno(q, err, "find the profile");
		return false;
	}
	if (s->state != STORED_FAILED)
		return true;
	reply_error(q, ERROR_UNKNOWN_ID, NULL, "There is no profile: %s", s->error);
	stored_fini(s);
	return false;
}

void api_page(struct request *q)
{
	struct stored s;

	if (!find(q, &s))
		return;
	if (request_header(q, "If-None-Match"))
		reply_rendered(q, NULL, &s, &downloads[0], true);
	int err = q->response ? 0 : render(q, &s, downloads[0].format, page_rendered);
	stored_fini(&s);
	if (err)
		reply_errno(q, err, "render the profile");
	else
		request_await(q);
}

static void send_file(struct request *q, const struct stored *s, const struct download *d)
{
	auto_free char *name = file_name(s, d->extension);
	const struct reply_form form = { .type = d->type, .filename = name };
	int fd = store_open_file(q->service->store, s->id);

	if (fd < 0)
		reply_errno(q, fd, "open the profile");
	else
		reply_fd(q, fd, &form);
}

void api_download(struct request *q)
{
	const struct download *d = download_of(q);
	struct stored s;
	int err = 0;

	if (!d) {
		reply_error(q, ERROR_BAD_REQUEST, "format",
			    "\"format\" must be html, svg, collapsed, pprof, json, otlp or sflm.");
		return;
	}
	if (!find(q, &s))
		return;
	if (!strcmp(d->format, "sflm"))
		send_file(q, &s, d);
	else
		err = render(q, &s, d->format, download_rendered);
	stored_fini(&s);
	if (err)
		reply_errno(q, err, "render the profile");
	else
		request_await(q);
}

static void range_rendered(void *ctx, int err, struct payload *result)
{
	static const struct reply_form form = { .type = "text/html; charset=utf-8",
						.policy = POLICY_PAGE };

	const struct request *q = ctx;
	const struct range r = RANGE_ALL(q->from_ms, q->to_ms);

	if (err)
		range_reply_error(ctx, err, result, &r, "render the time range");
	else
		reply_payload(ctx, result, &form);
}

void api_range_page(struct request *q)
{
	struct range r = RANGE_ALL(q->from_ms, q->to_ms);

	if (!request_query_text(q, "event", RANGE_EVENT_MAX, &r.event) ||
	    !request_query_text(q, "service", RANGE_TEXT_MAX, &r.service) ||
	    !request_query_text(q, "container", RANGE_TEXT_MAX, &r.container) ||
	    !request_query_text(q, "pod", RANGE_TEXT_MAX, &r.pod) ||
	    !request_query_text(q, "comm", RANGE_COMM_MAX, &r.comm) ||
	    !request_query_text(q, "with", RANGE_WITH_MAX, &r.with) ||
	    !request_query_u64(q, "pid", 1, RANGE_PID_MAX, &r.pid))
		return;
	if (!range_has_valid_label(q, &r))
		return;
	if (!range_is_valid(&r)) {
		reply_error(q, ERROR_OUT_OF_RANGE, NULL,
			    "The range must end after it begins, and have at most 31 days.");
		return;
	}
	range_widen(q->service, &r);
	int err = range_render(q->service, &r, "html", range_rendered, q);
	if (err)
		reply_errno(q, err, "render the time range");
	else
		request_await(q);
}
