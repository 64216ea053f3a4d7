/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP request, its parameters and its reply. Every reply gets security headers. */
#pragma once

#include <jansson.h>

#include "base/str.h"
#include "web/jobs/payload.h"

struct MHD_Connection;
struct MHD_Response;
struct route;
struct service;
struct site;

enum role {
	ROLE_NONE,
	ROLE_VIEWER,
	ROLE_OPERATOR,
};

/* The types of errors; statuses and names are in request.c. */
enum api_error {
	ERROR_BAD_REQUEST,
	ERROR_OUT_OF_RANGE,
	ERROR_UNKNOWN_ID,
	ERROR_FORBIDDEN,
	ERROR_METHOD,
	ERROR_LOGIN_REQUIRED,
	ERROR_TOO_LARGE,
	ERROR_BUSY,
	ERROR_NOT_SUPPORTED,
	ERROR_DISK_FULL,
	ERROR_RECORDER_DOWN,
	ERROR_INTERNAL,
};

/* The Content-Security-Policy of a reply. */
enum policy {
	POLICY_DATA, /* nothing */
	POLICY_UI,   /* scripts and styles of this server */
	POLICY_PAGE, /* a flame graph: its own scripts, apart from everything here */
};

struct request {
	const struct site *site;
	struct service *service; /* of the handlers; opaque here */
	struct MHD_Connection *connection;
	const struct route *routes; /* all that the server has */
	const struct route *route;  /* NULL if none has path and method */
	char allowed[24];           /* for Allow: the methods of the path; "" if no route has it */
	enum role role;
	u64 id;             /* ID in the path */
	u64 from_ms, to_ms; /* FROM-TO in the path */
	char word[32];      /* KEY or FILE in the path */
	struct str body;    /* JSON, or a form */
	json_t *json;       /* an object if the route has a body of JSON */
	int upload_fd;      /* -1, or a memory file */
	u64 body_bytes;

	struct MHD_Response *response; /* NULL: none yet */
	unsigned status;
	bool is_handled, is_suspended, is_too_large;

	/* Called within a second when the client of a request that waits hangs up; or NULL. */
	void (*on_hangup)(struct request *q);
};

struct request *request_new(const struct site *site, struct service *sv,
			    struct MHD_Connection *connection);
void request_free(struct request *q);

/* A part of the query in the address, or a header; NULL if it is missing. */
const char *request_query(const struct request *q, const char *name);
const char *request_header(const struct request *q, const char *name);

/* Appends the query of the request, from its '?' on, to an address. */
void request_add_query(const struct request *q, struct str *address);

/* "operator", "viewer" or "nobody". */
const char *request_who(const struct request *q);

/*
 * A decimal number of the query within [min, max]; `*out` stays if it is missing. Replies with an
 * error and returns false if it is something else.
 */
bool request_query_u64(struct request *q, const char *name, u64 min, u64 max, u64 *out);

/* As above, for a text of at most `max` bytes without control characters. */
bool request_query_text(struct request *q, const char *name, size_t max, const char **out);

/*
 * Suspends the request until one of the functions below replies. Does nothing if there is a reply
 * already.
 */
void request_await(struct request *q);

/* The first reply counts. `json` is taken over. */
void reply_json(struct request *q, unsigned status, json_t *json);
void reply_id(struct request *q, u64 id);
void reply_text(struct request *q, unsigned status, const char *text);
void reply_redirect(struct request *q, const char *to, const char *cookie);

/* `field` may be NULL. The message is a sentence. */
void reply_error(struct request *q, enum api_error type, const char *field, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The error for a negative errno of the store or of a job; `doing`: "read the profile". */
void reply_errno(struct request *q, int err, const char *doing);

/* As reply_errno, for the arguments of a job_done_fn (web/jobs/queue.h). */
void reply_job_error(struct request *q, int err, const struct payload *result, const char *doing);

struct reply_form {
	const char *type;
	enum policy policy;
	const char *cache;    /* Cache-Control; NULL: no-store */
	const char *etag;     /* NULL: none; with its quotes */
	const char *filename; /* NULL: it is no attachment */
};

void reply_payload(struct request *q, struct payload *b, const struct reply_form *form);
void reply_static(struct request *q, const void *bytes, size_t nr, const struct reply_form *form);

/* Takes the descriptor over. */
void reply_fd(struct request *q, int fd, const struct reply_form *form);

/* Bytes that a callback supplies (MHD_create_response_from_callback); taken over. */
void reply_response(struct request *q, struct MHD_Response *response,
		    const struct reply_form *form);

/* Replies 304 and returns true if the client already has the reply with this ETag. */
bool reply_unchanged(struct request *q, const struct reply_form *form);

/*
 * The fields of a JSON object in a request. Each function replies with a typed error and returns
 * false if the field is not what it should be. A missing field leaves *out as it is.
 */

/* UTF-8 of at most `max` bytes without control characters; *out lives as long as the object. */
bool field_text(struct request *q, const json_t *o, const char *name, size_t max, const char **out);

/* A whole number within [min, max]. */
bool field_u64(struct request *q, const json_t *o, const char *name, u64 min, u64 max, u64 *out);
bool field_bool(struct request *q, const json_t *o, const char *name, bool *out);

/*
 * Refuses fields that are not in the list, which ends in NULL. Otherwise a misspelt field would be
 * ignored without a message.
 */
bool fields_are_known(struct request *q, const json_t *o, const char *const *names);
