/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of all JVMs for people who look at them: `sysflame top --daemon`. They are read once
 * a second while anybody looks at them. The hottest methods are those of the slices of continuous
 * profiling.
 */
#pragma once

#include "capture/node.h"
#include "daemon/recorder/outbox.h"
#include "profile/profile.h"

struct readings;

struct readings *readings_new(struct node *n);
void readings_free(struct readings *r);

/* Call it while somebody looks at the readings: they continue for some seconds more. */
void readings_want(struct readings *r, u64 now_ns);
void readings_tick(struct readings *r, u64 now_ns, struct outbox *out);

/* Takes a slice's samples. Its frames have names to be shown. */
void readings_add_profile(struct readings *r, const struct profile *p, u64 now_ns);
