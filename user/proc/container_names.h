/* SPDX-License-Identifier: Apache-2.0 */
/* Reads names of containers from files and sockets of container runtimes. */
#pragma once

#include "proc/container.h"
#include "proc/runtime_config.h"
#include "proc/runtime_socket.h"

/* Fill the empty names of `c`, and set is_denied. */
void container_names_of_logs(struct container *c, const char *root,
			     const struct runtime_config *config);
void container_names_of_bundle(struct container *c, const char *root,
			       const struct runtime_config *config);
void container_names_of_podman(struct container *c, const char *root,
			       const struct runtime_config *config);
void container_names_of_monitor(struct container *c, const char *root,
				const struct runtime_config *config);

/*
 * Fills the empty names of `c` from a runtime's answer; -EAGAIN if it takes longer than 0.2 s. The
 * opener asks for a recorder. Returns an error of runtime_socket_ask or open_request_answer.
 */
int container_names_of_socket(struct container *c, const char *root,
			      const struct runtime_config *config, enum runtime_socket which);
