/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be recorded, by the names that `-e` takes. Each kind of event is one entry of the table
 * in events.c: how its names are read, what it sets in the kernel's programs, how it is opened.
 */
#pragma once

#include "abi.h"
#include "base/str.h"
#include "base/types.h"
#include "base/vec.h"
#include "profile/profile.h"

struct event_kind;

/* One event of a recording; its number is its place in the list. */
struct event {
	const struct event_kind *kind;
	char *name;       /* as it was asked for */
	const char *type; /* of the profile's values; NULL: its name */
	const char *unit; /* of the profile's values */
	bool is_weighed;  /* a value does not tell of how many samples it is */
	u32 perf_type;    /* perf events: as in struct perf_event_attr */
	u64 perf_config;
	char *place;  /* uprobe: the file; tracepoint: the group */
	char *what;   /* uprobe: the symbol, NULL for an offset only; tracepoint: the name */
	u64 file_off; /* uprobe */
};

struct events {
	VEC(struct event) list;
};

/* What a sample counts for in the profile. */
struct sample_weight {
	u64 value; /* in the event's unit */
	u64 count; /* how many it stands for */
};

/* How events are sampled. */
struct event_options {
	int freq_hz;        /* perf events, and the sampling of wall */
	u64 period;         /* instead of it: a sample every so many; 0 if not given */
	bool without_agent; /* Java's events are told by libjvm's functions and by stacks */
	u64 lock_min_ns;    /* as offcpu_min_ns, of waits for Java locks */
	u64 alloc_interval; /* bytes from one sampled allocation to the next, in the mean */
	u64 offcpu_min_ns;  /* shorter waits are sampled, longer ones all recorded; 1 to 2^32 - 1 */
	u64 nativemem_interval; /* bytes; the same for allocations */
	bool live;              /* alloc: only what is reachable at the end */
	bool collect;           /* for that have JVMs collect garbage first */
	bool leaks;             /* nativemem: follow what is freed */
	u64 leak_age_ns;        /* what is younger at the end is no leak */
	const char *begin,
		*end;      /* functions: samples only after the one, up to the other; or NULL */
	bool only_targets; /* probes only in the processes that are recorded */
};

#define EVENTS_FREQ_MAX_HZ 10000

/*
 * Reads a list "cpu,offcpu" into *out, which is empty. -EINVAL if the text is wrong, -ENOENT if
 * there is no such event or place; then *why gets a sentence for the user.
 */
int events_parse(const char *text, const struct event_options *o, struct events *out,
		 struct str *why);

/* Whether event_options.period is heeded, and not an interval or minimum of its own. */
bool event_has_period(const struct event *e);

/* The unit of the event's last value, of what a sample stands for several; NULL if it has none. */
const char *event_count_unit(const struct event *e);
void events_fini(struct events *all);

/*
 * Adds the types of the events' values; types[i] is that of event i. Behind it stands NAME-samples
 * if it is weighed, then NAME-UNIT if it has that.
 */
void events_add_types(const struct events *all, struct profile *profile, u32 types[ABI_EVENTS]);

/*
 * Calls `tell` for everything that can be listed: a name or a pattern of names, what it is, and why
 * this node cannot do it (NULL: it can). `all`: every name instead of patterns.
 */
typedef void (*events_tell_fn)(const char *name, const char *unit, const char *help,
			       const char *why_not, void *ctx);
void events_each(bool all, events_tell_fn tell, void *ctx);
