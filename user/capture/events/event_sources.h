/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of sources.h that only the kinds of events use: with it an event adds its sources when
 * it is opened.
 */
#pragma once

#include "capture/events/sources.h"

/* Opens a perf event on every CPU. Returns perf_open's error. */
int sources_add_cpus(struct sources *s, const struct perf_event_attr *attr, u32 number);
void sources_add_link(struct sources *s, struct bpf_link *link);

/* Takes the link that attaching the event gave, or logs `err`. */
int sources_take_link(struct sources *s, const struct event *e, int err, struct bpf_link *link);

#define SOURCES_NO_EVENT ABI_EVENTS

/*
 * Adds probes of event `number`, or, with SOURCES_NO_EVENT, probes that belong to no event. The
 * sources take them over.
 */
void sources_add_probes(struct sources *s, u32 number, struct probes *probes);

/* The first probes of event `number`; NULL if it has none. */
const struct probes *sources_probes(const struct sources *s, u32 number);

/* As the function above, for probes in processes where the agent's hook does not report. */
void sources_add_fallback(struct sources *s, u32 number, enum agent_hook hook,
			  struct probes *probes);

/* Has the BPF programs record waits. Several events may call it. */
void sources_add_waits(struct sources *s);

/* Adds the event's source and rate to sources_text. */
void sources_describe(struct sources *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
