/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The virtual threads of a JVM that are not mounted on a carrier. No thread of the kernel stands
 * for them: their frames lie in StackChunks on the Java heap. They are sampled from outside, at a
 * moment that the caller chooses.
 *
 *	ThreadContainers$..TrackingRootContainer.VTHREADS   threads that were started directly
 *	ThreadContainers.CONTAINER_REGISTRY                 containers, each with a set of its own
 *	  slots of their tables, some of them at random
 *	    -> VirtualThread: state, carrierThread, cont -> Continuation.tail -> StackChunk
 *
 * The JVM goes on while it is read, and a collector may move the objects. A thread counts only if
 * its state, its chunk and the chunk's sp are the same before and after its frames were read. The
 * weight of those that changed goes to others, if possible to those that wait for the same lock.
 *
 * Sources: OpenJDK src/java.base/share/classes java/lang/VirtualThread.java,
 * jdk/internal/vm/{ThreadContainers,Continuation,StackChunk}.java; src/hotspot/share
 * oops/{instanceStackChunkKlass,stackChunkOop}.hpp, runtime/stackChunkFrameStream.inline.hpp.
 */
#pragma once

#include "abi.h"
#include "jvm/hotspot/hotspot.h"
#include "virtual_abi.h"

struct virtual_threads;

struct virtual_threads *virtual_threads_new(void);
void virtual_threads_free(struct virtual_threads *v);

enum virtual_state {
	VIRTUAL_OTHER,     /* new, ended, or on its way from one state to another */
	VIRTUAL_MOUNTED,   /* on a carrier */
	VIRTUAL_PINNED,    /* on a carrier, which it blocks */
	VIRTUAL_RUNNABLE,  /* waits for a carrier */
	VIRTUAL_UNBLOCKED, /* the same, after it waited for a monitor */
	VIRTUAL_PARKED,    /* waits: LockSupport.park, and all that uses it */
	VIRTUAL_BLOCKED,   /* waits for a monitor (JDK 24) */
	VIRTUAL_WAITS,     /* in Object.wait (JDK 24) */
	NR_VIRTUAL_STATES,
};

#define VIRTUAL_NAME_MAX 128

/* A thread that is not mounted. Valid during the call. */
struct virtual_thread {
	u64 id;                      /* Thread.threadId() */
	char name[VIRTUAL_NAME_MAX]; /* clean UTF-8; "" if it has none */
	enum virtual_state state;
	double share;                    /* the number of threads that it stands for */
	const struct user_frame *frames; /* leaf first; none if it has never run */
	u32 nr_frames;
	bool is_complete; /* the frames reach the thread's first one */
	/*
	 * The class of the lock or monitor that it waits for:
	 * "java.util.concurrent.Semaphore$Sync"; NULL if it waits for none, if that is unknown, or
	 * unless virtual_look.locks. The name of the thread that has it, clean UTF-8,
	 * "VirtualThread-N" without a name; NULL if nobody or unknown.
	 */
	const char *lock, *owner;
	/*
	 * The container that started it: the name of a scope, or the class of an executor:
	 * "java.util.concurrent.ThreadPerTaskExecutor"; NULL: it was started directly.
	 */
	const char *executor;
};

typedef void (*virtual_thread_fn)(const struct virtual_thread *t, void *ctx);

/* A look at the threads; estimates if not all were looked at. */
struct virtual_counts {
	double nr[NR_VIRTUAL_STATES];
	u64 nr_read;     /* threads looked at */
	u64 nr_changed;  /* while they were read */
	u64 nr_left_out; /* objects that were not followed: their number or size has a limit */
	u64 nr_late;     /* sets of threads that were read without virtual_look.seen */
};

struct virtual_look {
	u32 most;   /* look at about so many threads, or at all if there are fewer */
	bool locks; /* also find the locks that they wait for */
	/*
	 * What BPF has found since virtual_threads_plan, NULL if nothing: the states of the threads
	 * at one moment. Only those that waited then are visited. The reader takes a CPU from the
	 * JVM, often from the holder of a lock: states that are read later are those that it
	 * causes.
	 */
	const struct virtual_place *seen;
	virtual_thread_fn visit; /* called for those that are not mounted; NULL: only count */
	void *ctx;
};

/*
 * Looks at threads. Replaces *counts. Returns 0; -ENOENT if they cannot be listed, see
 * virtual_threads_why_not; -EAGAIN if this JVM has had none so far, or its classes are still being
 * looked for; -EFAULT; -ESRCH.
 */
int virtual_threads_look(struct virtual_threads *v, struct hotspot *h,
			 const struct virtual_look *look, struct virtual_counts *counts);

/*
 * Chooses the threads of the next look, about `most`, and fills in what BPF needs to find them. To
 * be called after a look. Returns whether BPF can find them: their tables may be too large.
 */
bool virtual_threads_plan(struct virtual_threads *v, u32 most, struct virtual_place *out);

/* The threads by what people ask first; all 0 if there are none. */
struct virtual_totals {
	u32 all;
	u32 run;    /* on a carrier, or ready for one */
	u32 wait;   /* without a carrier */
	u32 pinned; /* on a carrier, which they block */
};

struct virtual_totals virtual_counts_total(const struct virtual_counts *c);

/*
 * Why threads are missing from these looks, as a clause: "-Djdk.trackAllThreads=false: ..". NULL if
 * none are. Valid until the next look.
 */
const char *virtual_threads_why_not(const struct virtual_threads *v);

/* Whether looks work. */
bool virtual_threads_are_listed(const struct virtual_threads *v);

/* The memory in use, and what it can be at most. */
#define VIRTUAL_THREADS_BYTES (8u << 20)
size_t virtual_threads_bytes(const struct virtual_threads *v);
