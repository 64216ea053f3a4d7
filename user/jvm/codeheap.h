/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code heaps of a JVM and the CodeBlobs in them (src/hotspot/share/memory/heap.cpp,
 * code/codeBlob.hpp): private to user/jvm.
 */
#pragma once

#include "hotspot_abi.h"
#include "jvm/jvm.h"

struct code_heaps {
	struct hotspot_heap at[HOTSPOT_HEAPS];
	u64 committed_end[HOTSPOT_HEAPS]; /* what can be read ends here; grows */
	u32 nr;
	u64 start, end; /* around all */
};

/* One blob as it was when its header was read. */
struct blob {
	u64 addr; /* of the CodeBlob object, which its code follows */
	u64 code_start, code_end;
	u64 end;
	u64 name; /* char * in the JVM */
	s32 frame_size, frame_complete;
	u8 kind; /* CodeBlobKind, where there is one */
	u32 header_len;
	u8 header[HOTSPOT_HEADER_MAX];
};

/* -EAGAIN while the JVM has none, -ENOENT if this build does not say where they are. */
int code_heaps_read(const struct jvm *j, struct code_heaps *out);

const struct hotspot_heap *code_heaps_find(const struct code_heaps *heaps, u64 pc);

/* The blob whose code or header holds `pc`; -ENOENT if none is in use there. */
int blob_find(const struct jvm *j, const struct code_heaps *heaps, u64 pc, struct blob *out);

/* The blob at that address; -EBADMSG if no blob can look like that. */
int blob_read(const struct jvm *j, const struct code_heaps *heaps, u64 addr, struct blob *out);

/* How far a walk is; zeroed, but for the deadline, it begins. */
struct code_walk {
	u64 deadline_ns; /* time_worked_ns: a crowded machine cuts no walk */
	u32 heap;
	u64 segment; /* of that heap */
};

/*
 * Calls `visit` for every blob in use until it returns other than 0, which is returned. What the
 * JVM does meanwhile may hide or show a blob, never more. -ETIMEDOUT at the deadline: the same walk
 * goes on from there.
 */
int code_heaps_walk(const struct jvm *j, const struct code_heaps *heaps, struct code_walk *walk,
		    int (*visit)(void *ctx, const struct blob *b), void *ctx);
