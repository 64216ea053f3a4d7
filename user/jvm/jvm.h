/* SPDX-License-Identifier: Apache-2.0 */
/* A running JVM as the readers of its memory see it: private to user/jvm. */
#pragma once

#include <errno.h>

#include "jvm/build.h"

struct jvm {
	struct mem *mem;
	u64 bias;    /* of libjvm */
	int jdk;     /* 8, 11, ...; 0 if unknown */
	u64 unloads; /* where it counts the classes that it has unloaded; 0: unknown */
	struct jvm_build build;
};

/* Where a static variable of libjvm is, 0 if it is not exported. */
static inline u64 jvm_static(const struct jvm *j, enum jvm_slot slot)
{
	return jvm_has(&j->build, slot) ? j->build.fields[slot].at + j->bias : 0;
}

/* A field of an object in the JVM; -ENOENT if it is not exported. */
static inline int jvm_read(const struct jvm *j, u64 object, enum jvm_slot slot, u64 *out)
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

/* The value of a static variable of libjvm; -ENOENT if it is not exported. */
static inline int jvm_read_static(const struct jvm *j, enum jvm_slot slot, u64 *out)
{
	return jvm_read(j, j->bias, slot, out);
}
