/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JVM process to attach to, with all its files opened in advance: once root acts with the
 * target's ids, it has no capabilities and /proc may deny access.
 */
#pragma once

#include "base/str.h"
#include "proc/status.h"

struct process_root {
	struct proc_status status;
	u64 program_ns; /* earliest known time of executing its program; CLOCK_BOOTTIME */
	int pidfd;
	int proc_fd;       /* /proc/PID */
	int root_fd;       /* its root, O_PATH */
	int tmp_fd;        /* its /tmp, O_PATH */
	int mnt_fd;        /* its mount namespace; -1 if it is ours */
	bool has_our_root; /* a path means the same file for it and for us */
	s64 clock_off_ns;  /* our CLOCK_MONOTONIC minus its */
	u64 own_effective; /* capabilities */
	uid_t own_uid;
	gid_t own_gid;
	gid_t *own_groups;
	size_t nr_own_groups;
};

/*
 * Opens process `pid` if it is still the one that started at start_ns. -ESRCH if it is gone,
 * -EACCES or -EPERM if we may not inspect it, -ENOTDIR or -ENOENT if it has no /tmp.
 */
int process_root_open(struct process_id id, struct process_root *out);

/* The reason for which process_root_open failed for that process, "reason; remedy". */
void process_root_explain(pid_t pid, int err, struct str *why);

/*
 * The capabilities needed to act as this process and to inspect it: CAP_SETUID and CAP_SETGID if
 * its ids are not ours, CAP_SYS_PTRACE if its ids do not give access.
 */
u64 process_root_capabilities(const struct proc_status *status);

void process_root_close(struct process_root *t);

/*
 * Takes the target's ids. We can then do nothing to files that the target could not do itself.
 * process_root_unbecome restores our ids.
 */
int process_root_become(const struct process_root *t);
void process_root_unbecome(const struct process_root *t);

/*
 * After the error `err`, whether to retry with the target's ids, which are then in effect. /proc
 * admits processes with the same ids without CAP_SYS_PTRACE. process_root_unbecome ends it.
 */
bool process_root_become_if_denied(const struct process_root *t, int err);

/* Opens a file of its /proc directory, with its ids if necessary. */
int process_root_open_proc(const struct process_root *t, const char *name, int flags);

/* Opens a path for reading as the target would: target_file_open of proc/target_file.h. */
int process_root_open_file(const struct process_root *t, const char *path);

/*
 * Whether a file in its /tmp at the place of its attach socket prevents attaching. Such a file is
 * another user's socket, which we do not trust, or a file that the target can neither connect to
 * nor replace, in a sticky /tmp.
 */
bool process_root_is_blocked(const struct process_root *t, u32 owner, u32 mode);

/* Makes an empty file in its /tmp, owned by it; -EEXIST if the name is taken. */
int process_root_create(const struct process_root *t, const char *name, mode_t mode);
void process_root_unlink(const struct process_root *t, const char *name);
