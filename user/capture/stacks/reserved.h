/* SPDX-License-Identifier: Apache-2.0 */
/* Distinguishes memory that JVMs and threads reserve for themselves from memory of the program. */
#pragma once

#include "jvm/hotspot/regions.h"
#include "sym/symbolize.h"

/*
 * The group of a sample of mmap, such as "[java heap]"; NULL if it has no group. `mapped` is the
 * sample's; `region` is where it lies in the process's JVM. GC structures and metaspace need
 * libjvm's symbols; without them the group is "[jvm]".
 */
const char *reserved_group(u64 mapped, enum jvm_region region, const struct frames *all,
			   const frame_list *frames);

/* Whether a JVM maps guard pages of a stack here. They are part of the stack that libc mapped. */
bool reserved_is_guard_page(u64 mapped, const struct frames *all, const frame_list *frames);
