/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Java frames at a pc of compiled code (code/nmethod.hpp). Private to user/jvm. The data read
 * from an nmethod is kept: its tables do not change while it lives, and its id is never used again.
 * A further pc of a known nmethod then costs no read of the JVM's memory as long as the names of
 * its Methods are trusted (methods_find).
 */
#pragma once

#include "jvm/memory/codeheap.h"
#include "jvm/memory/method.h"

/* An nmethod with the data read from it so far. */
struct compiled;

/* Reads nothing yet. */
struct compiled *compiled_new(const struct blob *b);
void compiled_free(struct compiled *c);
size_t compiled_bytes(const struct compiled *c);
const struct blob *compiled_blob(const struct compiled *c);

/*
 * Names the frames at `at` in the nmethod, innermost first, at most `max` >= 1, always including
 * the physical method. at.unloads must be 0 unless this is the nmethod that the sample found: only
 * then did its Methods exist at that count. Returns the number of frames, -ESTALE if the nmethod
 * has changed or gone, -EBADMSG, -EFAULT or -ESRCH. After an error free it.
 */
int compiled_frames(const struct vm_memory *j, struct methods *methods, struct compiled *c,
		    const struct code_pc *at, struct java_frame out[], int max);

/* nmethod::_compile_id, unique within this JVM; 0 if not exported. */
u32 compiled_id(const struct vm_memory *j, const struct blob *b);
