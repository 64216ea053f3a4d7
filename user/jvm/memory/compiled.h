/* SPDX-License-Identifier: Apache-2.0 */
/* The Java frames at a pc of compiled code (code/nmethod.hpp). Private to user/jvm. */
#pragma once

#include "jvm/memory/codeheap.h"
#include "jvm/memory/method.h"

/*
 * Names the frames at `at` in the nmethod `b`, innermost first, at most `max` >= 1, always
 * including the physical method. The count of unloaded classes must be 0 unless `b` is the nmethod
 * that the sample found: its Methods then existed at that count. Returns the number of frames,
 * -ESTALE if the nmethod changed meanwhile, -EBADMSG, -EFAULT or -ESRCH.
 */
int compiled_frames(const struct vm_memory *j, struct methods *methods, const struct blob *b,
		    const struct code_pc *at, struct java_frame out[], int max);

/* nmethod::_compile_id, unique within this JVM; 0 if not exported. */
u32 compiled_id(const struct vm_memory *j, const struct blob *b);
