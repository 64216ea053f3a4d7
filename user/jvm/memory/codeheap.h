/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code heaps of a JVM and the CodeBlobs in them (src/hotspot/share/memory/heap.cpp,
 * code/codeBlob.hpp). Private to user/jvm.
 */
#pragma once

#include "hotspot_abi.h"
#include "jvm/memory/vm_memory.h"

struct code_heaps {
	struct hotspot_heap at[HOTSPOT_HEAPS];
	u64 committed_end[HOTSPOT_HEAPS]; /* end of the readable part, which grows */
	u32 nr;
	u64 start, end; /* around all heaps */
};

/* A blob as it was when its header was read. */
struct blob {
	u64 addr; /* address of the CodeBlob object; the code follows it */
	u64 code_start, code_end;
	u64 end;
	u64 name; /* char * in the JVM */
	s32 frame_size, frame_complete;
	u8 kind; /* CodeBlobKind, on JDKs that have it */
	u32 header_len;
	u8 header[HOTSPOT_HEADER_MAX];
};

/* -EAGAIN while the JVM has no heaps, -ENOENT if this build does not export them. */
int code_heaps_read(const struct vm_memory *j, struct code_heaps *out);

const struct hotspot_heap *code_heaps_find(const struct code_heaps *heaps, u64 pc);

/* The blob whose code or header holds `pc`; -ENOENT if there is none in use. */
int blob_find(const struct vm_memory *j, const struct code_heaps *heaps, u64 pc, struct blob *out);

/* The blob at that address; -EBADMSG if the memory cannot be a blob. */
int blob_read(const struct vm_memory *j, const struct code_heaps *heaps, u64 addr,
	      struct blob *out);

/* The progress of a walk. To begin one, zero everything but the deadline. */
struct code_walk {
	u64 deadline_ns; /* in time_worked_ns, so that a busy machine does not shorten a walk */
	u32 heap;
	u64 segment; /* in that heap */
};

/*
 * Calls `visit` for every blob in use until it returns non-zero, and returns that value. Changes by
 * the JVM during the walk may hide or show blobs, but do no more harm. -ETIMEDOUT at the deadline:
 * the same walk can then continue.
 */
int code_heaps_walk(const struct vm_memory *j, const struct code_heaps *heaps,
		    struct code_walk *walk, int (*visit)(void *ctx, const struct blob *b),
		    void *ctx);
