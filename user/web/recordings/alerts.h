/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alertmanager's notifications, version 4 (docs/operations.md, "Triggers"). Alertmanager repeats
 * them while an alert fires: each alert counts once, by its fingerprint and its start.
 */
#pragma once

#include <jansson.h>

#include "base/vec.h"
#include "daemon/channel/protocol.h"

#define ALERTS_RUN    3   /* of one notification */
#define ALERTS_QUOTA  20  /* recordings in 24 h */
#define ALERTS_REST_S 600 /* after a recording for an alert of that name and target */
#define ALERTS_SEEN   256

struct alert_seen {
	u64 key, at_ns;
};

struct alerts {
	VEC(struct alert_seen) seen;   /* alerts that were recorded, by fingerprint and start */
	VEC(struct alert_seen) recent; /* recordings in 24 h, by name and target */
};

void alerts_fini(struct alerts *a);

/* "" if the notification can be read, or a sentence. */
const char *alerts_check(const json_t *o);

/*
 * Whether the alert fires a recording now, and which. Otherwise `why` gets a sentence. `alert` is
 * one of a notification `o` that alerts_check found good.
 */
bool alerts_fires(struct alerts *a, const json_t *o, const json_t *alert, u64 now_ns,
		  struct control_fired *out, const char **why);

/* The recording `f` of the alert begins: it counts, and the alert fires no other one. */
void alerts_mark(struct alerts *a, const json_t *alert, const struct control_fired *f, u64 now_ns);
