/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation that never returns NULL. When memory runs out, it prints a message and exits with
 * status 1.
 */
#pragma once

#include "base/types.h"

void *xmalloc(size_t size);
void *xcalloc(size_t nr, size_t size);
void *xreallocarray(void *old, size_t nr, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t len);
void *xmemdup(const void *data, size_t len);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
