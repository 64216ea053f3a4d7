/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads values of ThreadLocals in the memory of the current thread. User space compiles the same
 * source, to read those of other threads (user/jvm/labels/value_reader.c).
 */
#pragma once

#include "kernel.h"

#include "abi.h"

/* What one read takes at most. A variable offset may point behind it by one word. */
#define OBJECT_BYTES 64
#define TABLE_BYTES  128
#define ARRAY_BYTES  128

/* A thread's table of ThreadLocals: its first bytes. */
struct java_table {
	u64 at; /* address of the array; 0: the thread has none */
	u32 length;
	u32 bytes; /* that `head` has */
	u64 is_read;
	u64 head[TABLE_BYTES / 8 + 1];
};

/* The state while the labels of one thread are read. */
struct java_reading {
	u64 thread; /* the Thread */
	/* the last object that was read, and the last array that it refers to */
	u64 at, object[OBJECT_BYTES / 8 + 1], array[ARRAY_BYTES / 8 + 1];
	u32 object_bytes, array_bytes;
	u32 is_cut; /* something could not be read, or a chain is too long */
	u32 nr_pairs;
	u64 pairs;                   /* where the pairs of an array begin */
	u64 found;                   /* the value of a slot or pair */
	struct java_table tables[2]; /* of ThreadLocals, of inheritable ones */
};

/*
 * java_thread_find returns the JavaThread of a thread by its thread pointer, or 0. The next
 * function finds the Thread object, also that of a virtual thread, with which a reading begins, or
 * returns 0. Both are global, so that the verifier checks them once.
 */
u64 java_thread_find(const struct java_place *p, u64 tls);
int java_reading_begin(const struct java_place *p, struct java_reading *r, u64 java_thread);

/* Reads label `i`. Returns 0. */
int java_label_read(struct java_place *p, struct java_reading *r, u32 i, struct java_value *out);
