/* SPDX-License-Identifier: Apache-2.0 */
/* Scope cleanup: a resource is released when its variable goes out of scope. */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Defines the function behind an auto_ attribute. It does not release NULL. */
#define AUTO_DEFINE(name, type, release)              \
	static inline void auto_##name##_run(type *p) \
	{                                             \
		if (*p)                               \
			release(*p);                  \
	}

/* Returns the value of `p` and disarms the cleanup of `p`. */
#define take(p)                        \
	({                             \
		typeof(p) taken = (p); \
		(p) = NULL;            \
		taken;                 \
	})

/* Like take() for a file descriptor, whose empty value is -1. */
#define take_fd(fd)               \
	({                        \
		int taken = (fd); \
		(fd) = -1;        \
		taken;            \
	})

AUTO_DEFINE(fclose, FILE *, fclose)
AUTO_DEFINE(closedir, DIR *, closedir)
#define auto_fclose   __attribute__((cleanup(auto_fclose_run)))
#define auto_closedir __attribute__((cleanup(auto_closedir_run)))

static inline void auto_free_run(void *p)
{
	free(*(void **)p);
}
#define auto_free __attribute__((cleanup(auto_free_run)))

static inline void auto_close_run(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
#define auto_close __attribute__((cleanup(auto_close_run)))
