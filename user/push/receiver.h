/* SPDX-License-Identifier: Apache-2.0 */
/* The receivers that profiles are pushed to. */
#pragma once

#include "base/str.h"
#include "base/types.h"
#include "net/http_client.h"

#define RECEIVERS_MAX    4
#define RECEIVER_URL_MAX 256

/* Persistent in the names of spool folders. */
enum receiver_kind {
	RECEIVER_OTLP,
	RECEIVER_PYROSCOPE,
	RECEIVER_PARCA,
	NR_RECEIVERS,
};

struct receiver_protocol {
	const char *name;     /* of --push, and of files */
	const char *path;     /* of requests */
	const char *type;     /* of their content */
	const char *encoding; /* of their content; NULL: none */
};
extern const struct receiver_protocol receiver_protocols[NR_RECEIVERS];

struct receiver {
	enum receiver_kind kind;
	char url[RECEIVER_URL_MAX];     /* as it was given, without a slash at its end */
	char request[RECEIVER_URL_MAX]; /* the address of requests */
	size_t origin_len;              /* of "https://host:port" in `url` */
};

/* Parses "KIND=URL", as in otlp=https://host:4318. -EINVAL and a sentence. */
int receiver_parse(const char *text, struct receiver *out, struct str *why);

/*
 * Logs a warning that begins with `option` if requests, and with them the token, go over the
 * network in plain text.
 */
void receiver_warn_of_plain_text(const struct receiver *r, const char *option);

/* The name of the receiver's folder in the spool, made from its kind and address. */
#define RECEIVER_FOLDER_BYTES 40
void receiver_folder(const struct receiver *r, char name[RECEIVER_FOLDER_BYTES]);

/*
 * Look at an answer in the process that sends: `why` gets the receiver's own words, `value` the
 * number of profiles that it did not take although it said 200 (OTLP's partial success).
 */
void receiver_judge(struct http_finding *f, const char *bytes, size_t len);
void receiver_judge_otlp(struct http_finding *f, const char *bytes, size_t len);
