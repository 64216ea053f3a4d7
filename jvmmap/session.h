/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader's session: the ring and what that reader has been told. All calls are made with the
 * agent's lock held, except where it says otherwise.
 */
#pragma once

#include <jvmti.h>
#include <jvmticmlr.h>
#include <stdint.h>

#include "jvmmap/wire.h"

/*
 * What a method slot holds. A jmethodID is used again for another method once its class is
 * unloaded, so it is trusted only within the event in which its name was last looked up.
 */
struct method_slot {
	jmethodID method;
	uint64_t name_hash; /* of what the reader was told */
	uint64_t event;
};

#define METHOD_PLACES 16384u

struct session {
	struct wire_header *header;
	uint8_t *ring; /* mapped twice in a row, so that no record wraps */
	uint64_t head; /* ours; the reader can scribble over the header's */
	uint64_t lost_unsaid;
	uint64_t heartbeat_ns; /* when `heartbeat` was last seen to change */
	uint32_t heartbeat;
	int fd, pid;
	int wants_inline, wants_live, wants_refs;
	uint64_t alloc_interval;      /* 0: no allocations */
	uint64_t lock_min_ns;         /* 0: no waits for monitors */
	char calls[WIRE_METHODS_MAX]; /* of which methods are told, as in the command */
	int may_wait_ms; /* how long a replay may still wait for a full ring to be read */
	char nonce[WIRE_NONCE_LEN + 1];

	uint64_t string_hashes[WIRE_STRING_SLOTS];
	struct method_slot methods[WIRE_METHOD_SLOTS];
	uint16_t method_places[METHOD_PLACES]; /* hash of a jmethodID -> the slot to look at */
	uint64_t event;                        /* number of the load that is being written */

	/* What steps in records are counted from. */
	uint64_t code_end;
	uint32_t method_slot, load_slot;
	int method_strings[3]; /* class, name, signature */

	uint32_t chunk_bytes; /* of the WIRE_INLINE record under construction; 0: none */
	uint32_t chunk_slot;
	uint8_t chunk[WIRE_RECORD_MAX];
};

/* NULL if the kernel refuses memory or the descriptor (a seccomp filter, a limit). */
struct session *session_open(const char *nonce);
void session_close(struct session *s);

/* Whether there still is a reader, and this is its process and no fork of it. */
int session_is_wanted(struct session *s, uint64_t now_ns);

/* Counts `nr` records as lost. */
void session_lose(struct session *s, uint64_t nr);

/* Each returns 0 if the record did not fit; it is counted as lost then. */
int session_mark(struct session *s, enum wire_kind kind, uint64_t time_ns);
int session_load(struct session *s, uint64_t time_ns, uint64_t addr, uint64_t size,
		 uint32_t method);
int session_unload(struct session *s, uint64_t time_ns, uint64_t addr);
int session_code(struct session *s, uint64_t time_ns, uint64_t addr, uint64_t size,
		 const char *name);

int session_thread(struct session *s, int tid, const char *name);
/* The number that stands for a name; never 0. */
uint64_t session_hash(const char *name);
int session_class(struct session *s, uint64_t hash, const char *name);

/* Names from before are looked up again: to be called at the beginning of each load. */
void session_next_event(struct session *s);

/* The slot of a method, sent if the reader does not have it; < 0 if it has no name or no room. */
int session_method(struct session *s, jvmtiEnv *env, jmethodID method);

/* The inline ranges of the load that was written last. */
void session_inline(struct session *s, jvmtiEnv *env, uint64_t addr, uint64_t size,
		    const PCStackInfo *ranges, int nr);
