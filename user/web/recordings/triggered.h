/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Triggers that fired, in the recorder or by an alert from outside: keeps the slices before as a
 * pinned profile, records, pins the recording, and reports: audit list, log, metrics, and
 * `sysflame.v1.audit.trigger.NODE` of a fleet.
 */
#pragma once

#include <jansson.h>

#include "base/vec.h"
#include "daemon/channel/protocol.h"

struct service;

#define TRIGGERED_MAX 50 /* in the list */

/* A trigger that fired, for the page. The numbers of its profiles are 0 until these are stored. */
struct fired {
	u64 number, at_ms, recording, before;
	char name[64], why[256], target[160], source[16]; /* "rule" or "alert" */
	char refused[256];                                /* why nothing is recorded; "" */
};

struct before;

struct triggered {
	u64 nr;                       /* since the start */
	VEC(u64) ids;                 /* recordings to pin once they are stored */
	VEC(struct fired) list;       /* the oldest first */
	VEC(struct before *) waiting; /* `before` profiles that lack their last slice */
	u64 slices_end_ns;            /* of the last slice that was stored */
	u64 last_number;
	/* Called once for each trigger that fired, when its recording has begun or was refused. */
	void (*tell)(const struct service *sv, const struct fired *f);
};

/* Reads the list of the time before the start. */
void triggered_recall(struct service *sv);

/* `source`: "rule" or "alert". */
void triggered_take(struct service *sv, const struct control_fired *f, const char *source);

/* The list, the newest first. */
json_t *triggered_json(const struct service *sv);

/* Call it when a slice with that end was stored. */
void triggered_saw_slice(struct service *sv, u64 end_wall_ns);

/*
 * Pins recordings of triggers that have ended, and stores the profiles of the slices before a
 * trigger fired. Call it about once a second.
 */
void triggered_tick(struct service *sv);
void triggered_fini(struct service *sv);
