/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups: where they are mounted, which container a process is in, which processes a group
 * holds, and how much memory it has left.
 */
#pragma once

#include <sys/types.h>

#include "base/types.h"
#include "base/vec.h"

#define CONTAINER_ID_LEN 64
#define POD_UID_LEN      36

/*
 * Finds the id that Docker, containerd, CRI-O and Podman put into the names of control groups. It
 * is the last run of 64 hex digits in the text of /proc/PID/cgroup. On ECS it is 32 hex digits, "-"
 * and decimal digits. Groups beside a container that contain its id, such as conmon's, are skipped.
 * Returns whether the text has an id.
 */
bool cgroup_container_parse(const char *text, char out[CONTAINER_ID_LEN + 1]);

/*
 * Finds the last uid of a Kubernetes pod. "_" in the name becomes "-". The uid of a static pod has
 * 32 digits and no "-".
 */
bool cgroup_pod_parse(const char *text, char out[POD_UID_LEN + 1]);

/* The container of a process. Returns false also if the process is gone. */
bool cgroup_container(pid_t pid, char out[CONTAINER_ID_LEN + 1]);

/* A mount of a hierarchy of control groups. */
struct cgroup_mount {
	char *path;      /* owned */
	char *root;      /* owned; the group that is mounted there, "/" for all */
	char *options;   /* owned; for version 1, ",rw,cpu,cpuacct," includes its controllers */
	bool is_unified; /* version 2 */
};

struct cgroup_mounts {
	VEC(struct cgroup_mount) all; /* version 2 first */
};

/* Reads /proc/self/mountinfo. Returns 0 or a negative errno. */
int cgroup_mounts_read(struct cgroup_mounts *out);

/* The parser of cgroup_mounts_read. */
void cgroup_mounts_parse(const char *text, struct cgroup_mounts *out);
void cgroup_mounts_fini(struct cgroup_mounts *m);

/*
 * The folder of a process's control group in the hierarchy with this controller of version 1; NULL
 * stands for version 2. `text` is the text of /proc/PID/cgroup. NULL if the group is not visible
 * here. The caller frees the result.
 */
char *cgroup_folder(const struct cgroup_mounts *m, const char *text, const char *controller);

/*
 * The path of a process's control group in the hierarchy of the mount. `text` is the text of
 * /proc/PID/cgroup. NULL if it has no such line. The caller frees the result.
 */
char *cgroup_path(const struct cgroup_mount *m, const char *text);

/*
 * Calls `visit` for every control group of a mount, parents first, and at most CGROUPS_MAX times.
 * `name` is the name of the group's folder. `depth` is 0 directly below the mount.
 */
typedef void (*cgroup_fn)(const char *name, int depth, u64 id, void *ctx);
void cgroup_each(const struct cgroup_mount *m, cgroup_fn visit, void *ctx);

#define CGROUPS_MAX 100000

/*
 * Finds a control group by its folder, /sys/fs/cgroup/.., or by its name in a hierarchy as
 * /proc/PID/cgroup shows it. *id gets the kernel's id of the group. Returns the group's mount, or
 * NULL if there is no such group.
 */
const struct cgroup_mount *cgroup_find(const struct cgroup_mounts *m, const char *name, u64 *id);

/* A control group as a set of processes: those in it, and in the groups below it. */
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

struct memory_room {
	u64 limit, left; /* limit and room of the group with the least room */
};

/*
 * Finds how much the process's groups may still take before one of them reaches its limit. File
 * cache that the kernel can drop counts as free. Returns false if there is no limit or none is
 * visible.
 */
bool memory_room_read(pid_t pid, struct memory_room *out);

/* As memory_room_read, for a group's folder in the hierarchy that is mounted at `top`. */
bool memory_room_of(const char *folder, const char *top, struct memory_room *out);
