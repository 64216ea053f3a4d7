/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a JVM's heap keeps the name of a thread: Thread.name, String.value and String.coder, and
 * how references to them are written. Private to user/jvm; sources: OpenJDK src/hotspot/share
 * oops/{fieldInfo,compressedOops,arrayOop}.hpp, gc/z/zAddress.hpp.
 */
#pragma once

#include "jvm/jvm.h"

struct objects {
	u32 thread_name, string_value;
	u32 thread_eetop; /* Thread.eetop: its JavaThread, which proves that it is that Thread */
	u32 string_coder; /* 0: JDK 8, whose strings are UTF-16 */
	u32 array_length, array_data;
	u64 narrow_base; /* of references of 4 bytes */
	u32 narrow_shift;
	u32 reference_bytes;
	u32 class_off, class_bytes, class_shift; /* what of an object's head tells its class */
	bool is_colored;                         /* references are those of generational ZGC */
	bool is_handle; /* JavaThread::_threadObj points to the reference */
};

/* -ENOENT if this build does not tell, -EFAULT or -ESRCH if it cannot be read (yet). */
int objects_find(const struct jvm *j, struct objects *out);

/* The address that a reference read from a field stands for; 0: null. */
u64 objects_address(const struct objects *o, u64 reference);

/* The same for a reference outside the heap, which always has 8 bytes. */
u64 objects_root(const struct objects *o, u64 reference);
