/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds where Docker and Podman keep their files and sockets on this node, if not in the usual
 * places. Reads their configuration files and the command line of a running dockerd. All paths are
 * absolute, as the daemons see them.
 */
#pragma once

#include "base/types.h"

#define RUNTIME_PATHS_MAX 4

struct runtime_config {
	char *docker_roots[RUNTIME_PATHS_MAX]; /* "/var/lib/docker" first; NULL-terminated */
	char *docker_socket;            /* "/run/other.sock"; NULL if only the usual one is used */
	char *podman_root, *podman_run; /* "/var/lib/containers/storage" */
	char *podman_driver;            /* "overlay" */
};

/* `root` is the prefix of /etc and /proc; "" except in tests. */
void runtime_config_read(const char *root, struct runtime_config *out);
void runtime_config_fini(struct runtime_config *c);

/*
 * Whether the process of `folder`, /proc/PID, is root's and in our namespaces. Others could make
 * sysflame open any file they name.
 */
bool runtime_is_trusted(const char *folder);
