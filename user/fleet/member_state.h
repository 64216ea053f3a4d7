/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a node of the fleet. Private to the files member*.c. */
#pragma once

#include "base/vec.h"
#include "fleet/member.h"
#include "fleet/nonce.h"

#define REPLY_MAX 192

enum run_state {
	RUN_STARTS, /* member_started is to come */
	RUN_RUNS,   /* member_ended is to come */
	RUN_DONE,   /* the result can be fetched */
};

struct run {
	u32 number;
	enum run_state state;
	struct fleet_request request;
	struct selector selector;
	char reply[REPLY_MAX], person[64];
	char stopped[160]; /* why it was ended early; "" */
	bool is_dropped;   /* nobody wants the result */
	u64 begun_ns, heard_ns, done_ns;
	u64 well_ns;               /* when the node last did not suffer */
	u64 cpu_ns;                /* of the recorder at the start */
	u64 reserved_ns;           /* of the budget */
	struct member_result said; /* of DONE, without bytes */
	u8 *bytes;
	size_t len;
	u8 sha256[FLEET_HASH_LEN];
};

struct member {
	const struct member_host *host;
	char name[64], labels[256];
	u64 instance, born_ns;
	char subjects[5][96];
	struct fleet_keys keys;
	struct nonces nonces;
	struct budget budget;
	bool has_budget; /* the number of CPUs is known */
	VEC(struct run *) runs;
	u32 last_number;
	struct fleet_policy policy; /* at_ms 0: none */
	u8 policy_key[FLEET_KEY_LEN];
	u64 policy_refused_ns; /* the last one that was logged */
	u64 refused_ns;        /* the last entry on a request that nobody signed */
};

u64 member_now_ns(const struct member *n);

/* The run with that id; NULL if there is none. */
struct run *member_find(struct member *n, const u8 *id);
void member_drop(struct member *n, struct run *r);
void member_run_free(struct run *r);

void member_publish(const struct member *n, const char *to, const struct fleet_message *m);

/* To a subject of this node, which no other may publish to. */
void member_publish_own(const struct member *n, const char *to, const struct fleet_message *m);

/* Sends DONE. */
void member_say_done(const struct member *n, const struct run *r,
		     const struct member_result *result);
void member_take_stop(struct member *n, const struct fleet_control *c);
void member_take_alive(struct member *n, const struct fleet_control *c);
