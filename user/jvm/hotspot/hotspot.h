/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A HotSpot JVM, read from outside: the data for the unwinder, and the names of its frames.
 * Everything comes from the process's memory, through the tables by which libjvm describes itself.
 * Nothing runs in the JVM, and none of its files is opened. One thread at a time may use a JVM.
 *
 * Sources: OpenJDK src/hotspot/share/{code,memory,oops,runtime}.
 */
#pragma once

#include "base/str.h"
#include "hotspot_abi.h"
#include "jvm/memory/java_frame.h"
#include "proc/status.h"

struct hotspot;

/*
 * Reads a JVM. `start_ns` is its process's start (CLOCK_BOOTTIME; 0: any). -ENOENT if the process
 * has no libjvm.so, -ENOEXEC if it is not a HotSpot that we know, -EAGAIN while the JVM is still
 * starting (retry after some ms), -EPERM, -ESRCH. The caller owns *out.
 */
int hotspot_open(struct process_id id, struct hotspot **out);
void hotspot_free(struct hotspot *h);

/*
 * Looks for data that was missing: code heaps, name pointers, continuation stubs. Returns 1 if
 * hotspot_layout has changed, 0 if not, or -ESRCH. Call it every 20 ms: it does less and less work,
 * down to one search in eight seconds, and one look in 30 s once nothing is missing.
 */
int hotspot_refresh(struct hotspot *h);

/* The number of classes unloaded so far, plus 1; 0 if unknown. */
u64 hotspot_unloads(const struct hotspot *h);

/* The data that the unwinder needs. */
void hotspot_layout(const struct hotspot *h, struct hotspot_layout *out);

/* Whether `pc` is in a code heap, the interpreter included. */
bool hotspot_owns(const struct hotspot *h, u64 pc);

/*
 * Names the frames at a pc of a code heap, at most `max` >= 1, leaf first. The result is the
 * compiled method with its inlined frames, or a stub. In a blob of many routines the stub is the
 * routine at the pc; if it is unknown, the blob's name with is_blob set. Code that has been
 * replaced gets its own name if it was named before, otherwise its successor's with is_stale set.
 * Returns the number of frames, -ENOENT if there is no code (any more), -EFAULT, -EBADMSG or
 * -ESRCH.
 *
 * Names stay valid until the next call for this JVM that names or frees.
 */
int hotspot_name_pc(struct hotspot *h, struct code_pc at, struct java_frame out[], int max);

/*
 * Names the frame of an interpreted Method. `bcp` is the bytecode pointer or index, 0 if unknown. A
 * pointer outside the Method's bytecode sets is_stale: the class was redefined. `unloads` is the
 * number of unloaded classes when the Method was found on the stack, plus 1. 0 if unknown; a class
 * that took the place of another is then not recognised. Returns 0; -ESTALE if classes were
 * unloaded before the first look at the Method, which may have been another one; -EBADMSG if there
 * is no Method (any more); -EAGAIN, -EFAULT, -ESRCH.
 */
int hotspot_name_method(struct hotspot *h, u64 method, u64 bcp, u64 unloads,
			struct java_frame *out);

/*
 * Names the class of a Klass as in source: "byte[]". `unloads` and -ESTALE as above. -EBADMSG if
 * there is no Klass (any more), -EAGAIN, -EFAULT, -ESRCH. The name is valid as long as names of
 * frames are.
 */
int hotspot_name_class(struct hotspot *h, u64 klass, u64 unloads, const char **out);

/* Facts about the JVM. The texts live as long as `h`. */
struct hotspot_info {
	pid_t pid;
	int jdk;               /* 8, 11, ...; 0 if unknown */
	const char *release;   /* "17.0.15+6-Debian-1deb12u1", "" if unknown */
	const char *vm;        /* "OpenJDK 64-Bit Server VM (...) for linux-amd64 JRE (...), ..." */
	const char *collector; /* "G1", "Parallel", "Serial", "Z", "Shenandoah", "CMS", ... */
	u32 nr_fields;         /* fields that this build exports */
	bool tables_are_cut;   /* the JVM's tables could not be read to the end */
	u64 nr_reads, nr_failures; /* reads of its memory so far */
	size_t bytes;              /* our memory that names take */
};

void hotspot_info(const struct hotspot *h, struct hotspot_info *out);
const char *hotspot_release(const struct hotspot *h); /* without reading the JVM */

/*
 * The value of a JVM flag of type bool. -ENOENT if this JVM has no such flag, or if it is not in
 * JVM_FLAGS.
 */
int hotspot_flag(const struct hotspot *h, const char *name, bool *out);

/*
 * Whether the flag was set on the command line or by JDK_JAVA_OPTIONS (FLAG_IS_CMDLINE in HotSpot).
 * -ENOENT as for hotspot_flag, or if this JVM does not export the flag's origin.
 */
int hotspot_flag_is_of_command_line(const struct hotspot *h, const char *name, bool *out);

/*
 * Adds the VM's options from all sources, one per line, each cut at HOTSPOT_OPTION_LEN bytes. The
 * command line may lack them if a program other than `java` created the VM.
 */
#define HOTSPOT_OPTION_LEN 64
void hotspot_options(const struct hotspot *h, struct str *out);

/* The names of the flags that hotspot_flag reads; NULL after the last. */
const char *hotspot_flag_name(size_t i);

/* The i-th feature that is missing for this JVM, and why; false after the last. */
bool hotspot_limitation(const struct hotspot *h, size_t i, const char **what, const char **why);

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
 * Calls `visit` for every blob until it returns non-zero, and returns that value. -ETIMEDOUT after
 * many seconds of work, which the largest code cache does not need.
 */
int hotspot_each_blob(struct hotspot *h, int (*visit)(void *ctx, const struct hotspot_blob *b),
		      void *ctx);

/*
 * As hotspot_each_blob, with a short time limit: -ETIMEDOUT after a quarter of a second of work,
 * and then -EAGAIN for ten seconds.
 */
int hotspot_scan_blobs(struct hotspot *h, int (*visit)(void *ctx, const struct hotspot_blob *b),
		       void *ctx);

/* Calls `visit` for the routines in blobs of many routines, from the JVM's own list. */
void hotspot_each_routine(struct hotspot *h,
			  void (*visit)(void *ctx, u64 start, u64 end, const char *name),
			  void *ctx);

/* The nmethod whose code starts at `code_start`; -ENOENT if there is none. */
int hotspot_find_nmethod(struct hotspot *h, u64 code_start, struct hotspot_blob *out);

/* A thread that can run Java code. The tid is in our own pid namespace. */
struct hotspot_thread {
	pid_t tid;
	u64 java_thread;            /* JavaThread * */
	u64 stack_start, stack_end; /* [start, end); 0 if unknown */
};

/*
 * Lists the threads; the caller frees *out. Returns their number, -ENOENT if this build does not
 * export them, or -ESRCH.
 */
ssize_t hotspot_threads(struct hotspot *h, struct hotspot_thread **out);

/* The address of the first byte of the JVM's libjvm. */
u64 hotspot_libjvm(const struct hotspot *h);

/*
 * The value of a variable of type bool, whose address in the file is `vaddr`. -ERANGE if that is
 * outside libjvm's variables, -EBADMSG if it is neither true nor false, -EFAULT or -ESRCH.
 */
int hotspot_variable(const struct hotspot *h, u64 vaddr, bool *out);

/*
 * The JVM's property sun.java.command: main class or jar, and arguments, cut to `max` bytes. "" if
 * no launcher has set it. -ENOENT if this build does not export it; -EAGAIN, -EFAULT or -ESRCH.
 */
int hotspot_java_command(const struct hotspot *h, char *out, size_t max);
