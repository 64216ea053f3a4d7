/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests over HTTP and HTTPS to servers that are named at the start. A process of its own makes
 * them, because servers may be hostile and libcurl is large: the process has no capability, opens
 * no file but those of name resolution and certificates, and sees the descriptors that it is
 * handed. It is the only user of libcurl (net/http_client_task.c). Credentials go to the address of
 * their own server only. Answers have a limit of bytes and of time. Nothing here blocks.
 */
#pragma once

#include "base/types.h"

#define HTTP_HEADERS_MAX 12
#define HTTP_PATH_MAX    1024
#define HTTP_BODY_MAX    1024
#define HTTP_WHY_MAX     256

enum http_fault {
	HTTP_ANSWERED, /* there is a status */
	HTTP_SILENT,   /* the server cannot be reached, says nothing, or is too slow */
	HTTP_TOO_LONG, /* the answer has more than max_bytes */
	HTTP_BROKEN,   /* any other reason */
};

/* The outcome of a request, as the sending process saw it; a judge may write `why` and `value`. */
struct http_finding {
	u32 fault;         /* enum http_fault */
	u32 status;        /* of HTTP; 0: there was no answer */
	u32 retry_after_s; /* when the server wants the request again; 0: the server did not say */
	u64 len;           /* bytes of the answer */
	u64 value;         /* a number that only the server's judge knows */
	char why[HTTP_WHY_MAX]; /* a phrase; "" if there is nothing to say */
};

/*
 * Looks at an answer inside the process without rights, where a parser of hostile bytes belongs.
 * `bytes` end in a NUL that `len` does not count.
 */
typedef void (*http_judge_fn)(struct http_finding *f, const char *bytes, size_t len);

/* All texts are owned; NULL if missing. */
struct http_server {
	char *url;                       /* the path of a request is appended */
	char *headers[HTTP_HEADERS_MAX]; /* "Name: value" */
	char *basic;                     /* "user:password" */
	char *ca;     /* certificates (PEM) that the server is checked by; NULL: the system's */
	char *socket; /* path of the unix socket where the server listens; NULL: that of the URL */
	/* uses the proxy named by the environment, which sees the credentials of plain http */
	bool uses_proxy;
	/* redirects that are followed; 0: a redirect is an answer like any other */
	u32 redirects;
	u32 connect_s;       /* time limit; 0: 10 s */
	u32 quiet_s;         /* a transfer below 1 KiB/s for so long has failed; 0: no limit */
	http_judge_fn judge; /* NULL: none */
};

/* Takes over the header's text. Further headers than HTTP_HEADERS_MAX are freed and left out. */
void http_server_add_header(struct http_server *s, char *header);

/* Adds "Authorization: Bearer TOKEN". */
void http_server_add_bearer(struct http_server *s, const char *token);

/* Overwrites the credentials, and frees all texts. */
void http_server_wipe(struct http_server *s);

struct http_client_options {
	const char *name;                  /* of the process; the kernel shows 15 bytes of it */
	const struct http_server *servers; /* the caller may wipe them after the start */
	u32 nr_servers;
	u64 max_bytes; /* most bytes of any answer: the process can write no larger file */
	u32 max_open;  /* requests at a time; others wait in their order */
};

struct http_request {
	u32 server;       /* index in the options */
	const char *path; /* "/api/v1/node"; "" for the server's URL as it is */
	const char *json; /* the body of a POST; NULL: `body_fd` */
	int body_fd;      /* a file that is posted whole; 0: this is a GET if `json` is NULL */
	int answer_fd;    /* a file that gets the answer; 0: the client keeps it in memory */
	u64 max_bytes;
	u32 timeout_s; /* for the request with its answer */
	/* an answer longer than `max_bytes` is cut and does not count as a failure */
	bool cuts;
};

struct http_answer {
	struct http_finding found;
	bool is_lost; /* the process ended meanwhile: whether the server has the request is unknown
		       */
	const char *bytes; /* end in a NUL that found.len does not count; "" with an answer_fd */
};

typedef void (*http_answer_fn)(void *ctx, const struct http_answer *a);

struct http_client;

/*
 * Starts the process that sends. Call it while this process still has the right to fork. The
 * process is started again after a crash. -ENOTSUP: this build is static, without libcurl. Negative
 * errno.
 */
int http_client_start(const struct http_client_options *o, struct http_client **out);

/* Ends the process. Open requests get no answer. Accepts NULL. */
void http_client_free(struct http_client *c);

/* Readable when http_client_step has something to do. */
int http_client_fd(const struct http_client *c);

/*
 * Calls `done` once, from http_client_step. The descriptors stay the caller's, who may close them.
 * -E2BIG if path or body are too long.
 */
int http_client_add(struct http_client *c, const struct http_request *r, http_answer_fn done,
		    void *ctx);

/* Ends the requests with this `ctx`: `done` is not called for them. Not from within `done`. */
void http_client_cancel(struct http_client *c, const void *ctx);

/*
 * Takes answers and sends requests; call it when http_client_fd is readable, and several times a
 * second. -EPIPE: the process has ended for good, and nothing is answered any more.
 */
int http_client_step(struct http_client *c);

/* Between the two processes. */

/*
 * A request as a packet, sent with the descriptors of the answer and, if `has_file`, of the body.
 * With `is_cancel` and no descriptor: the request of that number is to end.
 */
struct http_order {
	u32 number, server, timeout_s;
	bool is_post, has_file, cuts, is_cancel;
	u64 max_bytes;
	char path[HTTP_PATH_MAX], json[HTTP_BODY_MAX];
};

struct http_event {
	u32 number; /* 0: the process has started, and has no order now */
	struct http_finding found;
};

/* Serves until the other end of `sock` is closed. `ctx`: http_client_options. An exit status. */
int http_client_run(int sock, const void *ctx);
