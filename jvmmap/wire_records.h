/* SPDX-License-Identifier: Apache-2.0 */
/* The records in the ring of jvmmap/wire.h, as the agent writes and sysflame reads them. */
#pragma once

#include "jvmmap/wire.h"

/*
 * A record is its kind (a byte), the length of the rest (a number), and the rest. Numbers are
 * LEB128 varints, as in DWARF. A "step" is a signed number in zigzag encoding (0, -1, 1, -2..): the
 * distance from the value that its comment names.
 */
#define WIRE_RECORD_MAX 8192u /* length of the rest */

/*
 * Strings and methods are sent once and then identified by the number of their slot. A later record
 * for the same string slot replaces its content. Methods fill their slots in a cycle.
 */
#define WIRE_STRING_SLOTS 8192u
#define WIRE_METHOD_SLOTS 4096u
#define WIRE_STRING_MAX   4096u /* longer ones are truncated */
#define WIRE_THREAD_MAX   1024u /* bytes of a thread's name */

enum wire_kind {
	WIRE_STRING = 1, /* slot, bytes: modified UTF-8, as in class files */
	WIRE_METHOD = 2, /* string slots of class ("Ljava/lang/Thread;"), name and signature, each
			  * as its difference from that of the previous WIRE_METHOD */
	WIRE_LOAD = 3,   /* code was compiled: time; address, as its difference from the end of the
			  * previous code; size; method slot, as its difference from the slot that
			  * was filled last */
	WIRE_UNLOAD = 4, /* time, address */
	WIRE_CODE = 5,   /* code of a stub: time, address and size as above, string slot */
	WIRE_INLINE = 6, /* see below */
	WIRE_REPLAY_BEGIN = 7, /* time; loads within the report have time 0 */
	WIRE_REPLAY_END = 8,   /* time */
	WIRE_LOST = 9,         /* number of records missing here */
	WIRE_THREAD = 10, /* tid in the JVM's pid namespace, bytes: name at the thread's start */
	WIRE_CLASS = 11,  /* hash, bytes: signature of the class for which hooks pass the hash */
};

/*
 * WIRE_INLINE: the inlined frames of the preceding WIRE_LOAD. It holds the offset of the first
 * range, then for each range, in ascending order: its length; 4 * the number of innermost frames
 * left since the previous range of this record, + the number of frames entered, where 3 means that
 * 3 + a following number are entered; the method slots of the entered frames, outermost first. A
 * slot is a step from the previous one in this record, the first one from the load's. The compiled
 * method itself is not listed. A range holds the pcs in (begin, begin + length], because JVMTI's
 * pcs are return addresses.
 */
#define WIRE_INLINE_DEPTH_MAX 64u
#define WIRE_INLINE_MORE      3u
