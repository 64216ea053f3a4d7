/* SPDX-License-Identifier: Apache-2.0 */
/* What the files and sockets of container runtimes say of one container. */
#pragma once

#include "proc/container.h"

/* Fills in what `c` lacks. */
void container_names_of_logs(struct container *c, const char *root);
void container_names_of_bundle(struct container *c, const char *root);
void container_names_of_podman(struct container *c, const char *root);

/* The runtimes that are asked on their sockets. */
enum runtime_socket {
	SOCKET_DOCKER,
	SOCKET_CRIO,
	NR_RUNTIME_SOCKETS,
};

/* The same by what one answers; -ETIMEDOUT if it took longer than 0.2 s. */
int container_names_of_socket(struct container *c, const char *root, enum runtime_socket which);

/* The parsers behind them. */
void container_names_of_log(struct container *c, const char *file_name);
void container_names_of_json(struct container *c, const char *text, size_t len);
