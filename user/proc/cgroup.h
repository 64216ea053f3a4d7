/* SPDX-License-Identifier: Apache-2.0 */
/* The container of a process, as far as its control groups tell. */
#pragma once

#include "base/types.h"

#define CONTAINER_ID_LEN 64

/*
 * The id that Docker, containerd, CRI-O and Podman put into the names of control groups: the last
 * 64 hex digits in a row in the text of /proc/PID/cgroup. Whether there is one.
 */
bool cgroup_container_parse(const char *text, char out[CONTAINER_ID_LEN + 1]);

/* That of a process; false also if it is gone. */
bool cgroup_container(pid_t pid, char out[CONTAINER_ID_LEN + 1]);
