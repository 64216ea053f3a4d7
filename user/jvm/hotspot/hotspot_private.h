/* SPDX-License-Identifier: Apache-2.0 */
/* The JVM object behind hotspot.h. Private to user/jvm. */
#pragma once

#include "abi.h"
#include "base/dict.h"
#include "base/vec.h"
#include "jvm/hotspot/hotspot.h"
#include "jvm/memory/codeheap.h"
#include "jvm/memory/compiled.h"
#include "jvm/memory/method.h"
#include "jvm/memory/unloads.h"

/* A name of blobs. HotSpot uses one pointer for equal blobs. */
struct blob_name {
	u64 pointer;
	const char *text; /* owned */
	enum hotspot_class class;
};

/* Names found earlier, for code that has gone since. */
struct named_pc {
	u64 pc;
	u32 compile_id;
	bool is_leaf;
	u32 first, nr; /* in frames */
};

/* A class of sampled objects. */
struct known_class {
	const char *name; /* in the pool */
	struct era era;
};

/* A routine in a blob of many routines (stubs.c). */
struct stub_routine {
	u64 start, end;   /* [start, end) */
	const char *name; /* owned */
};

typedef VEC(struct stub_routine) stub_routine_list;

struct stub_routines {
	u64 list;     /* address of the variable StubCodeDesc::_list; 0: not found yet */
	u32 begin_at; /* offset of StubCodeDesc::_begin */
	stub_routine_list all;
	u64 next_read_ns, pause_ns; /* the list grows while the JVM starts */
	struct dict vtable_pcs;     /* pc in a stub of "vtable chunks" -> its name, a literal */
};

struct hotspot {
	struct vm_memory jvm;
	pid_t pid;
	bool is_nested; /* in a pid namespace below ours */
	struct code_heaps heaps;
	u64 interpreter_start, interpreter_end;
	u64 java_heap_start, java_heap_end; /* 0 if unknown */
	u64 call_stub_return;

	/* Results of walks of the code heaps, and the time of the next walk. */
	VEC(struct blob_name) blob_names;
	struct name_pages *name_pages; /* during a walk, see blob_classes.c */
	u64 name_nmethod, name_native, name_vtable, name_adapter, name_mh_adapter, name_signature;
	u64 cont_stubs_start, cont_stubs_end, barrier, enter_special_return;
	u64 enter_special, do_yield;
	struct hotspot_chunk chunk;
	bool has_asked_chunks; /* for the layout of StackChunks */
	u32 cont_entry;        /* offset in JavaThread, 0 if unknown */
	struct hotspot_code popped[HOTSPOT_POPPED];
	u16 tls_module, tls_offset; /* of the thread's JavaThread *; module 0 if unknown */
	u64 next_walk_ns, walk_interval_ns;
	struct code_walk walk;
	bool walk_is_cut; /* the time for the walk ran out before its end */
	u64 next_scan_ns; /* see hotspot_scan_blobs */

	struct stub_routines stubs;
	VEC(struct blob) containers; /* blobs of routines, which are never freed */
	struct java_names *names;
	struct methods *methods;
	struct dict by_pc; /* hash -> index + 1 in named_pcs */
	VEC(struct named_pc) named_pcs;
	VEC(struct java_frame) frames;
	struct dict nmethods;            /* compile id -> index + 1 in compiled */
	VEC(struct compiled *) compiled; /* those that failed are NULL */
	size_t compiled_bytes;
	struct dict by_klass; /* Klass * -> index + 1 in classes */
	VEC(struct known_class) classes;

	char *release, *vm;
};

/* Our memory that names take. */
size_t hotspot_bytes(const struct hotspot *h);

/* Drops the cached names, except for the pool and Methods (naming.c). */
void hotspot_forget_names(struct hotspot *h);

/* The name of a blob; a new one is read. Never NULL. */
const struct blob_name *hotspot_blob_name(struct hotspot *h, const struct blob *b);

/* Whether the blob is an nmethod: a compiled method, or the wrapper of a native method. */
bool hotspot_is_nmethod(struct hotspot *h, const struct blob *b);

/* Reads the location of the Java heap once the JVM has reserved it (regions.c). */
void hotspot_read_java_heap(struct hotspot *h);

/* Finds the flags of this build, relative to the load bias (flag.c). */
void hotspot_find_flags(struct vm_memory *j);

/* "G1", "Z"; "" if unknown (flag.c). */
const char *hotspot_collector(const struct hotspot *h);

/*
 * Learns missing facts from a walk of the code heaps (blob_classes.c). Returns 0 or -ESRCH. Walks
 * become rarer, down to one in eight seconds, and one look in 30 s once nothing is missing. A walk
 * that takes too long is split into parts, down to one part in ten seconds.
 */
bool hotspot_is_walk_due(const struct hotspot *h);
int hotspot_learn(struct hotspot *h);

/* Learn the facts about virtual threads (continuation.c), from one blob, and from all. */
void hotspot_learn_continuation_blob(struct hotspot *h, const struct blob *b,
				     const struct blob_name *name);
void hotspot_learn_continuations(struct hotspot *h);
bool hotspot_knows_continuations(const struct hotspot *h);

/* The addresses of the JVM's threads. */
struct java_threads {
	u64 *at; /* JavaThread * */
	size_t nr, cap;
};

/* Appends the threads that can run Java code (thread.c); -ENOENT if this build hides them. */
int hotspot_list_threads(const struct vm_memory *j, struct java_threads *out);

/* Finds the JavaThread * in thread-local storage, if its place is not known yet. */
void hotspot_find_tls(struct hotspot *h);

/*
 * hotspot_open for memory that stands for a JVM's, with libjvm's first byte at `base`. Takes
 * ownership of `m`, also on failure.
 */
int hotspot_of_memory(struct mem *m, u64 base, struct hotspot **out);

void stub_routines_fini(struct stub_routines *s);

/*
 * The name of the routine at `pc` in a blob that is not an nmethod; NULL if only the blob's own
 * name is known. It lives as long as `h`.
 */
const char *stubs_find(struct hotspot *h, const struct blob *b, const char *blob_name, u64 pc);

/* Whether a blob of that name holds many routines; its name then names none of them. */
bool stubs_is_container(const char *blob_name);

/* stack_chunk.c: blobs in which frames of StackChunks were found. {0} is a valid empty cache. */
struct chunk_blob {
	u64 addr, code_start, code_end;
	u32 compile_id;      /* 0: not an nmethod */
	u32 frame_size;      /* words */
	u32 deopt, deopt_mh; /* from addr; 0: none */
	u32 orig_pc;         /* from sp */
	u8 kind;             /* enum user_frame_kind */
};

struct chunk_code {
	struct dict by_pc; /* -> index + 1 in blobs */
	VEC(struct chunk_blob) blobs;
	u64 checked_ns;
	u32 nr_new; /* pcs that were not in by_pc, since chunk_code_check */
};

/* Forgets the blobs if one has been replaced; call it before the walks of a look. */
void chunk_code_check(struct chunk_code *c, const struct hotspot *h);
void chunk_code_fini(struct chunk_code *c);

#define CHUNK_METADATA_WORDS 2 /* below sp: saved fp and return address of the callee */

/*
 * Appends the frames of a StackChunk to `out`, at most `max` in all. `words` begins
 * CHUNK_METADATA_WORDS below the chunk's sp and ends at its bottom. Returns whether the walk ended
 * exactly at the bottom.
 */
bool chunk_walk(struct chunk_code *c, struct hotspot *h, const u64 *words, size_t nr,
		struct user_frame *out, u32 max, u32 *nr_out);
