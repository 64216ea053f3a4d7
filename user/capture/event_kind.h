/* SPDX-License-Identifier: Apache-2.0 */
/* What makes a kind of event; shared by the files event_*.c, the table and sources.c only. */
#pragma once

#include "capture/events.h"
#include "capture/sources.h"
#include "knobs.h"

#define EVENT_PROGRAMS 6

struct event_kind {
	const char *name; /* the event's, or of a pattern of names: "uprobe:PATH:SYMBOL[+OFFSET]" */
	const char *unit;
	const char *help;
	const char *programs[EVENT_PROGRAMS]; /* of bpf/ that it needs, NULL-terminated */
	u32 nr_slots;                         /* SLOT_.. + 1 of the last record that they use */
	bool has_period;                      /* --period is heeded */
	bool by_state; /* its stacks stand under the thread's state (sample.state) */

	/*
	 * 0 if `text` is one of its names; -ENOENT if it looks like another kind's; another error
	 * after having said why. NULL: its name is the only one.
	 */
	int (*parse)(const char *text, const struct event_options *o, struct event *e,
		     struct str *why);

	/* Sets what its programs need. */
	void (*configure)(const struct event *e, u32 number, const struct event_options *o,
			  struct knobs *knobs);

	/* Opens it, not yet running, or if it cannot be held back does nothing until `start`. */
	int (*open)(struct sources *s, const struct event *e, u32 number);
	int (*start)(struct sources *s, const struct event *e, u32 number); /* may be NULL */

	/* NULL: one line by name and help. */
	void (*each)(const struct event_kind *kind, bool all, events_tell_fn tell, void *ctx);

	/* Why this node cannot do it, for the user to free; NULL if it can. May be NULL. */
	char *(*why_not)(void);

	/* The unit of the last value NAME-UNIT, the sum of counts; NULL: none. */
	const char *count_unit;
	/* What a sample weighs, and if that is not 1 how many it stands for. NULL: sample.weight.
	 */
	u64 (*weigh)(const struct event_options *o, const struct sample *sample, u64 *count);
	/*
	 * Whether samples are held back until the end shows what was freed; only what is older than
	 * *age_ns, 0 before, is kept then. NULL: no.
	 */
	bool (*is_held)(const struct event_options *o, u64 *age_ns);
	/* Whether another sample of the event, of probes in two files, tells of the same. NULL: no.
	 */
	bool (*is_double)(const struct sources *s, const struct probes *p,
			  const struct sample *sample, const struct process *process);
	/* Whether the stack is about the event; may change frames and weight. NULL: all are. */
	bool (*keep)(const struct named_stack *stack);
	/* What the agents in JVMs are to tell; NULL: nothing. */
	void (*hook)(const struct event *e, const struct event_options *o,
		     struct agent_hooks *hooks);
};

/* event_perf.c */
int parse_cpu(const char *text, const struct event_options *o, struct event *e, struct str *why);
void configure_cpu(const struct event *e, u32 number, const struct event_options *o,
		   struct knobs *knobs);
int open_cpu(struct sources *s, const struct event *e, u32 number);
int parse_perf(const char *text, const struct event_options *o, struct event *e, struct str *why);
void configure_perf(const struct event *e, u32 number, const struct event_options *o,
		    struct knobs *knobs);
int open_perf(struct sources *s, const struct event *e, u32 number);
void each_perf(const struct event_kind *kind, bool all, events_tell_fn tell, void *ctx);

/* event_wait.c */
void configure_offcpu(const struct event *e, u32 number, const struct event_options *o,
		      struct knobs *knobs);
void configure_wall(const struct event *e, u32 number, const struct event_options *o,
		    struct knobs *knobs);
void configure_nativelock(const struct event *e, u32 number, const struct event_options *o,
			  struct knobs *knobs);
int open_nativelock(struct sources *s, const struct event *e, u32 number);
bool keep_nativelock(const struct named_stack *stack);
int open_offcpu(struct sources *s, const struct event *e, u32 number);
int open_wall(struct sources *s, const struct event *e, u32 number);
char *why_not_offcpu(void);

/* event_alloc.c */
int parse_alloc(const char *text, const struct event_options *o, struct event *e, struct str *why);
void configure_alloc(const struct event *e, u32 number, const struct event_options *o,
		     struct knobs *knobs);
void hook_alloc(const struct event *e, const struct event_options *o, struct agent_hooks *hooks);
bool is_alloc_held(const struct event_options *o, u64 *age_ns);
int open_alloc(struct sources *s, const struct event *e, u32 number);
u64 weigh_alloc(const struct event_options *o, const struct sample *sample, u64 *count);

/* event_method.c */
int parse_method(const char *text, const struct event_options *o, struct event *e, struct str *why);
void configure_method(const struct event *e, u32 number, const struct event_options *o,
		      struct knobs *knobs);
void hook_method(const struct event *e, const struct event_options *o, struct agent_hooks *hooks);
int open_method(struct sources *s, const struct event *e, u32 number);
bool keep_method(const struct named_stack *stack);

/* event_lock.c */
void configure_lock(const struct event *e, u32 number, const struct event_options *o,
		    struct knobs *knobs);
void hook_lock(const struct event *e, const struct event_options *o, struct agent_hooks *hooks);
int open_lock(struct sources *s, const struct event *e, u32 number);
u64 weigh_lock(const struct event_options *o, const struct sample *sample, u64 *count);
bool keep_lock(const struct named_stack *stack);

/* event_probe.c */
int parse_uprobe(const char *text, const struct event_options *o, struct event *e, struct str *why);
int parse_usdt(const char *text, const struct event_options *o, struct event *e, struct str *why);
int start_uprobe(struct sources *s, const struct event *e, u32 number);
int start_usdt(struct sources *s, const struct event *e, u32 number);
char *why_not_uprobe(void);

/* event_trace.c */
int parse_tracepoint(const char *text, const struct event_options *o, struct event *e,
		     struct str *why);
void configure_trace(const struct event *e, u32 number, const struct event_options *o,
		     struct knobs *knobs);
int open_nothing(struct sources *s, const struct event *e, u32 number);
int start_tracepoint(struct sources *s, const struct event *e, u32 number);

/* event_nativemem.c */
void configure_nativemem(const struct event *e, u32 number, const struct event_options *o,
			 struct knobs *knobs);
bool is_nativemem_held(const struct event_options *o, u64 *age_ns);
bool is_nativemem_double(const struct sources *s, const struct probes *p,
			 const struct sample *sample, const struct process *process);
int open_nativemem(struct sources *s, const struct event *e, u32 number);
void each_tracepoint(const struct event_kind *kind, bool all, events_tell_fn tell, void *ctx);
