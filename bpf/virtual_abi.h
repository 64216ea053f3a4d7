/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The states of a JVM's virtual threads at one moment. User space chooses slots of the sets of
 * threads, and writes where their fields are (user/jvm/hotspot/virtual_threads.h); BPF follows the
 * slots to the threads (bpf/virtual.bpf.c).
 */
#pragma once

#ifndef __VMLINUX_H__ /* BPF sources take these types from vmlinux.h */
#include <linux/types.h>
#endif

#define VIRTUAL_PLACES  16   /* JVMs at a time */
#define VIRTUAL_SLOTS   1024 /* powers of two */
#define VIRTUAL_THREADS 128
#define VIRTUAL_WAITERS 3
#define VIRTUAL_WORDS   16384 /* of stacks */
#define VIRTUAL_STACK   1024  /* words of one stack, at most; a power of two */

/* A thread that was found. */
struct virtual_seen {
	__u64 object, id;
	__u64 blocker; /* the address in Thread.parkBlocker; 0: none */
	__u64 monitor; /* the ObjectMonitor that it waits for; 0: none */
	__u32 state;   /* VirtualThread.state, as it is */
	__u16 slot;    /* in which it was found */
	__u16 has_carrier;
	/* The copy of its stack, which begins with the metadata below sp; 0 words: not copied. */
	__u32 first_word, nr_words;
};

/* One JVM. Offsets in bytes. */
struct virtual_place {
	__u64 narrow_base; /* of references of 4 bytes */
	__u64 class; /* what the headers of VirtualThreads have in [class_at] >> class_shift */
	__u16 class_at, state, carrier, id;
	__u16 blocker; /* 0: unknown */
	__u16 node_hash, node_key, node_next;
	__u16 waiters[VIRTUAL_WAITERS]; /* fields that may be objectWaiter; 0: none */
	__u16 pad16;
	__u16 cont, tail;
	/* Of StackChunks; sp, end, size and arguments are numbers of words, 4 bytes wide. */
	__u16 parent, size, sp;
	__u16 end; /* 0: the end is size - arguments */
	__u16 arguments;
	__u16 stack;    /* the first word */
	__u16 metadata; /* words below sp */
	__u64 chunk;    /* what their headers have as class */
	__u8 class_bytes, class_shift;
	__u8 narrow_shift;
	__u8 reference_bytes; /* 4 or 8 */
	__u8 is_colored;      /* references are those of generational ZGC */
	__u8 pad[3];
	__u32 pid;
	__u32 is_armed; /* cleared when the timer has expired */
	__u32 nr_slots;
	__u64 slots[VIRTUAL_SLOTS]; /* addresses of references to nodes */

	/* Found by BPF. */
	__u32 is_taken;
	__u32 nr_words;
	__u32 nr_threads;
	__u32 is_partial; /* there are more threads, or bins of other kinds */
	struct virtual_seen threads[VIRTUAL_THREADS];
	__u64 words[VIRTUAL_WORDS];
};

/* Of the program virtual_arm. */
struct virtual_arm_args {
	__u32 place, pad;
	__u64 ns; /* from now on */
};

_Static_assert(sizeof(struct virtual_place) % 8 == 0, "elements of arrays lie 8 bytes apart");
