/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A HotSpot JVM, read from outside: what the unwinder must know of it, and the names of its frames.
 * Everything comes from the process's memory, through the tables that libjvm carries about itself;
 * nothing runs in the JVM and no file of it is opened. Each JVM is used by one thread at a time.
 *
 * Sources: OpenJDK src/hotspot/share/{code,memory,oops,runtime}.
 */
#pragma once

#include "base/str.h"
#include "hotspot_abi.h"
#include "jvm/java_frame.h"

struct hotspot;

/*
 * Reads a JVM; `start_ns` (CLOCK_BOOTTIME, 0: any) is its process's start. -ENOENT if the process
 * has no libjvm.so, -ENOEXEC if that is not HotSpot as we know it, -EAGAIN while the JVM is still
 * starting (try again in some ms), -EPERM, -ESRCH. The caller owns *out.
 */
int hotspot_open(pid_t pid, u64 start_ns, struct hotspot **out);
void hotspot_free(struct hotspot *h);

/*
 * Looks for what was not there yet: code heaps, name pointers, continuation stubs. 1 if
 * hotspot_layout has become another, 0 if not, -ESRCH. Cheap enough for every 20 ms: it looks ever
 * more rarely, down to once in two seconds.
 */
int hotspot_refresh(struct hotspot *h);

/* How many classes it has unloaded, and 1 more; 0 if it does not tell. */
u64 hotspot_unloads(const struct hotspot *h);

/* What the unwinder needs. */
void hotspot_layout(const struct hotspot *h, struct hotspot_layout *out);

/* Whether `pc` is in a code heap, the interpreter included. */
bool hotspot_owns(const struct hotspot *h, u64 pc);

/*
 * The frames at a pc of a code heap, the innermost (leaf) first, at most `max` >= 1: the compiled
 * method with what is inlined into it, or a stub. `compile_id` is the nmethod's when the sample was
 * taken (low 28 bits; 0: unknown), `is_leaf` says that pc is no return address. Code that was
 * replaced since is named if it was named before, else by its successor with is_stale set. Returns
 * how many frames, -ENOENT if there is no code (any more), -EFAULT, -EBADMSG, -ESRCH.
 *
 * Names stay valid until the next call for this JVM that can name or free.
 */
int hotspot_name_pc(struct hotspot *h, u64 pc, u32 compile_id, bool is_leaf,
		    struct java_frame out[], int max);

/*
 * The frame of an interpreted Method. `bcp`: the bytecode pointer or index, 0 if unknown; one that
 * does not lie in the Method's bytecode sets is_stale: the class was redefined. `unloads`: how many
 * classes the JVM had unloaded when the Method was found on the stack, and 1 more; 0: unknown, then
 * a class that took the place of another is taken for it. Returns 0, -ESTALE if classes were
 * unloaded before the Method was looked at for the first time: it may have been another one;
 * -EBADMSG if there is no Method there (any more), -EAGAIN, -EFAULT, -ESRCH.
 */
int hotspot_name_method(struct hotspot *h, u64 method, u64 bcp, u64 unloads,
			struct java_frame *out);

/*
 * The class that a Klass stands for, as in source: "byte[]"; `unloads` and -ESTALE as above.
 * -EBADMSG if there is none (any more), -EAGAIN, -EFAULT, -ESRCH. The name stays valid as those of
 * frames do.
 */
int hotspot_name_class(struct hotspot *h, u64 klass, u64 unloads, const char **out);

/* What is known of the JVM; the texts live as long as it does. */
struct hotspot_info {
	pid_t pid;
	int jdk;               /* 8, 11, ...; 0 if unknown */
	const char *release;   /* "17.0.15+6-Debian-1deb12u1", "" if unknown */
	const char *vm;        /* "OpenJDK 64-Bit Server VM (...) for linux-amd64 JRE (...), ..." */
	const char *collector; /* "G1", "Parallel", "Serial", "Z", "Shenandoah", "CMS", ... */
	u32 nr_fields;         /* that this build exports */
	bool tables_are_cut;   /* its tables could not be read to their end */
	u64 nr_reads, nr_failures; /* of its memory so far */
	size_t bytes;              /* of ours that names take */
};

void hotspot_info(const struct hotspot *h, struct hotspot_info *out);

/* The value of a JVM flag of type bool; -ENOENT if this JVM has no such flag, or we do not read it.
 */
int hotspot_flag(const struct hotspot *h, const char *name, bool *out);

/*
 * Adds the options that the VM was given, from wherever, a line each, of which no more than so many
 * bytes: what the command line may not show, if another program than `java` made the VM.
 */
#define HOTSPOT_OPTION_LEN 64
void hotspot_options(const struct hotspot *h, struct str *out);

/* The names of the flags that hotspot_flag reads, NULL behind the last. */
const char *hotspot_flag_name(size_t i);

/* The i-th thing that cannot be had of this JVM, and why; false behind the last. */
bool hotspot_gap(const struct hotspot *h, size_t i, const char **what, const char **why);

/* A blob of a code heap. */
struct hotspot_blob {
	u64 addr, code_start, code_end;
	const char *name; /* "nmethod", "native nmethod", "I2C/C2I adapters", ... */
	bool is_nmethod;
	u32 compile_id; /* of an nmethod */
	u64 method;     /* of an nmethod, for hotspot_name_method */
	int level;      /* of an nmethod: 0 wrapper, 1..3 C1, 4 C2 */
	int frame_size; /* words */
};

/*
 * Calls `visit` for every blob until it returns other than 0, which is returned. -ETIMEDOUT if that
 * takes many seconds of work: the largest code cache does not.
 */
int hotspot_each_blob(struct hotspot *h, int (*visit)(void *ctx, const struct hotspot_blob *b),
		      void *ctx);

/*
 * The same for a caller who has no time: -ETIMEDOUT if it takes more than a quarter of a second of
 * work, and -EAGAIN for ten seconds after that.
 */
int hotspot_scan_blobs(struct hotspot *h, int (*visit)(void *ctx, const struct hotspot_blob *b),
		       void *ctx);

/* The nmethod whose code begins there; -ENOENT if none does. */
int hotspot_find_nmethod(struct hotspot *h, u64 code_start, struct hotspot_blob *out);

/* A thread that runs, or can run, Java code; the tid is that of our own pid namespace. */
struct hotspot_thread {
	pid_t tid;
	u64 java_thread;            /* JavaThread * */
	u64 stack_start, stack_end; /* [start, end); 0 if unknown */
};

/* All of them, for the caller to free. Returns how many, -ENOENT if this build hides them, -ESRCH.
 */
ssize_t hotspot_threads(struct hotspot *h, struct hotspot_thread **out);
