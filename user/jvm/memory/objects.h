/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How to read a thread's name from a JVM's heap: the fields Thread.name, String.value and
 * String.coder, and the encoding of references. Private to user/jvm. Sources: OpenJDK
 * src/hotspot/share oops/{fieldInfo,compressedOops,arrayOop}.hpp, gc/z/zAddress.hpp.
 */
#pragma once

#include "jvm/memory/vm_memory.h"

struct objects {
	u32 thread_name, string_value;
	u32 thread_eetop; /* Thread.eetop: its JavaThread, a check that the object is that Thread */
	u32 string_coder; /* 0: JDK 8, whose strings are UTF-16 */
	u32 array_length, array_data;
	u64 narrow_base; /* of references of 4 bytes */
	u32 narrow_shift;
	u32 reference_bytes;
	u32 class_off, class_bytes, class_shift; /* where an object's header has its class */
	bool is_colored;                         /* references are those of generational ZGC */
	bool is_handle; /* JavaThread::_threadObj is a pointer to the reference */
};

/*
 * -ENOENT if this build does not export the fields, -EFAULT or -ESRCH if they cannot be read (yet).
 */
int objects_find(const struct vm_memory *j, struct objects *out);

/* The address of a reference read from a field; 0 for null. */
u64 objects_address(const struct objects *o, u64 reference);

/* The same for a reference outside the heap, which always has 8 bytes. */
u64 objects_root(const struct objects *o, u64 reference);
