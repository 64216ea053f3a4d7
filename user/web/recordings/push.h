/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pushes continuous profiling to receivers: a worker makes the requests of a minute once its slices
 * are there, and push/delivery.h sends them. NULL stands for a daemon without receivers.
 */
#pragma once

#include <jansson.h>

#include "base/str.h"
#include "base/types.h"
#include "push/backlog.h"
#include "push/credentials.h"
#include "push/receiver.h"
#include "push/share.h"

struct pollfd;
struct push;
struct service;

/* Where profiles are pushed to. */
struct web_push {
	struct receiver receivers[RECEIVERS_MAX];
	struct credentials *credentials; /* of each; wiped once the senders have them */
	u32 nr;
	struct backlog_limits limits;
	struct push_share share;
	const char *labels; /* of this node, KEY=VALUE,..; "" for none */
};

/*
 * Starts the senders, and wipes the credentials. *out is NULL if `o` is NULL. `o` must outlive
 * *out. Negative errno.
 */
int push_new(struct service *sv, const struct web_push *o, struct push **out);
void push_free(struct push *p);

/* Fills in the descriptors after whose events push_tick is to be called; returns their number. */
size_t push_polled(const struct push *p, struct pollfd *out);
void push_tick(struct push *p);

/* A slice of that time was kept, or arrived. */
void push_saw_slice(struct push *p, u64 begin_wall_ns);

/* Whether a sender has ended for good. */
bool push_is_broken(const struct push *p);

/* A list with an object for each receiver. */
json_t *push_json(const struct push *p);
void push_metrics(const struct push *p, struct str *out);
