/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths of mapped files. The same libraries are mapped by most processes, and a hostile process may
 * map one file with a long path very often: equal paths are stored once.
 */
#pragma once

#include "base/types.h"

/* The stored copy of `len` bytes; each call needs a path_free. */
const char *path_new(const char *text, size_t len);

/* The same path once more; it needs a path_free too. */
const char *path_share(const char *path);

/* Ignores NULL. */
void path_free(const char *path);

/* The memory that the path takes, if nothing else shares it. */
size_t path_bytes(const char *path);
