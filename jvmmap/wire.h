/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol between the agent in a JVM and its reader in sysflame: command, ring, records.
 *
 * A reader sends a command by loading the agent (again) with options of the form
 * "v=1;cmd=start;nonce=HEX". Each reader has a session of its own, identified by its nonce:
 *
 *	cmd=start    opens a session, turns events on, reports the code that is compiled already
 *	cmd=methods  changes the classes of the methods that cmd=start named
 *	cmd=hooks    replaces alloc, refs, lock and methods of a session
 *	cmd=replay   reports all code that is compiled now again, after records were lost
 *	cmd=refs     reports the sampled objects that have been collected; gc=1: collects first
 *	cmd=stop     ends a session; nonce=all ends every one. The last one turns the events off
 *	inline=1     with start: also reports inlined methods
 *	live=0       with start: no events after the report (JVMs whose events are unsafe)
 *	alloc=BYTES  with start or hooks: also samples allocations, one about every BYTES
 *	refs=1       with alloc: also reports when sampled objects are collected
 *	lock=NS      with start or hooks: also reports waits for monitors of at least NS, and a
 *	             sample of shorter ones
 *	methods=LIST with start or hooks: also reports calls of these methods: "a/B.run,a/C.go".
 *	             "a/B.run:NS" stands for the calls that last at least NS, when they end
 *
 * At most WIRE_SESSIONS_MAX sessions are open. A reader that was killed still has its lock taken
 * away by the kernel, in every namespace, so a new reader gets the place of a dead one at once.
 *
 * A session is a memfd of the JVM named WIRE_NAME_PREFIX + nonce, sealed against resizing. It holds
 * one page of struct wire_header and WIRE_RING_BYTES of records. The agent never waits for the
 * reader: it drops and counts records that do not fit. All integers are little-endian.
 *
 * The two ends may have different versions. The name, the layout of the header and the commands
 * start and stop never change; everything else may change with WIRE_ABI. The agent's file contains
 * WIRE_MARK.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define WIRE_TEXT_OF(x)   #x
#define WIRE_TEXT(x)      WIRE_TEXT_OF(x)
#define WIRE_ABI          6
#define WIRE_MARK         "sysflame agent, wire format "
#define WIRE_MAGIC        0x70616d6d766a0a01ull /* "\1\njvmmap" */
#define WIRE_NAME         "jvmmap-"             /* followed by WIRE_ABI, "-", the nonce */
#define WIRE_NAME_PREFIX  WIRE_NAME WIRE_TEXT(WIRE_ABI) "-"
#define WIRE_NONCE_LEN    32 /* hexadecimal digits */
#define WIRE_HEADER_BYTES 4096u
#define WIRE_RING_BYTES   (4u << 20) /* a power of two */

enum wire_state {
	WIRE_STARTING = 0,
	WIRE_LIVE = 1,   /* all code compiled before the start has been reported */
	WIRE_FAILED = 2, /* `failed_step` and `error` give the reason */
	WIRE_STOPPED = 3,
};

enum wire_step {
	WIRE_STEP_NONE = 0,
	WIRE_STEP_GET_ENV = 1,    /* error: JNI's */
	WIRE_STEP_CAPABILITY = 2, /* error: JVMTI's, also for the steps below */
	WIRE_STEP_CALLBACKS = 3,
	WIRE_STEP_ENABLE = 4,
	WIRE_STEP_REPLAY = 5,
};

/* Events in Java code. Each calls an empty function jvmmap_hook_NAME, see hooks.h. */
enum wire_hook {
	WIRE_HOOK_ALLOC = 0,  /* (hash of the class name, bytes, mean sampling interval, number of
			       * the object or 0); with refs=1 also jvmmap_hook_gone(number) */
	WIRE_HOOK_LOCK = 1,   /* (hash of the class name, ns waited, minimum in ns, number of waits
			       * without a time since the previous call) */
	WIRE_HOOK_METHOD = 2, /* (-, -, wire_method_number); at the end of a call with a minimum
			       * jvmmap_hook_lasted(-, -, wire_method_number, ns) */
	WIRE_HOOKS = 4,
};

#define WIRE_HOOK_OFF       0 /* in hook_states: not requested; < 0: -JVMTI error */
#define WIRE_HOOK_ON        1
#define WIRE_ERROR_RUNNING  1000 /* not from JVMTI: a method of the class is running a loop */
#define WIRE_RUNNING_MAX    128
#define WIRE_ALLOC_INTERVAL (512u << 10)
#define WIRE_METHODS_MAX    512                  /* bytes of the list, including its NUL */
#define WIRE_METHODS        16                   /* most methods in the lists of all sessions */
#define WIRE_METHOD_CLASS   "java/lang/Sysflame" /* prefix of the class with the called method */

/* The number that identifies a method of the list, "a/B.run" without a minimum: FNV-1a. */
static inline uint32_t wire_method_number(const char *name, size_t len)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (uint8_t)name[i]) * 16777619u;
	return hash;
}

/* A method of the list whose calls are not reported. */
struct wire_method_failure {
	uint32_t number; /* wire_method_number of "a/B.run:NS", as in the list; 0: none */
	int32_t state;   /* as in hook_states */
};

struct wire_header {
	uint64_t magic;
	uint32_t abi;
	uint32_t ring_bytes;
	uint32_t pid; /* in the JVM's own pid namespace */
	uint32_t reserved;
	char nonce[WIRE_NONCE_LEN + 8]; /* NUL-terminated */
	uint64_t start_ns;              /* CLOCK_MONOTONIC of the JVM, as all times here */
	uint32_t state;                 /* enum wire_state */
	uint32_t failed_step;           /* enum wire_step */
	int32_t error;
	int32_t hook_states[WIRE_HOOKS];
	char running[WIRE_RUNNING_MAX]; /* with -WIRE_ERROR_RUNNING: the method, "a/B.run" */
	uint8_t pad0[256 - 84 - 4 * WIRE_HOOKS - WIRE_RUNNING_MAX];

	/* Written by the agent. */
	uint64_t head; /* bytes written in total; tail < head: the record at `tail` is complete */
	uint64_t lost; /* records dropped in total */
	uint8_t pad1[256 - 16];

	/* Written by the reader. */
	uint64_t tail;      /* bytes read in total */
	uint32_t heartbeat; /* a live reader changes it within WIRE_READER_TIMEOUT_NS */
	uint32_t stop;      /* non-zero: end the session at the next event */
	uint32_t has_lock;  /* non-zero: the reader has locked the memfd (F_OFD_SETLK), and has gone
			     * if the lock is free */
	uint32_t reserved1;

	/* Written by the agent. */
	uint32_t names_failures; /* non-zero: method_failures are all failures in hook_states of
				  * WIRE_HOOK_METHOD. An older agent names none: all may have
				  * failed */
	uint32_t reserved2;
	struct wire_method_failure method_failures[WIRE_METHODS];
};
_Static_assert(sizeof(struct wire_header) == 672, "the header is part of the wire format");
_Static_assert(offsetof(struct wire_header, tail) == 512, "fields are only ever appended");

#define WIRE_READER_TIMEOUT_NS (60ull * 1000000000ull)
/* time that a reader has until it first shows itself */
#define WIRE_CLAIM_TIMEOUT_NS (20ull * 1000000000ull)
#define WIRE_CLAIM_SHORT_NS   (4ull * 1000000000ull) /* that time while no place is free */
#define WIRE_SESSIONS_MAX     4
