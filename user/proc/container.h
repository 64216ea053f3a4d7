/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The containers of the node and their names. The names come from files of container runtimes and
 * from requests in plain HTTP on their sockets. Runtimes write a name at about the time the
 * container starts, so a missing name is requested again for some seconds. Requests have a time
 * budget: if a runtime does not answer, or if there are thousands of containers, names come later.
 */
#pragma once

#include "proc/cgroup.h"

/* Texts are clean UTF-8 and never NULL; "" if unknown. */
struct container {
	char id[CONTAINER_ID_LEN + 1];
	char pod_uid[POD_UID_LEN + 1];
	char *name, *pod, *namespace;
	bool is_denied; /* it opted out of profiling: CONTAINER_DENY, or a line of DENY_PATH */
};

/* The annotation of a pod, or label of a container, that opts out if it is "deny". */
#define CONTAINER_DENY "sysflame/profile"

/* Lines CONTAINER, NAMESPACE/POD or NAMESPACE/ that opt out by name; `#` begins a comment. */
#define DENY_PATH "/etc/sysflame/deny"

struct containers;

/* `root` is the prefix of /run, /var and /proc; "" except in tests. */
struct containers *containers_new(const char *root);
void containers_free(struct containers *all);

#define CONTAINERS_MAX 65536 /* including containers that ended since the last sweep */

/*
 * The container with that id; valid until a sweep drops it. `pod_uid` may be NULL. NULL if the id
 * is new and there are CONTAINERS_MAX already.
 */
const struct container *containers_find(struct containers *all, const char *id,
					const char *pod_uid);

/* As containers_find, but no runtime is asked for a name. NULL if the id is unknown. */
const struct container *containers_known(const struct containers *all, const char *id);

/* The number of containers, and their memory. */
size_t containers_nr(const struct containers *all);
size_t containers_bytes(const struct containers *all);
#define CONTAINERS_BYTES ((u64)CONTAINERS_MAX * 1024)

/* Keeps a container in the next sweep; NULL does nothing. */
void containers_keep(const struct container *c);

/* Drops the containers for which containers_keep was not called since the last sweep. */
void containers_sweep(struct containers *all);

/*
 * Sets how long requests may take at once from now on. A caller with nothing else to do grants
 * more.
 */
void containers_set_credit(struct containers *all, u64 ns);

/* Whether the runtimes have answered for every container found so far. */
bool containers_are_reported(const struct containers *all);

/*
 * Why a runtime could not be asked: -EPERM or -EACCES if we may not connect to its socket. The
 * names that only it has are then missing. 0 if none refused.
 */
int containers_refused(const struct containers *all);

/*
 * Finds the container of a process by its control groups; *out is NULL if it is in none. -ESRCH if
 * the process is gone.
 */
int containers_of(struct containers *all, pid_t pid, const struct container **out);

/* Whether `text` selects the container: "ID" (six digits or more of it) or "NAME". */
bool container_matches(const struct container *c, const char *text);

/* Whether `text` selects the container's pod: "POD", "NAMESPACE/POD" or the pod's uid. */
bool container_matches_pod(const struct container *c, const char *text);
