/* SPDX-License-Identifier: Apache-2.0 */
/* A perf event on every online CPU that samples, following CPUs that come and go. */
#pragma once

#include <linux/perf_event.h>

#include "capture/bpf.h"

struct cpus;

/* Opens the event, number `event` of the recording, not yet running. A negative errno if not. */
int cpus_open(struct bpf *bpf, const struct perf_event_attr *attr, u32 event, struct cpus **out);
void cpus_close(struct cpus *c);

int cpus_start(struct cpus *c);
void cpus_stop(struct cpus *c);

/* Opens events on CPUs that came online, drops those of CPUs that went; call it now and then. */
void cpus_follow(struct cpus *c);

int cpus_nr(const struct cpus *c);

/* Whether the event can be opened: 0 or perf_event_open's error. */
int cpus_try(const struct perf_event_attr *attr);
