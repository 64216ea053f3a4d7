/* SPDX-License-Identifier: Apache-2.0 */
/* A growable array of any element type: struct { T *at; size_t nr, cap; }. */
#pragma once

#include <stdlib.h>

#include "base/alloc.h"

#define VEC(type)               \
	struct {                \
		type *at;       \
		size_t nr, cap; \
	}

/* Makes room for `more` elements after the last one. */
#define vec_reserve(v, more)                                                            \
	do {                                                                            \
		size_t vec_need = (v)->nr + (more);                                     \
		if (vec_need > (v)->cap) {                                              \
			size_t vec_cap = (v)->cap ? (v)->cap * 2 : 8;                   \
			(v)->cap = vec_cap < vec_need ? vec_need : vec_cap;             \
			(v)->at = xreallocarray((v)->at, (v)->cap, sizeof((v)->at[0])); \
		}                                                                       \
	} while (0)

#define vec_push(v, ...)                          \
	do {                                      \
		vec_reserve(v, 1);                \
		(v)->at[(v)->nr++] = __VA_ARGS__; \
	} while (0)

#define vec_each(p, v) for (typeof((v)->at[0]) *p = (v)->at; p && p < (v)->at + (v)->nr; p++)

#define vec_fini(v)             \
	do {                    \
		free((v)->at);  \
		(v)->at = NULL; \
		(v)->nr = 0;    \
		(v)->cap = 0;   \
	} while (0)
