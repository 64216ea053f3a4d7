/* SPDX-License-Identifier: Apache-2.0 */
/* A running JVM as the readers of its memory see it. Private to user/jvm. */
#pragma once

#include <errno.h>

#include "jvm/memory/build.h"

struct vm_memory {
	struct mem *mem;
	u64 bias;                   /* of libjvm */
	u64 image_start, image_end; /* of libjvm, and of its variables; [start, end) */
	u64 data_start, data_end;
	int jdk;     /* 8, 11, ...; 0 if unknown */
	u64 unloads; /* address of its count of unloaded classes; 0 if unknown */
	struct jvm_build build;
};

/* The address of a static variable of libjvm, 0 if it is not exported. */
static inline u64 vm_static(const struct vm_memory *j, enum jvm_slot slot)
{
	return vm_has(&j->build, slot) ? j->build.fields[slot].at + j->bias : 0;
}

/* Reads a field of an object in the JVM; -ENOENT if it is not exported. */
static inline int vm_read(const struct vm_memory *j, u64 object, enum jvm_slot slot, u64 *out)
{
	const struct jvm_field *f = &j->build.fields[slot];
	u64 value = 0;

	if (!f->width)
		return -ENOENT;
	int err = mem_read(j->mem, object + f->at, &value, f->width);
	if (err)
		return err;
	*out = value;
	return 0;
}

/* Reads a static variable of libjvm; -ENOENT if it is not exported. */
static inline int vm_read_static(const struct vm_memory *j, enum jvm_slot slot, u64 *out)
{
	return vm_read(j, j->bias, slot, out);
}
