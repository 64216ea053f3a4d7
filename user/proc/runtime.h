/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Container runtimes: finds where Docker and Podman keep their files and sockets on this node, if
 * not in the usual places, and asks runtimes about a container, by plain HTTP on their sockets.
 * Reads their configuration files and the command line of a running dockerd. All paths are
 * absolute, as the daemons see them.
 */
#pragma once

#include "base/str.h"
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

/* The runtimes that answer requests on a socket. */
enum runtime_socket {
	SOCKET_DOCKER,
	SOCKET_DOCKER_ELSEWHERE,
	SOCKET_CRIO,
	NR_RUNTIME_SOCKETS,
};

#define RUNTIME_ANSWER_MAX (4u << 20)

/*
 * Finds the runtime's socket, which belongs to root or to our own user. The caller frees *path.
 * -ENOENT if the runtime has no socket. `root` comes before /run in the path; only tests set it.
 */
int runtime_socket_find(const char *root, const struct runtime_config *config,
			enum runtime_socket which, char **path);

/*
 * Asks for the container `id`. *out is the answer's JSON text; empty if the runtime does not know
 * the container. -EAGAIN if it takes longer than 0.2 s. Other errors are those of
 * runtime_socket_find, socket(2) and connect(2).
 */
int runtime_socket_ask(const char *root, const struct runtime_config *config,
		       enum runtime_socket which, const char *id, struct str *out);
