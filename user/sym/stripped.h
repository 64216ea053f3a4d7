/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups the functions of libjvm and libc that have no symbol. Each of them would be a name of its
 * own that means nothing to readers, such as "[libjvm.so] function at 0x35ad00". The group's name
 * says by which exported function the library was entered, or else the role of the thread:
 *
 *	[libc.so.6 below malloc]   malloc is exported, and calls the function directly or not
 *	[libjvm.so: C2 compiler]   no exported function of libjvm is between it and the thread's
 *	                           start, code of another library, or Java code
 *
 * If neither is known the frame stays. Groups have no name of a function: they count as unnamed.
 */
#pragma once

#include "sym/symbolize.h"

/*
 * The role of a thread of a JVM by its stack and by its name, of which the kernel keeps 15 bytes;
 * NULL if unknown.
 */
const char *stripped_role(const struct frames *all, const frame_list *frames, const char *comm);

/* Replaces frames of the stack, leaf first, by groups. `role` may be NULL. */
void stripped_group(struct symbolizer *s, const struct frames *all, const char *role,
		    frame_list *frames);
