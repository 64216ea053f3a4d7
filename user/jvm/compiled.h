/* SPDX-License-Identifier: Apache-2.0 */
/* The Java frames at a pc of compiled code (code/nmethod.hpp): private to user/jvm. */
#pragma once

#include "jvm/codeheap.h"
#include "jvm/method.h"

/*
 * Names the frames at `pc` in the nmethod `b`, the innermost first, at most `max` >= 1, the
 * physical method always among them. `is_leaf`: pc is the next instruction, not a return address.
 * Returns how many, -ESTALE if the nmethod changed meanwhile, -EBADMSG, -EFAULT, -ESRCH.
 */
int compiled_frames(const struct jvm *j, struct methods *methods, const struct blob *b, u64 pc,
		    bool is_leaf, struct java_frame out[], int max);

/* nmethod::_compile_id, which no other nmethod of this JVM has; 0 if not exported. */
u32 compiled_id(const struct jvm *j, const struct blob *b);
