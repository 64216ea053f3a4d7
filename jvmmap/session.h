/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader's session: its ring, and a record of what has been sent to the reader. Callers hold the
 * agent's lock unless stated otherwise.
 */
#pragma once

#include <jvmti.h>
#include <jvmticmlr.h>
#include <stdint.h>

#include "jvmmap/wire.h"
#include "jvmmap/wire_records.h"

/*
 * The content of a method slot. The JVM reuses a jmethodID after its class is unloaded. It is
 * therefore trusted only within the event in which its name was last looked up.
 */
struct method_slot {
	jmethodID method;
	uint64_t name_hash; /* of the names sent to the reader */
	uint64_t event;
};

#define METHOD_PLACES 16384u

struct session {
	struct wire_header *header;
	uint8_t *ring; /* mapped twice in a row: no record wraps */
	uint64_t head; /* our copy: the reader can overwrite the header's */
	uint64_t lost_unsaid;
	uint64_t heartbeat_ns; /* time of the last seen change of `heartbeat` */
	uint64_t looked_ns;    /* when the reader's lock was last tested */
	uint32_t heartbeat;
	int is_dead; /* the reader has released its lock */
	int is_pressed;
	int fd, pid;
	int wants_inline, wants_live, wants_refs;
	uint64_t alloc_interval;      /* 0: no allocations */
	uint64_t lock_min_ns;         /* 0: no waits for monitors */
	char calls[WIRE_METHODS_MAX]; /* the methods whose calls are reported, as in the command */
	int may_wait_ms;              /* remaining ms that a replay may wait for room in the ring */
	char nonce[WIRE_NONCE_LEN + 1];

	uint64_t string_hashes[WIRE_STRING_SLOTS];
	struct method_slot methods[WIRE_METHOD_SLOTS];
	uint16_t method_places[METHOD_PLACES]; /* hash of a jmethodID -> the slot to check */
	uint64_t event;                        /* number of the load that is being written */

	/* The base values of steps in records. */
	uint64_t code_end;
	uint32_t method_slot, load_slot;
	int method_strings[3]; /* class, name, signature */

	uint32_t chunk_bytes; /* of the WIRE_INLINE record under construction; 0 if none */
	uint32_t chunk_slot;
	uint8_t chunk[WIRE_RECORD_MAX];
};

/* NULL if the kernel refuses memory or the descriptor (seccomp filter, resource limit). */
struct session *session_open(const char *nonce);
void session_close(struct session *s);

/*
 * Whether the reader is still there and this process is the JVM itself, not a fork of it. Tests the
 * reader's lock once a second at most, because events call it.
 */
int session_is_wanted(struct session *s, uint64_t now_ns);

/* Makes session_is_wanted test the lock at the next call. */
void session_suspect(struct session *s);

/*
 * Shortens the time that a reader has to show itself to WIRE_CLAIM_SHORT_NS, because another reader
 * needs the place.
 */
void session_press(struct session *s);

/* Counts `nr` records as lost. */
void session_lose(struct session *s, uint64_t nr);

/* Each returns 0 if the record did not fit; the record is then counted as lost. */
int session_mark(struct session *s, enum wire_kind kind, uint64_t time_ns);
int session_load(struct session *s, uint64_t time_ns, uint64_t addr, uint64_t size,
		 uint32_t method);
int session_unload(struct session *s, uint64_t time_ns, uint64_t addr);
int session_code(struct session *s, uint64_t time_ns, uint64_t addr, uint64_t size,
		 const char *name);

int session_thread(struct session *s, int tid, const char *name);
/* The hash that stands for a name; never 0. */
uint64_t session_hash(const char *name);
int session_class(struct session *s, uint64_t hash, const char *name);

/* Invalidates names looked up earlier. Call it at the beginning of each load. */
void session_next_event(struct session *s);

/*
 * The slot of a method. Sends the method if the reader does not have it. < 0 if it has no name or
 * there was no room.
 */
int session_method(struct session *s, jvmtiEnv *env, jmethodID method);

/* Sends the inline ranges of the last load. */
void session_inline(struct session *s, jvmtiEnv *env, uint64_t addr, uint64_t size,
		    const PCStackInfo *ranges, int nr);

/*
 * The sessions of this JVM and the agent's lock, which protects them. Commands run one at a time;
 * events come from all threads.
 */
#define SESSIONS_MAX WIRE_SESSIONS_MAX

/* Calls `settle`, with the lock held, whenever sessions of readers that have gone were closed. */
void sessions_on_close(void (*settle)(void));

/*
 * For events: takes the lock and fills `out` with the sessions that want events. Returns their
 * number; if it is 0 (no session, or the lock was not free in time), the lock is not held. Also
 * closes sessions whose reader has gone, because the agent rarely has a thread of its own. During a
 * replay, the events of its thread go to the session of the command only, and *time_ns is 0.
 */
int sessions_begin(struct session *out[SESSIONS_MAX], uint64_t *time_ns);
void sessions_end(void);

/* For commands, which may wait: the lock is held for one event at most. */
void sessions_lock(void);
void sessions_unlock(void);

/* All places; NULL if one is free. */
struct session *const *sessions_all(void);
struct session *sessions_find(const char *nonce);

/*
 * Opens a session. First closes sessions whose reader has gone. NULL if all places are taken or the
 * kernel refuses memory or the descriptor.
 */
struct session *sessions_open(const char *nonce);
void sessions_close(struct session *s);
/* Closes sessions whose reader has gone, but not the session in use. */
void sessions_close_abandoned(void);

/* The session of the running command, which events must not close; NULL: none. */
void sessions_use(struct session *s);
struct session *sessions_used(void);

/* The events of thread `tid` are the command's replay; 0: the replay is over. */
void sessions_replay(int tid);
