/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent in a JVM and its reader in sysflame share: the command, the ring, its records.
 *
 * The agent is loaded (or spoken to again, by a second load of the same file) with options of
 * the form "v=1;cmd=start;nonce=HEX". Each reader has a session of its own, named by its nonce:
 *
 *	cmd=start    opens a session, turns the events on, reports what is compiled
 *	cmd=methods  changes the classes of the methods that cmd=start named
 *	cmd=replay   reports again everything that is compiled now, after records were lost
 *	cmd=refs     tells of sampled objects that are gone by now; gc=1: collects garbage first
 *	cmd=stop     ends a session; nonce=all ends every one. The last one turns the events off
 *	inline=1     with start: also what is inlined where
 *	live=0       with start: no events after the report (JVMs whose events are unsafe)
 *	alloc=BYTES  with start: also sampled allocations, one about every so many bytes
 *	refs=1       with alloc: also when sampled objects are gone
 *	lock=NS      with start: also waits for monitors, all that take so long and some others
 *	methods=LIST with start: also calls of these methods: "a/B.run,a/C.go"
 *
 * A session is a memfd called WIRE_NAME_PREFIX + nonce in the JVM, sealed against resizing: one
 * page of struct wire_header, then WIRE_RING_BYTES of records. The agent never waits for the
 * reader: what does not fit is dropped and counted. All integers are little-endian.
 *
 * Both ends may be of different versions: the name, the layout of the header and the commands start
 * and stop never change; everything else may with WIRE_ABI. The agent's file holds WIRE_MARK.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define WIRE_TEXT_OF(x)   #x
#define WIRE_TEXT(x)      WIRE_TEXT_OF(x)
#define WIRE_ABI          4
#define WIRE_MARK         "sysflame agent, wire format "
#define WIRE_MAGIC        0x70616d6d766a0a01ull /* "\1\njvmmap" */
#define WIRE_NAME         "jvmmap-"             /* then WIRE_ABI, "-", the nonce */
#define WIRE_NAME_PREFIX  WIRE_NAME WIRE_TEXT(WIRE_ABI) "-"
#define WIRE_NONCE_LEN    32 /* hexadecimal digits */
#define WIRE_HEADER_BYTES 4096u
#define WIRE_RING_BYTES   (4u << 20) /* a power of two */

enum wire_state {
	WIRE_STARTING = 0,
	WIRE_LIVE = 1,   /* the report of what is compiled is complete */
	WIRE_FAILED = 2, /* `failed_step` and `error` say why */
	WIRE_STOPPED = 3,
};

enum wire_step {
	WIRE_STEP_NONE = 0,
	WIRE_STEP_GET_ENV = 1,    /* error: JNI */
	WIRE_STEP_CAPABILITY = 2, /* error: JVMTI, as of all below */
	WIRE_STEP_CALLBACKS = 3,
	WIRE_STEP_ENABLE = 4,
	WIRE_STEP_REPLAY = 5,
};

/* The events in Java code; each calls an empty function jvmmap_hook_NAME, see hooks.h. */
enum wire_hook {
	WIRE_HOOK_ALLOC = 0, /* (hash of the class's name, bytes, mean distance of samples, number
				of the object or 0); with refs=1 jvmmap_hook_gone(number) */
	WIRE_HOOK_LOCK = 1,  /* (hash of the class's name, ns waited, ns from which on all are told,
				waits since the last that could not be timed) */
	WIRE_HOOK_METHOD = 2, /* (-, -, wire_method_number) */
	WIRE_HOOKS = 4,
};

#define WIRE_HOOK_ON        1 /* in hook_states; 0: not asked for; < 0: -JVMTI error */
#define WIRE_ALLOC_INTERVAL (512u << 10)
#define WIRE_METHODS_MAX    512 /* bytes of the list, its NUL among them */
#define WIRE_METHOD_CLASS                                                       \
	"java/lang/Sysflame" /* how the name of the class begins that is called \
			      */

/* By which a method of the list is meant, "a/B.run": FNV-1a. */
static inline uint32_t wire_method_number(const char *name, size_t len)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (uint8_t)name[i]) * 16777619u;
	return hash;
}

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
	uint8_t pad0[256 - 84 - 4 * WIRE_HOOKS];

	/* Written by the agent. */
	uint64_t head; /* bytes ever written; the record at `tail` is whole if tail < head */
	uint64_t lost; /* records ever dropped */
	uint8_t pad1[256 - 16];

	/* Written by the reader. */
	uint64_t tail;      /* bytes ever read */
	uint32_t heartbeat; /* changes at least once in WIRE_READER_TIMEOUT_NS, or the reader is
			       dead */
	uint32_t stop;      /* not 0: end the session at the next event */
};
_Static_assert(sizeof(struct wire_header) == 528, "the header is part of the wire format");

#define WIRE_READER_TIMEOUT_NS (60ull * 1000000000ull)

/*
 * A record is its kind (a byte), how many bytes follow (a number), and those. Numbers are LEB128
 * varints, as in DWARF; what is called a step is a signed one, zigzag (0, -1, 1, -2..): the
 * distance from what is named with it.
 */
#define WIRE_RECORD_MAX 8192u /* bytes that follow */

/*
 * Strings and methods are sent once and then meant by the number of the slot that holds them. A
 * later record for a string's slot replaces what it held; methods fill their slots round and round.
 */
#define WIRE_STRING_SLOTS 8192u
#define WIRE_METHOD_SLOTS 4096u
#define WIRE_STRING_MAX   4096u /* longer ones are cut */
#define WIRE_THREAD_MAX   1024u /* bytes of a thread's name */

enum wire_kind {
	WIRE_STRING = 1, /* slot, bytes: modified UTF-8 of class files */
	WIRE_METHOD = 2, /* string slots of class ("Ljava/lang/Thread;"), name, signature: steps
			    from those of the method before */
	WIRE_LOAD = 3,   /* compiled code was made: time; address, a step from the end of the code
			    before; size; method slot, a step from the one that was filled last */
	WIRE_UNLOAD = 4, /* time, address */
	WIRE_CODE = 5,   /* code that is no method: time, address and size as above, string slot */
	WIRE_INLINE = 6, /* see below */
	WIRE_REPLAY_BEGIN = 7, /* time; loads of the report itself have time 0 */
	WIRE_REPLAY_END = 8,   /* time */
	WIRE_LOST = 9,         /* how many records are missing here */
	WIRE_THREAD = 10,      /* tid in the JVM's pid namespace, bytes: the name it starts with */
	WIRE_CLASS = 11, /* hash, bytes: the signature of a class that hooks mean by the hash */
};

/*
 * WIRE_INLINE: what stands where in the code of the WIRE_LOAD before it: offset at which the first
 * range begins, then per range, in ascending order: its length; 4 * how many innermost frames of
 * the range before it in this record are left + how many are entered, where 3 means that 3 + a
 * number are; the method slots of these, outermost first, each a step from the one before in this
 * record, the first from the load's. The compiled method itself is not listed. A range holds the
 * pcs in (begin, begin + length]: JVMTI's pcs are return addresses.
 */
#define WIRE_INLINE_DEPTH_MAX 64u
#define WIRE_INLINE_MORE      3u
