/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects the processes that are sampled. The kernel decides at every event by the properties of
 * the process at that moment. This module supplies the selectors. A process must match a selector
 * of every kind given, and none of the excluding selectors.
 */
#pragma once

#include "base/str.h"
#include "base/types.h"
#include "proc/process.h"

enum target_kind {
	TARGET_PID,  /* "PID", with its children */
	TARGET_COMM, /* the process's name, of which the kernel keeps 15 bytes */
	TARGET_USER, /* name or number of the effective user */
	TARGET_JVM,
	TARGET_CGROUP,    /* with the groups below it */
	TARGET_CONTAINER, /* "ID" or "NAME" */
	TARGET_POD,       /* "NAME", "NAMESPACE/NAME" or its uid */
	TARGET_SERVICE,   /* the service of jvm/process/process_names.h */
	TARGET_WITHIN,    /* targets_bound */
	NR_TARGET_KINDS,
};

struct programs;
struct programs_options;
struct targets;

struct targets *targets_new(void);
void targets_free(struct targets *t);

/* Adds a selector. -EINVAL with a reason in `why` if the text is wrong. */
int targets_add(struct targets *t, enum target_kind kind, bool excludes, const char *text,
		struct str *why);

/* Adds a process that will execute `command`. The command is its name for people. */
void targets_add_command(struct targets *t, pid_t pid, char *const *command);

/*
 * Selects the programs of that name that are executed from now on. -EINVAL with a reason in `why`
 * if the name is wrong.
 */
int targets_wait_for(struct targets *t, const char *comm, struct str *why);

/* Whether --wait-for is given and no program of that name has started yet. */
bool targets_are_waited_for(const struct targets *t);

/*
 * A program of the name in targets_wait_for was executed, perhaps again by the same process.
 * Returns whether it was the first one.
 */
bool targets_begin(struct targets *t, struct process_id id);

/*
 * Makes targets_open fail if groups of a kind (control group, container, pod) are selected and none
 * of them exists. Without this call targets_open waits for them.
 */
void targets_require_groups(struct targets *t);

/*
 * Selects nothing outside of a control group, whatever else is selected. A second call does
 * nothing.
 */
void targets_bound(struct targets *t, const char *cgroup);

/* Adds an excluding selector "KIND=TEXT", as in --exclude. */
int targets_exclude(struct targets *t, const char *text, struct str *why);

/*
 * Whether the process, a JVM, is certainly a target: it is selected by its PID or as a JVM, and no
 * selector depends on a property that only the kernel knows.
 */
bool targets_surely_select_jvm(const struct targets *t, pid_t pid);

/* Whether any selector is given; otherwise every process is sampled. */
bool targets_select(const struct targets *t);

/* Whether a process has been a target since targets_open. */
bool targets_have_matched(const struct targets *t);

/* For people: "--comm java --exclude user=root"; valid until targets_free. */
const char *targets_text(const struct targets *t);

/* -ESRCH with a reason in `why` if a selected PID is not that of a process. */
int targets_check_pids(const struct targets *t, struct str *why);

/* The i-th selected PID; 0 after the last. */
pid_t targets_pid(const struct targets *t, size_t i);

/* Whether PIDs were selected or programs awaited, and all these processes have ended. */
bool targets_have_ended(const struct targets *t);

/* Sets the options that the BPF programs need. Call it before they are loaded. */
void targets_configure(struct targets *t, struct containers *containers,
		       struct programs_options *options);

/* Gives the selectors to the loaded programs. Logs missing groups. */
int targets_open(struct targets *t, struct programs *bpf);

/*
 * Selects the running descendants of the selected PIDs. Forks must already be followed. Logs
 * errors.
 */
int targets_select_children(const struct targets *t);

/* Appends a phrase about the first selector that never matched; nothing if there is none. */
void targets_add_missing(const struct targets *t, struct str *out);

/*
 * The part of targets_open that fills these maps with PIDs, names and users. Logs a rejected
 * selector.
 */
struct targets_fds;
int targets_fill(struct targets *t, const struct targets_fds *fds);

/* Whether the process is a target: every one without selectors, else those of targets_admit. */
bool targets_hold(const struct targets *t, const struct process *p);

/* Makes the process a target, until targets_drop: it ended, or executes a program not selected. */
void targets_admit(struct targets *t, const struct process *p);
void targets_drop(struct targets *t, const struct process *p);

/*
 * Calls `selected` for the running processes that the kernel considers targets and that are not
 * admitted. Returns the kernel's number of targets, or a negative errno.
 */
int targets_find_new(struct targets *t, struct processes *all, process_fn selected, void *ctx);

/*
 * Whether a process can become a target by a move to another control group, or by a change of name
 * or user. The kernel reports forks and execs, but not these.
 */
bool targets_may_change(const struct targets *t);

/* Follows control groups that appear and disappear; call it from time to time. */
void targets_follow(struct targets *t);

/*
 * Records whether the process is a JVM. Returns whether that may change which processes are
 * targets.
 */
bool targets_set_jvm(struct targets *t, pid_t pid, bool is_jvm);

/* Whether a selector refers to services. Then every process's service must be reported. */
bool targets_need_services(const struct targets *t);

/*
 * Records the service of a process. Returns whether that may change which processes are targets.
 */
bool targets_set_service(struct targets *t, pid_t pid, const char *service);
