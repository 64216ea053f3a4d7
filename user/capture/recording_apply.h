/* SPDX-License-Identifier: Apache-2.0 */
/* Applies records and changes of processes to a recording, in order of time. Private to capture/.
 */
#pragma once

#include "capture/samples/inbox.h"
#include "capture/samples/virtual_waits.h"

struct process;
struct recording;

/* Applies an item of this recording. The item keeps its record. */
void recording_apply(struct recording *r, const struct item *item);

/* Names a sample and adds it to the profiles. */
void recording_take_sample(struct recording *r, const struct sample *sample);

/* Whether it records waits, and those of this JVM's virtual threads. */
enum virtual_wants recording_wants_virtual(const struct recording *r, const struct process *p);

/* Adds the sample of a virtual thread for each event of waits. */
void recording_take_virtual(struct recording *r, struct process *p,
			    const struct virtual_sample *virtual);

/* Takes the samples whose unwind rows are built now; with `all` the others too. */
void recording_take_unwalked(struct recording *r, bool all);

/* Call it before a process changes its mappings: walks its samples so far with the old mappings. */
void recording_take_samples_of(struct recording *r, const struct process *p);

/*
 * The process executes another program: the samples so far get the names of the previous program.
 */
void recording_end_program(struct recording *r, struct process *p);

/*
 * Makes the process a target and prepares for its samples: tables, probes, agent. `ctx` is the
 * struct recording.
 */
void recording_admit(struct process *p, void *ctx);

/* Places the events' probes in the targets that are known. */
void recording_add_processes(struct recording *r);

/* Call it when a target is new or has new mappings. */
void recording_set_up(struct recording *r, struct process *p);

/* Whether the process's container opted out. Such a process is not recorded and gets no agent. */
bool recording_is_denied(const struct recording *r, struct process *p);

/* Counts a JVM once in jvms_seen; requests its agent if `wants_agent`. */
void recording_admit_jvm(struct recording *r, const struct process *p, bool wants_agent);

/* Call them when a process mapped code, executed a program, or ended. */
void recording_see_mapping(struct recording *r, struct process *p);
void recording_see_exec(struct recording *r, const struct process *p);
void recording_see_exit(struct recording *r, const struct process *p);

/* The memory of a process is gone, because it ended or executed another program. */
void recording_see_end_of_memory(struct recording *r, pid_t pid, u64 time_ns);

/* Whether samples of the process wait for its tables. */
bool recording_needs_tables(const struct recording *r, const struct process *p);

/* The node forgets an ended process. */
void recording_forget(struct recording *r, struct process *p);
