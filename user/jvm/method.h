/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of Methods, read through Method -> ConstMethod -> ConstantPool -> Symbol and kept: private
 * to user/jvm. A Method's memory is used again after its class was unloaded, so that every use of a
 * kept name is preceded by a look at the Method, its ConstMethod and the count of unloaded classes.
 */
#pragma once

#include "jvm/java_frame.h"
#include "jvm/jvm.h"

struct method_name {
	u64 const_method;
	const char *class_name, *name, *signature, *file; /* in the pool */
	u32 code_size;                                    /* bytes of bytecode */
	bool is_native;
};

struct methods;

/* Keeps at most METHODS_MAX names; `names` and `j` must outlive it. */
struct methods *methods_new(const struct jvm *j, struct java_names *names);
void methods_free(struct methods *all);
void methods_clear(struct methods *all);

/*
 * The name of what was the Method at that address when the JVM had unloaded so many classes
 * (hotspot.h), 0: of what is now. -EBADMSG if there is no such object (any more), -ESTALE if it may
 * have been another one then, -EAGAIN if classes are unloaded all the time, -ENOENT if this build
 * does not say how to read it, -EFAULT, -ESRCH. Valid until the next call.
 */
int methods_find(struct methods *all, u64 method, u64 unloads, const struct method_name **out);

/* The source line of a bytecode of the method that was just found, 0 if unknown. */
u32 methods_line(struct methods *all, const struct method_name *m, s32 bci);

/* The bytes of a Symbol; `*text` is the caller's to free. -EBADMSG, -EFAULT, -ESRCH. */
int method_symbol(const struct jvm *j, u64 symbol, char **text, size_t *text_len);

#define METHODS_MAX 8192
