/* SPDX-License-Identifier: Apache-2.0 */
/* A node of a fleet without NATS, and what it works on. Private to the files http_*.c. */
#pragma once

#include <jansson.h>

#include "fleet/fetch.h"
#include "fleet/member.h"

#define HTTP_SERVICES_S 600 /* a service that used the CPU since then runs */

/* A request that a daemon works on. */
struct http_errand {
	struct http_node *node;
	u32 number;
	u64 session;    /* 0: none */
	u64 look_ns;    /* when to look for the profile next; 0: somebody looks */
	u64 give_up_ns; /* it must be there by then */
	u64 samples, lost, covered_ms;
	bool is_stopped;
};

struct http_service {
	char *name;
	u64 total_ms;
};

/* Messages to controllers, for http_fleet_step. */
struct http_letter {
	char *subject, *bytes; /* owned */
	size_t len;
};

struct http_letters {
	VEC(struct http_letter) all;
};

struct http_node {
	struct fetcher *fetcher; /* both are of the fleet */
	struct http_letters *letters;
	u32 index;                  /* in the file */
	char name[64], labels[256]; /* with node=NAME */
	char why[256];              /* it cannot be asked; "" */
	bool is_ready;
	struct member *member; /* NULL: not yet, or it cannot be asked */
	struct member_host host;
	struct member_facts facts;
	VEC(struct http_service) services;
	VEC(struct http_errand *) errands;
};

/* Asks a node; hands out a message of its member. */
void http_fetch(struct http_node *n, const struct fetch_request *r, fetched_fn done, void *ctx);
void http_say(struct http_node *n, const char *subject, const void *bytes, size_t len);

/* Asks it who it is; then it is_ready. */
void http_node_meet(struct http_node *n, u32 wait_s);
void http_node_fini(struct http_node *n);

/* A JSON object of an answer; NULL if it is something else. The caller owns it. */
json_t *http_json(const struct fetched *r);

/* "It answers 403: only an operator may", in a sentence. */
void http_add_fault(struct str *out, const struct fetched *r);

/* member_host.start and .stop */
void http_errand_start(void *ctx, const struct member_work *w);
void http_errand_stop(void *ctx, u32 number);

/* Looks for recordings that have ended. */
void http_errands_tick(struct http_node *n, u64 now_ns);
