/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP request and its reply. */
#include "web/http/request.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/str.h"
#include "export/writers/markup.h"
#include "web/http/route.h"
#include "web/http/site.h"

struct error_form {
	unsigned status;
	const char *name;
};

static const struct error_form errors[] = {
	[ERROR_BAD_REQUEST] = { 400, "bad_request" },
	[ERROR_OUT_OF_RANGE] = { 400, "out_of_range" },
	[ERROR_UNKNOWN_ID] = { 404, "unknown_id" },
	[ERROR_FORBIDDEN] = { 403, "forbidden" },
	[ERROR_METHOD] = { 405, "method_not_allowed" },
	[ERROR_LOGIN_REQUIRED] = { 401, "login_required" },
	[ERROR_TOO_LARGE] = { 413, "too_large" },
	[ERROR_BUSY] = { 503, "busy" },
	[ERROR_NOT_SUPPORTED] = { 409, "not_supported" },
	[ERROR_DISK_FULL] = { 507, "disk_full" },
	[ERROR_RECORDER_DOWN] = { 503, "recorder_down" },
	[ERROR_INTERNAL] = { 500, "internal" },
};

static const char *const policies[] = {
	[POLICY_DATA] = "default-src 'none'; frame-ancestors 'none'; sandbox",
	[POLICY_UI] = "default-src 'none'; script-src 'self'; style-src 'self'; "
		      "img-src 'self' data:; connect-src 'self'; frame-src 'self'; "
		      "form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
	/* The page itself names the hashes of its scripts, which both policies must allow. */
	[POLICY_PAGE] = "sandbox allow-scripts allow-downloads; default-src 'none'; "
			"script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
			"img-src data: blob:; worker-src blob:; "
			"form-action 'none'; frame-ancestors 'self'; base-uri 'none'",
};

struct request *request_new(const struct site *site, struct service *sv,
			    struct MHD_Connection *connection)
{
	struct request *q = xcalloc(1, sizeof(*q));

	q->site = site;
	q->service = sv;
	q->connection = connection;
	q->upload_fd = -1;
	return q;
}

void request_free(struct request *q)
{
	if (!q)
		return;
	if (q->response)
		MHD_destroy_response(q->response);
	if (q->upload_fd >= 0)
		close(q->upload_fd);
	json_decref(q->json);
	str_fini(&q->body);
	free(q);
}

const char *request_query(const struct request *q, const char *name)
{
	return MHD_lookup_connection_value(q->connection, MHD_GET_ARGUMENT_KIND, name);
}

const char *request_header(const struct request *q, const char *name)
{
	return MHD_lookup_connection_value(q->connection, MHD_HEADER_KIND, name);
}

const char *request_who(const struct request *q)
{
	static const char *const who[] = {
		[ROLE_NONE] = "nobody",
		[ROLE_VIEWER] = "viewer",
		[ROLE_OPERATOR] = "operator",
	};

	return who[q->role];
}

/* An MHD_KeyValueIterator: adds a part of the query. */
static enum MHD_Result add_argument(void *ctx, enum MHD_ValueKind kind, const char *key,
				    const char *value)
{
	struct str *query = ctx;

	str_add_char(query, strchr(query->at ?: "", '?') ? '&' : '?');
	address_add(query, key);
	if (value) {
		str_add_char(query, '=');
		address_add(query, value);
	}
	return MHD_YES;
}

void request_add_query(const struct request *q, struct str *address)
{
	MHD_get_connection_values(q->connection, MHD_GET_ARGUMENT_KIND, add_argument, address);
}

bool request_query_u64(struct request *q, const char *name, u64 min, u64 max, u64 *out)
{
	const char *text = request_query(q, name);
	size_t digits = text ? strspn(text, "0123456789") : 0;

	if (!text || !*text)
		return true;
	if (text[digits]) {
		reply_error(q, ERROR_BAD_REQUEST, name, "\"%s\" is not a whole number.", name);
		return false;
	}
	errno = 0;
	u64 value = strtoull(text, NULL, 10);
	if (errno || value < min || value > max) {
		reply_error(q, ERROR_OUT_OF_RANGE, name, "\"%s\" must be between %llu and %llu.",
			    name, (unsigned long long)min, (unsigned long long)max);
		return false;
	}
	*out = value;
	return true;
}

bool request_query_text(struct request *q, const char *name, size_t max, const char **out)
{
	const char *text = request_query(q, name);

	if (!text)
		return true;
	if (!utf8_is_clean(text, max)) {
		reply_error(q, ERROR_OUT_OF_RANGE, name,
			    "\"%s\" must be UTF-8 of at most %zu bytes without control characters.",
			    name, max);
		return false;
	}
	*out = text;
	return true;
}

void request_await(struct request *q)
{
	if (q->response)
		return;
	q->is_suspended = true;
	MHD_suspend_connection(q->connection);
}

static void add_headers(struct request *q, struct MHD_Response *r, const struct reply_form *f)
{
	MHD_add_response_header(r, "Content-Type", f->type);
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(r, "Cross-Origin-Resource-Policy", "same-origin");
	MHD_add_response_header(r, "Content-Security-Policy", policies[f->policy]);
	MHD_add_response_header(r, "Cache-Control", f->cache ?: "no-store");
	if (f->etag)
		MHD_add_response_header(r, "ETag", f->etag);
	if (f->filename) {
		auto_free char *value = xasprintf("attachment; filename=\"%s\"", f->filename);
		MHD_add_response_header(r, "Content-Disposition", value);
	}
}

static void reply_with(struct request *q, unsigned status, struct MHD_Response *r,
		       const struct reply_form *form)
{
	if (q->response || !r) {
		if (r)
			MHD_destroy_response(r);
		return;
	}
	add_headers(q, r, form);
	q->response = r;
	q->status = status;
	if (q->is_suspended) {
		q->is_suspended = false;
		MHD_resume_connection(q->connection);
	}
}

static struct MHD_Response *copied(const char *text)
{
	return MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY);
}

static void put(void *payload)
{
	payload_put(payload);
}

void reply_payload(struct request *q, struct payload *b, const struct reply_form *form)
{
	struct MHD_Response *r = MHD_create_response_from_buffer_with_free_callback_cls(
		b->nr, b->at, put, payload_get(b));

	reply_with(q, 200, r, form);
}

void reply_static(struct request *q, const void *bytes, size_t nr, const struct reply_form *form)
{
	reply_with(q, 200,
		   MHD_create_response_from_buffer(nr, (void *)bytes, MHD_RESPMEM_PERSISTENT),
		   form);
}

void reply_fd(struct request *q, int fd, const struct reply_form *form)
{
	struct stat st;

	if (fstat(fd, &st)) {
		close(fd);
		reply_errno(q, -EIO, "read the file");
		return;
	}
	reply_with(q, 200, MHD_create_response_from_fd64((u64)st.st_size, fd), form);
}

void reply_response(struct request *q, struct MHD_Response *response, const struct reply_form *form)
{
	reply_with(q, 200, response, form);
}

void reply_json(struct request *q, unsigned status, json_t *json)
{
	static const struct reply_form form = { .type = "application/json" };
	char *text = json ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(10)) : NULL;

	json_decref(json);
	if (!text) {
		reply_error(q, ERROR_INTERNAL, NULL, "A text is not valid UTF-8.");
		return;
	}
	reply_with(q, status,
		   MHD_create_response_from_buffer_with_free_callback(strlen(text), text, free),
		   &form);
}

void reply_id(struct request *q, u64 id)
{
	reply_json(q, 201, json_pack("{s:I}", "id", (json_int_t)id));
}

void reply_text(struct request *q, unsigned status, const char *text)
{
	static const struct reply_form form = { .type = "text/plain; charset=utf-8" };

	reply_with(q, status, copied(text), &form);
}

void reply_redirect(struct request *q, const char *to, const char *cookie)
{
	static const struct reply_form form = { .type = "text/plain; charset=utf-8" };
	struct MHD_Response *r = copied("");

	MHD_add_response_header(r, "Location", to);
	if (cookie)
		MHD_add_response_header(r, "Set-Cookie", cookie);
	reply_with(q, 303, r, &form);
}

bool reply_unchanged(struct request *q, const struct reply_form *form)
{
	const char *known = request_header(q, "If-None-Match");

	if (!known || !form->etag || !strstr(known, form->etag))
		return false;
	reply_with(q, 304, copied(""), form);
	return true;
}

/* Whether a person sees the reply: a browser opens a page. */
static bool is_seen(const struct request *q)
{
	const char *accept = request_header(q, "Accept");

	return (!q->route || q->route->is_page) && accept && strstr(accept, "text/html");
}

static struct MHD_Response *page_of(const struct request *q, const char *message)
{
	const char *prefix = q->site->prefix;
	auto_str struct str clean = { 0 };
	struct str page = { 0 };
	FILE *f = open_memstream(&page.at, &page.len);

	if (!f)
		return copied("");
	utf8_clean(&clean, message, 2000);
	fprintf(f,
		"<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
		"<title>sysflame</title><link rel=\"icon\" href=\"data:,\">"
		"<link rel=\"stylesheet\" href=\"%s/app.css\"></head><body><main>"
		"<h1>sysflame</h1><p class=\"card note\" role=\"alert\">",
		prefix);
	markup_escape(clean.at ?: "", f);
	fprintf(f,
		"</p><p><a href=\"%s/\" target=\"_top\">All profiles</a></p></main></body></html>",
		prefix);
	fclose(f);
	struct MHD_Response *r = copied(page.at);
	free(page.at);
	return r;
}

static struct MHD_Response *json_of(enum api_error type, const char *field, const char *message)
{
	auto_str struct str clean = { 0 };

	utf8_clean(&clean, message, 2000);
	json_t *o = json_pack("{s:{s:s,s:s}}", "error", "type", errors[type].name, "message",
			      clean.at ?: "");
	if (field)
		json_object_set_new(json_object_get(o, "error"), "field", json_string(field));
	auto_free char *text = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	return copied(text ?: "{}");
}

/* HTTP requires these headers (RFC 9110). */
static void add_error_headers(const struct request *q, enum api_error type, struct MHD_Response *r)
{
	if (type == ERROR_BUSY || type == ERROR_RECORDER_DOWN)
		MHD_add_response_header(r, "Retry-After", "2");
	/* Basic would have browsers keep the token, and add it to links of other sites. */
	if (type == ERROR_LOGIN_REQUIRED)
		MHD_add_response_header(r, "WWW-Authenticate", "Bearer");
	if (type == ERROR_METHOD)
		MHD_add_response_header(r, "Allow", q->allowed);
	if (q->route && q->route->is_pprof)
		MHD_add_response_header(r, "X-Go-Pprof", "1");
}

static void reply_message(struct request *q, enum api_error type, const char *field,
			  const char *message)
{
	static const struct reply_form json = { .type = "application/json" },
				       plain = { .type = "text/plain; charset=utf-8" },
				       html = { .type = "text/html; charset=utf-8",
						.policy = POLICY_UI };
	bool is_plain = q->route && q->route->is_plain, is_page = !is_plain && is_seen(q);
	auto_free char *line = xasprintf("%s\n", message);
	struct MHD_Response *r = is_plain  ? copied(line)
				 : is_page ? page_of(q, message)
					   : json_of(type, field, message);

	add_error_headers(q, type, r);
	reply_with(q, errors[type].status, r, is_plain ? &plain : is_page ? &html : &json);
}

void reply_error(struct request *q, enum api_error type, const char *field, const char *fmt, ...)
{
	auto_free char *message = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&message, fmt, args) < 0)
		message = NULL;
	va_end(args);
	reply_message(q, type, field, message ?: "");
}

void reply_job_error(struct request *q, int err, const struct payload *result, const char *doing)
{
	if (err == -EBADMSG && result)
		reply_error(q, ERROR_BAD_REQUEST, NULL, "%s", result->at);
	else
		reply_errno(q, err, doing);
}

void reply_errno(struct request *q, int err, const char *doing)
{
	enum api_error type = ERROR_INTERNAL;
	const char *why = strerror(-err);

	if (err == -ENOENT || err == -ESRCH) {
		type = ERROR_UNKNOWN_ID;
		why = "there is none with this number";
	} else if (err == -ENOSPC || err == -EROFS || err == -EDQUOT) {
		type = ERROR_DISK_FULL;
		why = err == -EROFS ? "the disk is read-only" : "the disk is full";
	} else if (err == -EBUSY) {
		type = ERROR_BUSY;
		why = "too many requests wait for a worker";
	} else if (err == -EFBIG || err == -E2BIG) {
		type = ERROR_TOO_LARGE;
		why = "it is too large";
	} else if (err == -ETIMEDOUT) {
		type = ERROR_TOO_LARGE;
		why = "it takes too much time";
	} else if (err == -EPIPE) {
		why = "the worker ended: the file is damaged, or needs too much memory";
	} else if (err == -EINVAL || err == -EBADMSG || err == -EPROTO || err == -ENOTSUP) {
		type = ERROR_BAD_REQUEST;
		why = "the content is damaged or of an unknown format";
	} else if (err == -ECANCELED) {
		type = ERROR_BUSY;
		why = "the daemon ends";
	}
	reply_error(q, type, NULL, "Could not %s: %s.", doing, why);
}

bool field_text(struct request *q, const json_t *o, const char *name, size_t max, const char **out)
{
	const json_t *v = json_object_get(o, name);

	if (!v)
		return true;
	if (!json_is_string(v)) {
		reply_error(q, ERROR_BAD_REQUEST, name, "\"%s\" must be a text.", name);
		return false;
	}
	if (json_string_length(v) != strlen(json_string_value(v)) ||
	    !utf8_is_clean(json_string_value(v), max)) {
		reply_error(q, ERROR_OUT_OF_RANGE, name,
			    "\"%s\" must have at most %zu bytes and no control characters.", name,
			    max);
		return false;
	}
	*out = json_string_value(v);
	return true;
}

bool field_u64(struct request *q, const json_t *o, const char *name, u64 min, u64 max, u64 *out)
{
	const json_t *v = json_object_get(o, name);

	if (!v)
		return true;
	if (!json_is_integer(v)) {
		reply_error(q, ERROR_BAD_REQUEST, name, "\"%s\" must be a whole number.", name);
		return false;
	}
	json_int_t value = json_integer_value(v);
	if (value < 0 || (u64)value < min || (u64)value > max) {
		reply_error(q, ERROR_OUT_OF_RANGE, name, "\"%s\" must be between %llu and %llu.",
			    name, (unsigned long long)min, (unsigned long long)max);
		return false;
	}
	*out = (u64)value;
	return true;
}

bool field_bool(struct request *q, const json_t *o, const char *name, bool *out)
{
	const json_t *v = json_object_get(o, name);

	if (v && !json_is_boolean(v)) {
		reply_error(q, ERROR_BAD_REQUEST, name, "\"%s\" must be true or false.", name);
		return false;
	}
	if (v)
		*out = json_is_true(v);
	return true;
}

static bool is_in(const char *const *names, const char *name)
{
	for (; *names; names++)
		if (!strcmp(*names, name))
			return true;
	return false;
}

bool fields_are_known(struct request *q, const json_t *o, const char *const *names)
{
	const char *name;
	json_t *v;

	json_object_foreach((json_t *)o, name, v)
	{
		if (is_in(names, name))
			continue;
		reply_error(q, ERROR_BAD_REQUEST, NULL, "There is no field \"%.64s\" here.", name);
		return false;
	}
	return true;
}
