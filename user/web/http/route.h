/* SPDX-License-Identifier: Apache-2.0 */
/* The paths that the server knows, as a table. */
#pragma once

#include "web/http/request.h"

enum body_kind {
	BODY_NONE,
	BODY_JSON,   /* an object of at most BODY_JSON_MAX bytes, in request.json */
	BODY_FORM,   /* application/x-www-form-urlencoded, in request.body */
	BODY_UPLOAD, /* a file of at most BODY_UPLOAD_MAX bytes, in request.upload_fd */
};

#define BODY_JSON_MAX   (64u << 10)
#define BODY_UPLOAD_MAX (64u << 20)

struct route {
	const char *method; /* "GET" or "POST" */
	/* Without the prefix. ID stands for a number, KEY for a word, FILE for a name with an
	 * extension, and FROM-TO for two numbers. */
	const char *pattern;
	enum role role; /* at least; ROLE_NONE: no login is needed */
	enum body_kind body;
	void (*handle)(struct request *q);
	bool is_page;     /* without a login, the browser is sent to the login page */
	bool is_plain;    /* errors are plain text */
	bool is_pprof;    /* errors are marked as Go's net/http/pprof does */
	bool is_change;   /* has effects although it is a GET */
	bool has_basic;   /* the token may be the password of Basic authentication */
	bool is_any_host; /* any Host header is accepted */
	bool is_stream;   /* its reply has no end: it may take any time */
};

/*
 * Finds the route of a path, which begins after the prefix and its slash, in a table, whose last
 * entry has no method; fills the parts of the path into `q`. HEAD uses the route of GET, except
 * where GET changes something. Returns NULL if there is no route for the method; q->allowed then
 * lists the methods that the path has.
 */
const struct route *route_find(const struct route *routes, const char *method, const char *path,
			       struct request *q);
