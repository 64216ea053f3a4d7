/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon as a node of a fleet (fleet/node/node_agent.h): a request becomes a recording like any
 * other, or a range of slices. NULL stands for a daemon in no fleet.
 */
#pragma once

#include <jansson.h>

struct control_crashed;
struct fired;
struct fleet;
struct service;

/* The fleet that this node belongs to (docs/fleet.md). */
struct web_fleet {
	const char *url, *dir;     /* of the NATS server; the folder with the file of keys */
	const char *node, *labels; /* its name; "zone=a,version=2" */
	const char *page_url;      /* address at which people reach this daemon; NULL: unknown */
};

/*
 * Starts the connection. *out is NULL if `o` is NULL. `o` must outlive *out. Logs errors; negative
 * errno.
 */
int fleet_new(struct service *sv, const struct web_fleet *o, struct fleet **out);
void fleet_free(struct fleet *f);

/* Publishes that a trigger fired: once, when its recording has begun or was refused. */
void fleet_fired(struct fleet *f, const struct fired *fired);

/* Call it when a JVM has crashed: reports that to the recordings that select the JVM. */
void fleet_crashed(struct fleet *f, const struct control_crashed *c);

/* The node's name and its connection; null if there is no fleet. */
json_t *fleet_state_json(const struct fleet *f);

/* Readable when fleet_tick is to be called at once; -1 if there is no fleet. */
int fleet_fd(const struct fleet *f);
void fleet_tick(struct fleet *f);
