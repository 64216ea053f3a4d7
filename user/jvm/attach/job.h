/* SPDX-License-Identifier: Apache-2.0 */
/* One command to one JVM, as the injector child carries it out. */
#pragma once

#include "base/str.h"
#include "jvm/attach/inject.h"
#include "jvm/attach/readiness.h"
#include "jvm/process/process_root.h"

struct job {
	const struct inject_order *order;
	struct process_root t;
	struct inject_result result;
	struct str why;
	int fd; /* socket to the process that ordered the job; -1 if no result is needed any more */
	char socket_name[32], trigger_name[32];
	int facts_fd; /* iterator of task_facts_open, not yet read; -1: none */
	struct process_facts facts;
	bool is_early;     /* the VM's tables are not readable yet */
	bool is_silent;    /* its memory did not arrive */
	bool handles_quit; /* by its flags, the VM handles SIGQUIT, or will once it has started */
	bool warns;        /* the VM would print a warning about an agent */
	bool is_reduced;   /* by its flags (-Xrs), the VM does not handle SIGQUIT */
};

#define JOB_STILL_STARTING "it is still starting; wait"

/* Sets the result; `why` is "reason; what to do". Returns -1. */
int job_conclude(struct job *j, enum inject_outcome outcome, const char *why);

/* Concludes that we lack a right. Returns -1. */
int job_explain(struct job *j, int err);

/* Reads the facts about the JVM, unless they were read before. */
void job_read_facts(struct job *j);

/* Whether the JVM has ended. */
bool job_has_ended(const struct job *j);

/* Whether the process that ordered the job has ended. */
bool job_is_orphan(const struct job *j);
