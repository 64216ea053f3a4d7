/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who sends a request, and whether they may. A login gives a ticket in a cookie: the role, a
 * number, the time of its end, and a keyed hash of these. Its key comes from the token: tickets
 * survive a restart, and a new token ends them. Logouts are kept in the store and survive a
 * restart, too.
 */
#pragma once

#include "base/dict.h"
#include "base/vec.h"
#include "web/http/request.h"

struct site;
struct store;

#define AUTH_COOKIE    "sysflame_session_" /* the begin of its name */
#define AUTH_TICKET_S  (7 * 24 * 3600ull)
#define AUTH_CODE_S    (10 * 60ull)
#define AUTH_TOKEN_MIN 32 /* bytes */

/* The content of a valid ticket. */
struct ticket {
	u64 number, end_s;
};

struct auth {
	const struct site *site;
	struct store *store;                            /* of auth_recall */
	u8 keys[ROLE_OPERATOR + 1][2][SIPHASH_KEY_LEN]; /* by role, two halves of a hash */
	u8 code_keys[2][SIPHASH_KEY_LEN];
	/* Browsers share cookies among all ports of a host: each server has a name of its own. */
	char cookie[sizeof(AUTH_COOKIE) + 8];
	VEC(struct ticket) revoked; /* that logged out */
	/* tickets that end by then count as logged out, too: more logged out than can be kept */
	u64 revoked_until_s;
	u64 failures_ns; /* CLOCK_MONOTONIC: the begin of a minute with failed logins */
	u32 nr_failures; /* in it */
};

/* -EINVAL if a token is too short. `site` must stay. */
int auth_init(struct auth *a, const struct site *site);
void auth_fini(struct auth *a);

/* The role of a token; in constant time for tokens of equal length. */
enum role auth_token_role(const struct auth *a, const char *token);

/* A value of Set-Cookie for a login, or for a logout if `role` is ROLE_NONE. The caller frees it.
 */
char *auth_cookie(const struct auth *a, enum role role, u64 now_s);

/* The role of a ticket; ROLE_NONE if the ticket is not valid, else *out is set. */
enum role auth_ticket_role(const struct auth *a, const char *text, u64 now_s, struct ticket *out);

/* Makes the ticket invalid. */
void auth_revoke(struct auth *a, const struct ticket *t, u64 now_s);

/*
 * A code for the address of a login, which stays in a browser's history: it is good for one login
 * within AUTH_CODE_S. Whoever reads the token makes it. NULL: no randomness. The caller frees it.
 */
char *auth_code(const char *operator_token, u64 now_s);

/* ROLE_OPERATOR for a valid code. The code cannot be used again, not even after a restart. */
enum role auth_take_code(struct auth *a, const char *code, u64 now_s);

/* Enter a login and a failed one into the audit list, with the client's address. */
void auth_note_login(const struct auth *a, const struct request *q, enum role role);
void auth_note_failure(struct auth *a, const struct request *q);

/* The same as auth_revoke for the ticket in a request, and keeps that in the store. */
void auth_log_out(struct auth *a, const struct request *q);

/* Reads the tickets that logged out before a restart. Logins and logouts go to the store, too. */
void auth_recall(struct auth *a, struct store *store);

/*
 * Checks Host, Origin, login, role and header of a request whose route is known, and sets q->role.
 * Replies with an error and returns false if it is refused.
 */
bool auth_check(struct auth *a, struct request *q);

/* Whether a Host header may name this server; `local` is the address that the client reached. */
bool auth_host_allowed(const struct site *site, const char *host, const char *local);
