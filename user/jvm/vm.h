/* SPDX-License-Identifier: Apache-2.0 */
/* The JVM object behind hotspot.h: private to user/jvm. */
#pragma once

#include "base/dict.h"
#include "base/vec.h"
#include "jvm/codeheap.h"
#include "jvm/hotspot.h"
#include "jvm/method.h"
#include "jvm/unloads.h"

/* A name of blobs: HotSpot gives equal blobs one pointer. */
struct blob_name {
	u64 pointer;
	const char *text; /* owned */
	enum hotspot_class class;
};

/* Names found before, so that code that is gone since can still be named. */
struct named_pc {
	u64 pc;
	u32 compile_id;
	bool is_leaf;
	u32 first, nr; /* in frames */
};

/* A class that objects were seen of. */
struct known_class {
	const char *name; /* in the pool */
	struct era era;
};

struct hotspot {
	struct jvm jvm;
	pid_t pid;
	bool is_nested; /* in a pid namespace below ours */
	struct code_heaps heaps;
	u64 interpreter_start, interpreter_end;
	u64 call_stub_return;

	/* What the walk of the code heaps teaches, and when it is next due. */
	VEC(struct blob_name) blob_names;
	u64 name_nmethod, name_native, name_vtable, name_adapter, name_mh_adapter, name_signature;
	u64 cont_stubs_start, cont_stubs_end, barrier, enter_special_return;
	u64 enter_special, do_yield;
	u32 cont_entry; /* offset in JavaThread, 0 if unknown */
	struct hotspot_code popped[HOTSPOT_POPPED];
	u16 tls_module, tls_offset; /* of the thread's JavaThread *; module 0: unknown */
	u64 next_walk_ns, walk_interval_ns;
	struct code_walk walk;
	bool walk_is_cut; /* its time was up before it was through */
	u64 next_scan_ns; /* see hotspot_scan_blobs */

	struct java_names *names;
	struct methods *methods;
	struct dict by_pc; /* hash -> index + 1 in named_pcs */
	VEC(struct named_pc) named_pcs;
	VEC(struct java_frame) frames;
	struct dict by_klass; /* Klass * -> index + 1 in classes */
	VEC(struct known_class) classes;

	char *release, *vm;
};

/* Drops what is kept of names, but for the pool and Methods (naming.c). */
void hotspot_forget_names(struct hotspot *h);

/* The name of a blob, learned if it is a new one; never NULL. */
const struct blob_name *hotspot_blob_name(struct hotspot *h, const struct blob *b);

/* Whether the blob is an nmethod: compiled, or the wrapper of a native method. */
bool hotspot_is_nmethod(struct hotspot *h, const struct blob *b);

/* Which flags this build has, relative to the load bias (flag.c). */
void hotspot_find_flags(struct jvm *j);

/*
 * Learns from a walk of the code heaps what is not known yet (learn.c). 0 or -ESRCH. Walks become
 * due ever more rarely, down to one in two seconds; one that takes too long is cut into parts, down
 * to one in ten.
 */
bool hotspot_is_walk_due(const struct hotspot *h);
int hotspot_learn(struct hotspot *h);

/* The part of that which is about virtual threads (continuation.c): of one blob, of all. */
void hotspot_learn_continuation_blob(struct hotspot *h, const struct blob *b,
				     const struct blob_name *name);
void hotspot_learn_continuations(struct hotspot *h);
bool hotspot_knows_continuations(const struct hotspot *h);

/* Finds where threads have their JavaThread * in thread-local storage, if that is not known. */
void hotspot_find_tls(struct hotspot *h);

/*
 * hotspot_open for memory that stands for a JVM's, with libjvm's first byte at `base`; takes over
 * `m`, also on failure.
 */
int hotspot_of_memory(struct mem *m, u64 base, struct hotspot **out);
