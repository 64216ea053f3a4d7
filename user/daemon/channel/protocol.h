/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages between the daemon's recorder and its web process, over a SOCK_SEQPACKET pair. Each
 * side treats the other as hostile: channel.h checks every message before anybody sees it.
 *
 *   recorder -> web   HELLO, CAPS, EVENT.., then at any time NODE, JVMS, STATE, PART, ENDED, SLICE,
 *                     FIRED, READING, CRASHED, RESTART
 *   web -> recorder   HELLO, then at any time START, STOP, DISCARD, BOOK, WATCH
 *
 * A recording has a number that the web process chose. It lives from START to ENDED. Its profile
 * arrives in parts, each a sealed memory file in the format of docs/profile-format.md; together
 * they are the profile. Times are CLOCK_REALTIME in ns where a name says `wall`. Texts are UTF-8
 * without control characters and end in a NUL.
 */
#pragma once

#include "daemon/channel/reports.h"

#define CONTROL_VERSION     8
#define CONTROL_MESSAGE_MAX (64u << 10)

enum control_kind {
	CONTROL_HELLO = 1,
	CONTROL_CAPS,
	CONTROL_EVENT,
	CONTROL_NODE,
	CONTROL_JVMS,
	CONTROL_STATE,
	CONTROL_PART,
	CONTROL_ENDED,
	CONTROL_SLICE,
	CONTROL_START,
	CONTROL_STOP,
	CONTROL_DISCARD,
	CONTROL_BOOK,  /* slices could not be stored: begin a new book */
	CONTROL_FIRED, /* a trigger: keep the slices before, and record */
	CONTROL_WATCH, /* somebody looks: send readings for a while */
	CONTROL_READING,
	CONTROL_RESTART,
	CONTROL_CRASHED,
	NR_CONTROL_KINDS,
};

enum control_target {
	CONTROL_TARGET_NODE,
	CONTROL_TARGET_PID, /* "PID", and its children */
	CONTROL_TARGET_COMM,
	CONTROL_TARGET_USER,
	CONTROL_TARGET_JVMS, /* all JVMs */
	CONTROL_TARGET_CGROUP,
	CONTROL_TARGET_CONTAINER,
	CONTROL_TARGET_POD,
	NR_CONTROL_TARGETS,
};

#define CONTROL_HZ 99

/* The rate of recordings that are requested without a rate, such as those of triggers. */
static inline u32 control_usual_hz(u32 max_hz)
{
	return max_hz < CONTROL_HZ ? max_hz : CONTROL_HZ;
}

struct control_start {
	u32 id;
	u32 rate_hz;      /* 0: control_usual_hz */
	u32 duration_s;   /* 0: until STOP, or the limit */
	u32 target;       /* enum control_target */
	char events[256]; /* as -e has them: "cpu,alloc" */
	char target_text[512];
};

/* A rule of recorder.conf has held long enough. */
struct control_fired {
	u32 target; /* enum control_target */
	u32 duration_s, before_s;
	char name[64], why[256], events[128], target_text[512];
	char container[128]; /* keep the slices of this container; "": of all */
};

/* STOP and DISCARD; BOOK and WATCH have no number. */
struct control_id {
	u32 id;
};

struct control_message {
	u32 kind; /* enum control_kind */
	union {
		struct control_hello hello;
		struct control_caps caps;
		struct control_event event;
		struct control_node node;
		struct control_jvms jvms;
		struct control_state state;
		struct control_part part;
		struct control_ended ended;
		struct control_slice slice;
		struct control_start start;
		struct control_id id;
		struct control_fired fired;
		struct control_reading reading;
		struct control_restart restart;
		struct control_crashed crashed;
	};
};

_Static_assert(sizeof(struct control_message) <= CONTROL_MESSAGE_MAX, "a message is too long");
