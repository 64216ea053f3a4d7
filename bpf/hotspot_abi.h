/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Facts about a HotSpot JVM that the unwinder needs. user/jvm reads them from the JVM's own tables.
 */
#pragma once

#ifndef __VMLINUX_H__ /* BPF sources take these types from vmlinux.h */
#include <linux/types.h>
#endif

#define HOTSPOT_HEAPS       8      /* HotSpot makes at most five */
#define HOTSPOT_NO_FIELD    0xffff /* the JVM does not export this field */
#define HOTSPOT_TLS_POINTER 0xffff
#define HOTSPOT_HEADER_MAX  512 /* above all field offsets in a blob: one read gets them all */
#define HOTSPOT_POPPED      2   /* doYield and JDK 24's cont_preempt_stub drop frames */
#define HOTSPOT_KINDS       32  /* CodeBlobKind values that kind_class can hold */

/* How to find the frame of a blob. */
enum hotspot_class {
	HOTSPOT_CLASS_UNKNOWN, /* the kind does not decide: use name pointers, then frame_size */
	/* compiled methods; on JDKs with kinds also native wrappers, so the name decides */
	HOTSPOT_CLASS_NMETHOD,
	HOTSPOT_CLASS_NATIVE, /* wrapper of a native method, method-handle intrinsic */
	HOTSPOT_CLASS_BARE,   /* return address at sp: vtable chunks, adapters */
	HOTSPOT_CLASS_STUB,   /* by frame_size: > 0 runtime stub, 0 StubRoutines, -1 frameless */
	HOTSPOT_CLASS_INTERPRETER,
};

enum hotspot_flag {
	HOTSPOT_CODE_IS_OFFSET = 1 << 0, /* code_begin, code_end: s32 offsets, else pointers */
	HOTSPOT_FRAME_COMPLETE_IS_16 = 1 << 1, /* s16, else s32 */
	HOTSPOT_DEOPT_IS_OFFSET = 1 << 2,   /* deopt, deopt_mh: s32 from the blob, else pointers */
	HOTSPOT_PRESERVES_FP = 1 << 3,      /* -XX:+PreserveFramePointer */
	HOTSPOT_USED_LENGTH_IS_32 = 1 << 4, /* block_length: u32, else u64 */
};

/* A code heap. Bits of the pc from `shift` up select a byte of the segment map at `segmap`. */
struct hotspot_heap {
	__u64 start, end; /* the reserved range, which does not change when the heap grows */
	__u64 segmap;
	__u32 shift;
	__u32 pad;
};
_Static_assert(sizeof(struct hotspot_heap) == 32, "hotspot_heap is part of the map ABI");

/* A piece of code: [start, end). */
struct hotspot_code {
	__u64 start, end;
};

/*
 * StackChunks, which hold frames of virtual threads on the heap. Offsets in bytes; sp, end, size
 * and arguments are numbers of words, 4 bytes wide.
 */
struct hotspot_chunk {
	__u64 narrow_base; /* of references of 4 bytes */
	__u64 class;       /* what the headers of StackChunks have in [class_at] >> class_shift */
	__u64 bad_colors;  /* address of ZGC's mask of stale references; 0: they have no colors */
	__u16 tail;        /* Continuation.tail: a reference */
	__u16 parent, size, sp;
	__u16 end;       /* StackChunk.bottom; HOTSPOT_NO_FIELD: the end is size - arguments */
	__u16 arguments; /* StackChunk.argsize (JDK 21) */
	__u16 stack;     /* the first word */
	/* Injected: the return address into the first frame, and a number of words. */
	__u16 pc, max_thawing;
	__u16 class_at;
	__u8 class_bytes, class_shift;
	__u8 is_forwarded; /* Shenandoah: the header of an old copy has the address of the new one
			    */
	__u8 is_viewed; /* ZGC without generations: the address with its color is mapped as well */
	__u8 narrow_shift;
	__u8 reference_bytes; /* 4 or 8; 0: chunks cannot be walked */
};

/*
 * One JVM's layout. Offsets are in bytes and HOTSPOT_NO_FIELD if missing; addresses are 0 if
 * unknown. Fields are 4 bytes wide unless stated otherwise. A JVM that is still starting has no
 * heaps yet.
 */
struct hotspot_layout {
	__u64 bounds_start, bounds_end;           /* around all heaps: a cheap first test */
	__u64 interpreter_start, interpreter_end; /* used part of the interpreter's code */
	__u64 call_stub_return;                   /* StubRoutines::_call_stub_return_address */

	/* CodeBlob::_name values, compared as pointers and never read; 0 if not seen yet. */
	__u64 name_nmethod, name_native, name_vtable, name_adapter, name_mh_adapter;
	__u64 name_signature; /* handlers that the interpreter calls before a native method */
	__u64 unloads;        /* address of a u64: number of unloaded classes */

	/* Virtual threads; 0 on JDKs without them. */
	__u64 barrier;              /* first instruction of the return barrier */
	__u64 enter_special_return; /* *ContinuationEntry::_return_pc, in enterSpecial */
	__u64 cont_stubs_start, cont_stubs_end;     /* the blob that holds the barrier and thaw */
	__u64 enter_special, do_yield;              /* blobs of Continuation's two intrinsics */
	struct hotspot_code popped[HOTSPOT_POPPED]; /* here sp is at the ContinuationEntry */

	struct hotspot_heap heaps[HOTSPOT_HEAPS];
	__u16 nr_heaps;
	__u16 flags;                                /* enum hotspot_flag */
	__u8 jdk;                                   /* 8, 11, ...; 0 if unknown */
	__s8 method_slot, bcp_slot, sender_sp_slot; /* of the interpreter frame, in words from fp */

	__u16 block_size;   /* sizeof(HeapBlock): from the block's start to the blob */
	__u16 block_used;   /* u8: the block holds a blob */
	__u16 block_length; /* in segments */

	__u16 header_bytes; /* of a blob: covers all fields of CodeBlob and nmethod */

	/* In CodeBlob. */
	__u16 name; /* 8 bytes */
	__u16 kind; /* u8, an index into kind_class */
	__u16 size, frame_size, frame_complete, code_begin, code_end;

	/* In nmethod. */
	__u16 method; /* 8 bytes: Method * */
	__u16 compile_id, orig_pc, stub_offset, deopt, deopt_mh;
	__u16 comp_level;

	/* In Method and ConstMethod. */
	__u16 const_method; /* 8 bytes: ConstMethod * */
	__u16 bytecode;     /* sizeof(ConstMethod): where the bytecode starts */
	__u16 code_size;    /* u16: length of the bytecode in bytes */
	__u16 access_flags; /* bit 8: native */

	/* In JavaThread, 8 bytes each. */
	__u16 cont_entry, stack_base, stack_size, anchor;
	/*
	 * Thread-local storage with the thread's JavaThread * of libjvm; module 0 if unknown,
	 * HOTSPOT_TLS_POINTER: at tls_offset from the thread pointer.
	 */
	__u16 tls_module, tls_offset;

	struct hotspot_chunk chunk;
	__u8 kind_class[HOTSPOT_KINDS]; /* enum hotspot_class by CodeBlobKind */
};
