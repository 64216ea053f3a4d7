/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be had of a JVM, with the agent and without: looked up from outside, changing nothing.
 * Every text is clean UTF-8.
 */
#pragma once

#include "base/str.h"
#include "base/vec.h"
#include "jvm/javaproc.h"
#include "proc/cgroup.h"

enum survey_flag {
	SURVEY_FRAME_POINTERS,     /* PreserveFramePointer */
	SURVEY_DEBUG_NONSAFEPOINT, /* DebugNonSafepoints */
	SURVEY_NO_ATTACH,          /* DisableAttachMechanism */
	SURVEY_DYNAMIC_AGENTS,     /* EnableDynamicAgentLoading; JDK 8 has no such flag */
	NR_SURVEY_FLAGS
};

struct survey {
	char container[CONTAINER_ID_LEN + 1]; /* "" if none shows */
	pid_t inner_pid;                      /* in its pid namespace; 0 if that is ours */
	char *jdk;                            /* as javaproc, else from its memory; "?" */
	char *vm;                             /* what it calls itself, "" if unknown */
	char *collector;                      /* "" if unknown */
	bool is_flag_known[NR_SURVEY_FLAGS], flags[NR_SURVEY_FLAGS];
	char *no_names;    /* why Java frames get no names from outside; NULL: they do */
	VEC(char *) gaps;  /* "what: why" that cannot be had from outside though there are names */
	char *no_agent;    /* "why; what to do" if no agent can be attached now; NULL: it can */
	bool may_be_later; /* no_agent is of the moment */
};

/*
 * Looks into a JVM; what cannot be read is unknown. -ESRCH if it has ended. The caller owns *out.
 */
int survey_read(const struct javaproc *j, struct survey *out);
void survey_fini(struct survey *s);

/* "PreserveFramePointer", and "FP" where its value matters to us, else NULL. */
const char *survey_flag_name(enum survey_flag flag);
const char *survey_flag_mark(const struct survey *s, enum survey_flag flag);

/* One phrase on what is possible. */
const char *survey_phrase(const struct survey *s);
