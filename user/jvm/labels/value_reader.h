/* SPDX-License-Identifier: Apache-2.0 */
/* Values of ThreadLocals of any thread, read as bpf/java_value.bpf.c reads them. */
#pragma once

#include "abi.h"
#include "proc/mem.h"

/* Reads label `i` of the thread with this JavaThread into *out. */
void value_read(struct mem *m, struct java_place *place, u64 java_thread, u32 i,
		struct java_value *out);

/*
 * All labels of the thread with this thread pointer. Returns false if it is no thread of the JVM.
 */
bool values_read(struct mem *m, struct java_place *place, u64 tls,
		 struct java_value out[JAVA_LABELS]);
