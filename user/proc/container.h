/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The containers of the node and their names, from what the runtimes leave in files and tell on
 * their sockets in plain HTTP. A name that is not found is asked for again for some seconds, since
 * runtimes write it about when the container starts. Asking has a budget of time: where a runtime
 * does not answer, or there are thousands of containers, names come later.
 */
#pragma once

#include "proc/cgroup.h"

/* Texts are clean UTF-8, "" if not known, never NULL. */
struct container {
	char id[CONTAINER_ID_LEN + 1];
	char pod_uid[POD_UID_LEN + 1];
	char *name, *pod, *namespace;
};

struct containers;

/* `root` is where /run, /var and /proc are, "" but in tests. */
struct containers *containers_new(const char *root);
void containers_free(struct containers *all);

#define CONTAINERS_MAX 65536 /* one that ended counts, too */

/*
 * The container of that id; valid until containers_free. `pod_uid` may be NULL. NULL if it is new
 * and there are CONTAINERS_MAX already.
 */
const struct container *containers_find(struct containers *all, const char *id,
					const char *pod_uid);

/* For how long names may be asked for at once from now on: more where nothing else is to be done.
 */
void containers_set_credit(struct containers *all, u64 ns);

/* Whether of each that was found runtimes have told what they know. */
bool containers_are_told(const struct containers *all);

/* That of a process, by its control groups; *out is NULL if it is in none. -ESRCH if it is gone. */
int containers_of(struct containers *all, pid_t pid, const struct container **out);

/* Whether people mean it by "ID" (six digits or more of it) or "NAME". */
bool container_matches(const struct container *c, const char *text);

/* The same by "POD", "NAMESPACE/POD" or the pod's uid. */
bool container_matches_pod(const struct container *c, const char *text);
