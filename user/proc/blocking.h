/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that blocked a recorder of the daemon, and users whose processes keep it waiting. A
 * later recorder neither reads excluded processes nor attaches to them; their samples stay, with
 * kernel frames only.
 */
#pragma once

#include "base/types.h"
#include "base/vec.h"
#include "proc/status.h"

#define EXCLUDED_MAX 16

struct excluded {
	struct process_id id;
	char comm[17];
};

struct excluded_list {
	u32 nr;
	struct excluded at[EXCLUDED_MAX];
};

/*
 * Adds the process that has this PID. Processes that ended leave the list, and the oldest if it is
 * full. -ESRCH if the process has ended.
 */
int excluded_add(struct excluded_list *list, pid_t pid);

/* Whether the process still runs. */
bool excluded_runs(const struct excluded *e);

/*
 * From now on the processes of `list` are refused, and `*target` (may be NULL) shows the PID that
 * this process, not its children, reads. Both stay the caller's.
 */
void excluded_begin(const struct excluded_list *list, s32 *target);

/* Call it before reading a process in any way. -EBUSY if it is excluded. */
int excluded_touch(pid_t pid);

/* Call it before this process waits for events: it reads no process then. */
void excluded_rest(void);

/* Each user has a budget for the time that the recorder waits for his processes. */
struct slow_user {
	uid_t user;
	u64 since_ns, waited_ns;
};

struct slow_users {
	VEC(struct slow_user) all;
};

/* Notes that a process of the user kept the recorder waiting for that long. */
void slow_users_charge(struct slow_users *s, uid_t user, u64 ns);

/* Whether the user has taken more than 1 s, and 5 % of the time since the first charge. */
bool slow_users_is_over(const struct slow_users *s, uid_t user);

void slow_users_fini(struct slow_users *s);
