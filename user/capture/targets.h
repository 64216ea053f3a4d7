/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes are sampled. The kernel decides at every event, by what a process is then;
 * here is what it decides by. Selectors of one kind add up, those of several kinds must all
 * select a process, and what one of the excluding selectors selects is not sampled.
 */
#pragma once

#include "base/str.h"
#include "base/types.h"
#include "proc/process.h"

enum target_kind {
	TARGET_PID,  /* "PID": with its children */
	TARGET_COMM, /* the process's name, of which the kernel keeps 15 bytes */
	TARGET_USER, /* name or number of the effective one */
	TARGET_JVM,
	TARGET_CGROUP,    /* with the groups below */
	TARGET_CONTAINER, /* "ID" or "NAME" */
	TARGET_POD,       /* "NAME", "NAMESPACE/NAME" or its uid */
	NR_TARGET_KINDS,
};

struct bpf;
struct bpf_options;
struct targets;

struct targets *targets_new(void);
void targets_free(struct targets *t);

/* Adds a selector; -EINVAL after having said in `why` what is wrong with the text. */
int targets_add(struct targets *t, enum target_kind kind, bool excludes, const char *text,
		struct str *why);

/* Adds a process that is to run `command`, by which it is called. */
void targets_add_command(struct targets *t, pid_t pid, char *const *command);

/*
 * Selects the programs of that name that begin from now on; -EINVAL after having said in `why` what
 * is wrong with it.
 */
int targets_wait_for(struct targets *t, const char *comm, struct str *why);

/* Whether none has begun. */
bool targets_are_waited_for(const struct targets *t);

/* One has, or executes once more; returns whether it is the first. */
bool targets_begin(struct targets *t, pid_t pid, u64 start_ns);

/* "KIND=TEXT", as --exclude takes it. */
int targets_exclude(struct targets *t, const char *text, struct str *why);

/* Whether not every process is sampled. */
bool targets_select(const struct targets *t);

/* "--comm java --exclude user=root" for people; valid until targets_free. */
const char *targets_text(const struct targets *t);

/* -ESRCH and a sentence if a PID that is selected is no process's. */
int targets_check_pids(const struct targets *t, struct str *why);

/* Whether PIDs are selected or programs were waited for, and all those processes have ended. */
bool targets_have_ended(const struct targets *t);

/* Before the programs are loaded: what they have to know. */
void targets_configure(struct targets *t, struct containers *containers,
		       struct bpf_options *options);

/* Gives the selectors to the loaded programs. Logs what is not there (yet). */
int targets_open(struct targets *t, struct bpf *bpf);

/*
 * Marks the processes that are to be sampled now (is_target), and calls `begins` (may be NULL) for
 * those that were not marked. Returns how many the kernel knows, or a negative errno.
 */
int targets_mark(struct targets *t, struct processes *all, process_fn begins, void *ctx);

/*
 * Whether a process may become a target without a fork or exec, which the kernel tells of: it is
 * moved to another control group, takes another name or user.
 */
bool targets_may_change(const struct targets *t);

/* Follows control groups that come and go; call it now and then. */
void targets_follow(struct targets *t);

/* The process is a JVM, or no longer. Returns whether that may change what is a target. */
bool targets_set_jvm(struct targets *t, pid_t pid, bool is_jvm);
