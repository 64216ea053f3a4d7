/* SPDX-License-Identifier: Apache-2.0 */
/* A control group as a set of processes: those in it, and in the groups below it. */
#pragma once

#include <sys/types.h>

#include "base/types.h"

struct cgroup_bound;

/*
 * `name` is as in cgroup_find. A group that does not exist yet is looked up again, at most once a
 * second.
 */
struct cgroup_bound *cgroup_bound_new(const char *name);
void cgroup_bound_free(struct cgroup_bound *b);

/* Whether the process is in the group; false also if either is gone. */
bool cgroup_bound_holds(struct cgroup_bound *b, pid_t pid);

/* Whether the group exists, in a hierarchy with controllers or of version 2. */
bool cgroup_bound_exists(struct cgroup_bound *b);
