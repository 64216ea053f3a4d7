/* SPDX-License-Identifier: Apache-2.0 */
/* What the files and sockets of container runtimes say of one container. */
#pragma once

#include "proc/container.h"

/* Fills in what `c` lacks. */
void container_names_of_logs(struct container *c, const char *root);
void container_names_of_bundle(struct container *c, const char *root);
void container_names_of_podman(struct container *c, const char *root);
void container_names_of_socket(struct container *c, const char *root);

/* The parsers behind them. */
void container_names_of_log(struct container *c, const char *file_name);
void container_names_of_json(struct container *c, const char *text, size_t len);
