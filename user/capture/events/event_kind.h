/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The description of a kind of event. Shared only by the files event_*.c, the table and sources.c.
 */
#pragma once

#include "capture/events/event_sources.h"
#include "capture/events/events.h"
#include "knobs.h"

/* The value of a sample. */
enum event_value {
	EVENT_VALUE_WEIGHT, /* the sample's weight, in the kind's unit */
	EVENT_VALUE_SAMPLE, /* 1 */
	EVENT_VALUE_HIT,    /* 1, or the number of hits given by --period */
};

struct event_kind {
	const char *name; /* the event's name, or a pattern: "uprobe:FILE:SYMBOL[+OFFSET]" */
	const char *unit;
	enum event_value value;
	const char *help;
	u32 programs; /* the BPF programs that the event needs, as PROGRAM_BIT */
	u32 nr_slots; /* 1 + the largest enum slot that these programs use */
	/* the option that reduces the number of samples, as "larger --lock-min" */
	const char *sparser;
	bool has_period;     /* --period applies */
	bool is_of_carriers; /* waits of virtual threads are missing while they have no carrier */
	bool is_of_locks;    /* it wants to know the locks that virtual threads wait for */
	bool lasts;          /* the sample stands for the last sample.weight ns of its thread */

	/*
	 * 0 if `text` is a name of this kind; -ENOENT if it is another kind's. Other errors come
	 * with a reason in `why`. NULL: `name` is the only name.
	 */
	int (*parse)(const char *text, const struct event_options *o, struct event *e,
		     struct str *why);

	/*
	 * Whether the event can be recorded together with the events before it in the list. A
	 * negative errno comes with a reason in `why`. NULL: it always can.
	 */
	int (*check)(const struct events *all, const struct event *e, struct str *why);

	/* Sets the knobs of the event's programs. */
	void (*configure)(const struct event *e, u32 number, const struct event_options *o,
			  struct knobs *knobs);

	/*
	 * Opens the event, not yet running. An event that would run at once is opened by `start`.
	 */
	int (*open)(struct sources *s, const struct event *e, u32 number);
	int (*start)(struct sources *s, const struct event *e, u32 number); /* may be NULL */

	/* Lists the kind's names. NULL: one line with name and help. */
	void (*each)(const struct event_kind *kind, bool all, events_visit_fn tell, void *ctx);

	/*
	 * Returns why this node cannot record the event, for the caller to free; NULL if it can.
	 * The pointer may be NULL.
	 */
	char *(*why_not)(void);

	/* The unit of a further value NAME-UNIT, the sum of `count`; NULL: no such value. */
	const char *count_unit;
	/*
	 * The weight of a sample, and how many occurrences it stands for unless 1. NULL:
	 * sample.weight.
	 */
	u64 (*weigh)(const struct event_options *o, const struct sample *sample, u64 *count);
	/*
	 * Whether samples are held back until the end shows which memory was freed. Only memory
	 * older than *age_ns, at first 0, then counts. NULL: no.
	 */
	bool (*is_held)(const struct event_options *o, u64 *age_ns);
	/*
	 * Whether another sample of the event, from a probe in another file, reports the same
	 * memory. NULL: no.
	 */
	bool (*is_double)(const struct sources *s, const struct probes *p,
			  const struct sample *sample, const struct process *process);
	/*
	 * The group above the stack, below the levels of --by: "[java heap]"; NULL: no group.
	 * Samples with a group are left out of leaks unless event_options.reserved is set. NULL: no
	 * stack has a group.
	 */
	const char *(*group)(const struct named_stack *stack);
	/*
	 * The thread's state (enum thread_state), for a group above the stack. NULL: the event has
	 * no such groups.
	 */
	u32 (*state)(const struct named_stack *stack);
	/*
	 * Whether the stack belongs to the event; may change frames and weight. NULL: all stacks
	 * do.
	 */
	bool (*keep)(const struct named_stack *stack);
	/* As event_set_filter, which adds the beginning of the sentence. NULL: no filters. */
	int (*filter)(struct event *e, const char *text, struct str *why);
	/* Requests the reports that the event needs from agents. NULL: it needs none. */
	void (*hook)(const struct event *e, const struct event_options *o,
		     struct agent_hooks *hooks);
};

/* The kinds, each in its file event_*.c. */
extern const struct event_kind event_kind_cpu, event_kind_offcpu, event_kind_wall, event_kind_alloc,
	event_kind_lock, event_kind_nativelock, event_kind_nativemem, event_kind_method,
	event_kind_method_time, event_kind_uprobe, event_kind_usdt, event_kind_kprobe,
	event_kind_perf, event_kind_tracepoint;

/* Why uprobes do not work here; for the caller to free, NULL if they do. */
char *why_not_uprobe(void);

/* Why waits cannot be recorded here; for the caller to free, NULL if they can. */
char *why_not_offcpu(void);

/* For kinds whose probes count each hit. */
void configure_trace(const struct event *e, u32 number, const struct event_options *o,
		     struct knobs *knobs);

/*
 * The period of cycles that takes `freq_hz` samples per second on a CPU with that clock; 0 if the
 * clock is 0, unknown.
 */
u64 cycles_period(u64 khz, int freq_hz);

/* For kinds that run at once, which `start` opens. */
int open_nothing(struct sources *s, const struct event *e, u32 number);
