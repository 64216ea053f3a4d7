/* SPDX-License-Identifier: Apache-2.0 */
/* Reads names of containers from files and sockets of container runtimes. */
#pragma once

#include "proc/container.h"
#include "proc/runtime_config.h"

/* Fill the empty names of `c`, and set is_denied. */
void container_names_of_logs(struct container *c, const char *root,
			     const struct runtime_config *config);
void container_names_of_bundle(struct container *c, const char *root,
			       const struct runtime_config *config);
void container_names_of_podman(struct container *c, const char *root,
			       const struct runtime_config *config);

/* The runtimes that answer requests on a socket. */
enum runtime_socket {
	SOCKET_DOCKER,
	SOCKET_DOCKER_ELSEWHERE,
	SOCKET_CRIO,
	NR_RUNTIME_SOCKETS,
};

/*
 * Fills the empty names of `c` from a runtime's answer; -ETIMEDOUT if it takes longer than 0.2 s.
 */
int container_names_of_socket(struct container *c, const char *root,
			      const struct runtime_config *config, enum runtime_socket which);
