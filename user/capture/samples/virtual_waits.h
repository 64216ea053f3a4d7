/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of virtual threads that are not mounted on a carrier, for the events of waits. In each
 * turn some threads of each JVM are looked at (jvm/hotspot/virtual_threads.h). A sample stands for
 * the time since the last look, times the number of threads for which it stands. Looks are as
 * frequent as a hundredth of a CPU allows.
 */
#pragma once

#include "abi.h"
#include "jvm/hotspot/jvm_registry.h"
#include "proc/process.h"

/* A tid in a sample: Thread.threadId() from here on, above all tids of the kernel. */
#define VIRTUAL_TID 0x80000000u

struct virtual_sample {
	const struct sample *sample; /* kind RECORD_VIRTUAL, its frames behind it; no event, no
				      * weight */
	const char *thread;          /* its name, "VirtualThread-N" if it has none */
	const char *lock, *owner;    /* as in struct virtual_thread; NULL: none, or not asked for */
	const char *executor;        /* the same */
	double share;                /* the number of threads that it stands for */
	bool is_late;                /* the recorder had taken a CPU before, maybe of its JVM */
	u64 since_ns, time_ns;       /* the last look at this JVM, and this one */
};

struct virtual_waits;

struct virtual_waits *virtual_waits_new(void);
void virtual_waits_free(struct virtual_waits *w);

enum virtual_wants {
	VIRTUAL_WANTS_NONE,
	VIRTUAL_WANTS_WAITS,
	VIRTUAL_WANTS_LOCKS, /* also the locks that the threads wait for */
};

typedef enum virtual_wants (*virtual_wanted_fn)(const struct process *p, void *ctx);
typedef void (*virtual_sample_fn)(struct process *p, const struct virtual_sample *s, void *ctx);

/*
 * Has BPF read the states of the JVMs whose next look is due; `is_last` as below. To be called as
 * soon as the thread has woken up: it has taken a CPU, often from the holder of a lock, and from
 * then on more and more threads wait for that lock.
 */
void virtual_waits_catch(struct virtual_waits *w, bool is_last);

/*
 * Looks at the JVMs for which `wants` is not NONE, those whose next look is due; if a window has
 * just ended, at all, so that no time is missing.
 */
void virtual_waits_turn(struct virtual_waits *w, struct processes *all, struct jvm_registry *jvms,
			bool is_last, virtual_wanted_fn wants, virtual_sample_fn take, void *ctx);

/*
 * In how many milliseconds the next look is due, at most `most_ms`. The caller sleeps for that long
 * at once: BPF reads the states right before its end.
 */
int virtual_waits_due_ms(struct virtual_waits *w, int most_ms);
