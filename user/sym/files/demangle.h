/* SPDX-License-Identifier: Apache-2.0 */
/* Makes compilers' symbols readable. */
#pragma once

#include "base/str.h"

/* The maximum length of a readable name, in bytes. */
#define DEMANGLE_MAX 512

/*
 * Sets `out` to the readable name of the function `symbol`. C++ and Rust names are demangled,
 * without parameters, return type and hash; long template arguments become "<...>". Symbol versions
 * (@@GLIBC_2.2.5) and marks of compilers' copies (.isra.0, .constprop.0, .part.0, .cold, .llvm.123)
 * are removed. A "@plt" at the end stays. A name that is not mangled stays as it is, but cut. So
 * does one too long to demangle in bounded time and memory. `symbol` may hold any bytes.
 */
void demangle(struct str *out, const char *symbol);
