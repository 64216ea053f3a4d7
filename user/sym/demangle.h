/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols of compilers made readable. */
#pragma once

#include "base/str.h"

/* What a readable name is cut to, in bytes. */
#define DEMANGLE_MAX 512

/*
 * Sets `out` to what a person would call the function `symbol`: C++ and Rust names demangled,
 * without parameters, return type and hash, with template arguments unless they are long
 * ("<...>"); without symbol version (@@GLIBC_2.2.5) and without the marks of compilers' copies
 * (.isra.0, .constprop.0, .part.0, .cold, .llvm.123). A "@plt" at the end stays. What is not
 * mangled, or so long that it cannot be demangled in bounded time and memory, stays as it is,
 * cut. Any bytes may come in.
 */
void demangle(struct str *out, const char *symbol);
