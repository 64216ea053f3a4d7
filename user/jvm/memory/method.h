/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of Methods, read through Method -> ConstMethod -> ConstantPool -> Symbol and cached.
 * Private to user/jvm. The JVM reuses a Method's memory after its class is unloaded. Each use of a
 * cached name therefore first checks the Method, its ConstMethod and the count of unloaded classes,
 * unless it did so in the last second at the count of the sample.
 */
#pragma once

#include "jvm/memory/java_frame.h"
#include "jvm/memory/vm_memory.h"

struct method_name {
	u64 const_method;
	const char *class_name, *name, *signature, *file; /* in the pool */
	u32 code_size;                                    /* length of the bytecode in bytes */
	bool is_native;
};

struct methods;

/* Caches at most METHODS_MAX names; `names` and `j` must outlive it. */
struct methods *methods_new(const struct vm_memory *j, struct java_names *names);
void methods_free(struct methods *all);
void methods_clear(struct methods *all);
size_t methods_bytes(const struct methods *all);

/*
 * The name of the Method that was at that address when the JVM had unloaded so many classes
 * (hotspot.h; 0: now). -EBADMSG if there is no such object (any more), -ESTALE if it may have been
 * another one then, -EAGAIN if classes are unloaded all the time, -ENOENT if this build does not
 * export the fields, -EFAULT, -ESRCH. Valid until the next call.
 */
int methods_find(struct methods *all, u64 method, u64 unloads, const struct method_name **out);

/*
 * The name that methods_find gave earlier at that count, without any check; NULL if it gave none.
 * Only for a Method that is known to be kept alive.
 */
const struct method_name *methods_recall(struct methods *all, u64 method, u64 unloads);

/* How often the JVM's memory was read, for a name or to check whether a name is still right. */
u64 methods_nr_looks(const struct methods *all);

/* The source line of a bytecode of the method found last; 0 if unknown. */
u32 methods_line(struct methods *all, const struct method_name *m, s32 bci);

/* The bytes of a Symbol; the caller frees `*text`. -EBADMSG, -EFAULT, -ESRCH. */
int method_symbol(const struct vm_memory *j, u64 symbol, char **text, size_t *text_len);

#define METHODS_MAX 8192
/*
 * How long a name is used without reading the JVM again, for samples with the same count of
 * unloaded classes.
 */
#define METHODS_TRUSTED_NS (1000ull * 1000 * 1000)
