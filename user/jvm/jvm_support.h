/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data that sysflame can get from a JVM, with the agent and without. It is found from outside
 * and changes nothing. All texts are clean UTF-8.
 */
#pragma once

#include "base/str.h"
#include "base/vec.h"
#include "jvm/hotspot/virtual_threads.h"
#include "jvm/process/javaproc.h"
#include "proc/cgroup.h"

enum jvm_support_flag {
	JVM_SUPPORT_FRAME_POINTERS,     /* PreserveFramePointer */
	JVM_SUPPORT_DEBUG_NONSAFEPOINT, /* DebugNonSafepoints */
	JVM_SUPPORT_NO_ATTACH,          /* DisableAttachMechanism */
	JVM_SUPPORT_DYNAMIC_AGENTS,     /* EnableDynamicAgentLoading; JDK 8 has no such flag */
	NR_SURVEY_FLAGS
};

struct jvm_support {
	char container[CONTAINER_ID_LEN + 1]; /* "" if unknown */
	pid_t inner_pid;                      /* in its pid namespace; 0 if that is ours */
	char *jdk;                            /* as in javaproc, or from the JVM's memory; "?" if
					       * unknown */
	char *main;                           /* class, module/class, jar; the program's name */
	char *vm;                             /* the VM's own name, "" if unknown */
	char *collector;                      /* "" if unknown */
	struct virtual_totals virtual;        /* 0 also if they cannot be listed (gaps) */
	bool is_flag_known[NR_SURVEY_FLAGS], flags[NR_SURVEY_FLAGS];
	char *no_names;    /* why Java frames get no names from outside; NULL if they get names */
	VEC(char *) gaps;  /* "what: why" of data that is missing although there are names */
	char *no_agent;    /* "why; what to do" if no agent can be attached now; NULL if one can */
	bool may_be_later; /* no_agent may be only temporary */
};

/* Inspects a JVM; unreadable values stay unknown. -ESRCH if it has ended. The caller owns *out. */
int jvm_support_read(const struct javaproc *j, struct jvm_support *out);
void jvm_support_fini(struct jvm_support *s);

/* "PreserveFramePointer"; and "FP" if its value matters to us, otherwise NULL. */
const char *jvm_support_flag_name(enum jvm_support_flag flag);
const char *jvm_support_flag_mark(const struct jvm_support *s, enum jvm_support_flag flag);

/* A phrase about the possible sources of names. */
const char *jvm_support_phrase(const struct jvm_support *s);
