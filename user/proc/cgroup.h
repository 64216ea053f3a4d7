/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups: where they are mounted, and what they tell of a process's container. */
#pragma once

#include "base/types.h"
#include "base/vec.h"

#define CONTAINER_ID_LEN 64
#define POD_UID_LEN      36

/*
 * The id that Docker, containerd, CRI-O and Podman put into the names of control groups: the last
 * 64 hex digits in a row in the text of /proc/PID/cgroup, or the last 32 that "-" and decimal
 * digits follow, as on ECS. Groups beside a container that have its id, as of conmon, do not count.
 * Whether there is one.
 */
bool cgroup_container_parse(const char *text, char out[CONTAINER_ID_LEN + 1]);

/*
 * The last uid of a Kubernetes pod, with "-" also where the name has "_"; of static pods 32 digits
 * without.
 */
bool cgroup_pod_parse(const char *text, char out[POD_UID_LEN + 1]);

/* The container of a process; false also if it is gone. */
bool cgroup_container(pid_t pid, char out[CONTAINER_ID_LEN + 1]);

/* Where a hierarchy of control groups is mounted. */
struct cgroup_mount {
	char *path;      /* owned */
	char *root;      /* owned; the group that shows there, "/" for all */
	char *options;   /* owned; of version 1: ",rw,cpu,cpuacct," has its controllers among others
			  */
	bool is_unified; /* version 2 */
};

struct cgroup_mounts {
	VEC(struct cgroup_mount) all; /* version 2 first */
};

/* Reads /proc/self/mountinfo; a negative errno. */
int cgroup_mounts_read(struct cgroup_mounts *out);

/* The parser behind it. */
void cgroup_mounts_parse(const char *text, struct cgroup_mounts *out);
void cgroup_mounts_fini(struct cgroup_mounts *m);

/*
 * The folder of a process's control group: in the hierarchy that has this controller of version 1,
 * NULL for version 2. `text` is that of /proc/PID/cgroup. NULL if it does not show here; the caller
 * frees it.
 */
char *cgroup_folder(const struct cgroup_mounts *m, const char *text, const char *controller);

/*
 * Calls `visit` for every control group of a mount, parents first; `name` is that of its folder,
 * `depth` 0 below the mount.
 * At most CGROUPS_MAX.
 */
typedef void (*cgroup_fn)(const char *name, int depth, u64 id, void *ctx);
void cgroup_each(const struct cgroup_mount *m, cgroup_fn visit, void *ctx);

#define CGROUPS_MAX 100000

/*
 * Finds a control group by its folder, /sys/fs/cgroup/.., or by its name in a hierarchy, as
 * /proc/PID/cgroup shows it. *id is what the kernel calls it. The mount that it lies in; NULL if
 * there is no such group.
 */
const struct cgroup_mount *cgroup_find(const struct cgroup_mounts *m, const char *name, u64 *id);
