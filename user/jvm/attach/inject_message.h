/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders and results of attaches as messages of worker/protocol.h, between the recorder, the attach
 * helper and its children. Each end checks every field of the other's: a child reads the memory of
 * a JVM, which may take it over.
 */
#pragma once

#include "jvm/attach/inject.h"
#include "worker/protocol.h"

#define INJECT_VERSION 3

enum inject_message_kind {
	INJECT_ORDER = 16, /* to the helper: an order, with the socket for the result */
	INJECT_KILL,       /* to the helper: ends the process `number` */
	INJECT_OPENER, /* to the helper: starts an opener (proc/open_request.h) with its socket */
	INJECT_RESULT, /* from a child, with the ring's descriptor if there is one */
	INJECT_ENDED,  /* from the helper, about a child: the status of waitpid(2) */
};

/* The agent's path is not sent: it is the one that the process was started with. */
void inject_order_encode(const struct inject_order *order, u64 number, struct worker_message *m);

/*
 * -EPROTO for anything else than an order, and if the JVM has loaded another path than `agent_path`
 * or that of a delivery. The order points to `agent_path`.
 */
int inject_order_decode(const struct worker_message *m, const char *agent_path, u64 *number,
			struct inject_order *out);

/* INJECT_KILL or INJECT_OPENER. */
void inject_number_encode(enum inject_message_kind kind, u64 number, struct worker_message *m);
int inject_number_decode(const struct worker_message *m, u64 *number);

void inject_result_encode(const struct inject_result *result, struct worker_message *m);

/* Texts are cleaned. The ring's descriptor is -1 afterwards. */
int inject_result_decode(const struct worker_message *m, struct inject_result *out);
