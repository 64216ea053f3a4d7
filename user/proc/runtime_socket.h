/* SPDX-License-Identifier: Apache-2.0 */
/* Asks container runtimes about a container, by plain HTTP on their sockets. */
#pragma once

#include "base/str.h"
#include "proc/runtime_config.h"

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
