/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events that can be recorded, by their names in `-e`. Each kind of event is an entry of the
 * table in events.c. It defines how names are parsed, how BPF programs are configured, and how the
 * event is opened.
 */
#pragma once

#include "abi.h"
#include "base/str.h"
#include "base/types.h"
#include "base/vec.h"
#include "capture/kernel/cpulist.h"
#include "profile/profile.h"

struct event_filter;
struct event_kind;
struct probe_place;
struct targets;
struct workers;

/* One event of a recording. Its number is its index in the list. */
struct event {
	const struct event_kind *kind;
	char *name;       /* as named in -e */
	const char *type; /* name of the profile's value type; NULL: `name` */
	const char *unit; /* of the profile's values */
	bool is_weighed;  /* the number of samples cannot be computed from a value */
	u32 perf_type;    /* perf events: as in struct perf_event_attr */
	u64 perf_config;
	char *place;    /* uprobe: the file; tracepoint: the group */
	bool was_found; /* `place` was given as the name of a library or program */
	char *what;     /* uprobe: the symbol, NULL for a bare offset; tracepoint: the name */
	struct probe_place *places; /* uprobe, usdt: in the file; owned */
	u32 nr_places;
	u64 offset;                  /* kprobe: from the begin of the function */
	bool at_return;              /* kprobe: when the function returns */
	u64 min_ns;                  /* java: only calls that last so long; 0: all */
	struct event_filter *filter; /* tracepoint: owned; NULL if it has none */
};

struct events {
	VEC(struct event) list;
};

/* A sample's contribution to the profile. */
struct sample_weight {
	u64 value;     /* in the event's unit */
	u64 count;     /* the number of occurrences that it stands for */
	u64 lasted_ns; /* duration up to the sample's time; 0: a moment */
};

/* The options of sampling. */
struct event_options {
	int freq_hz; /* of perf events and wall */
	u64 period;  /* instead of freq_hz: one sample in so many occurrences; 0: not given */
	bool without_agent; /* libjvm's functions and stacks report Java events */
	u64 lock_min_ns;    /* like offcpu_min_ns, for waits for locks */
	u64 alloc_interval; /* mean bytes from one sampled allocation to the next */
	u64 offcpu_min_ns;  /* record every wait from here on, sample shorter ones; 1 to 2^32 - 1 */
	u64 nativemem_interval;  /* bytes; the same for native allocations */
	bool live;               /* alloc: keep only objects reachable at the end */
	bool collect;            /* for `live`, have JVMs collect garbage first */
	bool leaks;              /* nativemem: follow freed memory */
	u64 leak_age_ns;         /* younger memory is no leak at the end */
	bool reserved;           /* leaks: keep memory that JVMs and threads reserve */
	bool own;                /* keep samples of sysflame's own work in JVMs */
	const char *begin, *end; /* functions that begin and end sampling in a process; or NULL */
	bool kernel_only;        /* no stacks of user space: a frame stands for them */
	bool has_labels;         /* values of ThreadLocals are labels (node_options.labels) */
	bool only_targets;       /* put probes only into recorded processes */
	/* names of libraries refer to files that these map; may be NULL */
	const struct targets *targets;
	const cpulist *cpus;     /* sample only these; NULL: all */
	struct workers *workers; /* parse files. NULL: this process does */
};

#define EVENTS_FREQ_MAX_HZ 10000

/*
 * Parses a list such as "cpu,offcpu" into the empty *out. -EINVAL if the text is wrong, -ENOENT if
 * an event or place does not exist. *why then gets a sentence for the user.
 */
int events_parse(const char *text, const struct event_options *o, struct events *out,
		 struct str *why);

/*
 * Limits the event to the hits for which the expression is true. -EINVAL with a sentence in *why if
 * the event takes no filter or the text is wrong.
 */
int event_set_filter(struct event *e, const char *text, struct str *why);

/*
 * Whether the kernel may skip samples because a BPF program of another process is running, and no
 * other program takes these samples. That holds for counters, tracepoints and kprobes.
 */
bool events_may_be_declined(const struct events *all);

/*
 * Whether event_options.period applies to the event. Some events have an interval or a minimum of
 * their own instead.
 */
bool event_has_period(const struct event *e);

/*
 * The unit of the event's second value, the occurrences that samples stand for; NULL if the event
 * has no such value.
 */
const char *event_count_unit(const struct event *e);
void events_fini(struct events *all);

/*
 * Adds the types of the events' values to the profile; types[i] is the first type of event i.
 * NAME-samples follows if the event is weighed, then NAME-UNIT if it has a count unit.
 */
void events_add_types(const struct events *all, struct profile *profile, u32 types[ABI_EVENTS]);

/*
 * Calls `tell` once for each event. A kind with many events, such as tracepoints, gets one call
 * with a pattern ("tracepoint:*"); if `all` is set, it gets one call for each event. `why_not` says
 * why this node cannot record the event; NULL: it can.
 */
typedef void (*events_visit_fn)(const char *name, const char *unit, const char *help,
				const char *why_not, void *ctx);
void events_each(bool all, events_visit_fn tell, void *ctx);
