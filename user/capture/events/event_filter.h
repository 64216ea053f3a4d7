/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters on the arguments of tracepoints, in the kernel's language
 * (Documentation/trace/events.rst): `prev_prio < 100 && next_comm ~ "java*"`. The BPF program of
 * the tracepoint evaluates them (bpf/filter.bpf.c).
 */
#pragma once

#include "capture/events/filter_fields.h"

struct event_filter {
	char *text;
	struct filter filter;
	struct filter_pattern patterns[FILTER_PATTERNS];
	u32 nr_patterns;
};

/*
 * Parses `text` for a tracepoint with these fields. -EINVAL, with a sentence about the first
 * mistake in `why`, if the text is wrong or takes more than a filter can hold.
 */
int event_filter_parse(const char *text, const struct filter_fields *fields,
		       struct event_filter **out, struct str *why);
void event_filter_free(struct event_filter *f);
