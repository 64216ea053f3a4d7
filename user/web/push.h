/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pushes continuous profiling to receivers: a worker makes the requests of a minute once its slices
 * are there, and push/delivery.h sends them. NULL stands for a daemon without receivers.
 */
#pragma once

#include <jansson.h>

#include "base/str.h"
#include "base/types.h"

struct pollfd;
struct push;
struct service;

/* Starts the senders, and wipes the credentials. *out is NULL if sv->o->push is. Negative errno. */
int push_new(struct service *sv, struct push **out);
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
