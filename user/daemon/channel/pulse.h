/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that the supervisor shares with the recorder: a recorder that writes nothing there for
 * PULSE_SILENT_NS hangs, and is killed. The supervisor believes nothing that it reads there. The
 * web process and the workers do not have it.
 */
#pragma once

#include "base/types.h"

#define PULSE_SILENT_NS (10 * 1000000000ull)

struct pulse {
	u64 beat_ns; /* CLOCK_MONOTONIC, when the recorder last turned */
	s32 target;  /* PID that the recorder last read in this turn; 0: none */
};

/* Memory that a forked process shares; NULL if no memory is left. */
struct pulse *pulse_new(void);
void pulse_free(struct pulse *p);

void pulse_beat(struct pulse *p);

/* When it last beat. */
u64 pulse_beat_ns(const struct pulse *p);

/* Whether the recorder has written to the pulse since that time of CLOCK_MONOTONIC. */
bool pulse_has_beaten(const struct pulse *p, u64 since_ns);

/* How long the recorder has been silent. */
u64 pulse_silent_ns(const struct pulse *p);

/* The PID that the recorder was reading; 0: none. */
s32 pulse_target(const struct pulse *p);
