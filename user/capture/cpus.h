/* SPDX-License-Identifier: Apache-2.0 */
/* A perf event on every online CPU that samples, following CPUs that come and go. */
#pragma once

#include "capture/bpf.h"

struct cpus;

/*
 * Opens the events, not yet running. `freq_hz` samples per second and CPU, by the cycle counter
 * where it works, else by the CPU clock. Logs and returns a negative errno if it cannot.
 */
int cpus_open(struct bpf *bpf, int freq_hz, struct cpus **out);
void cpus_close(struct cpus *c);

int cpus_start(struct cpus *c);
void cpus_stop(struct cpus *c);

/* Opens events on CPUs that came online, drops those of CPUs that went; call it now and then. */
void cpus_follow(struct cpus *c);

/* "cpu-cycles" or "cpu-clock". */
const char *cpus_event(const struct cpus *c);
int cpus_nr(const struct cpus *c);
