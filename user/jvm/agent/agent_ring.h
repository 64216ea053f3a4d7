/* SPDX-License-Identifier: Apache-2.0 */
/* The reader's end of an agent's ring: a memfd made by a JVM that may be hostile. */
#pragma once

#include "base/types.h"
#include "jvm/agent/codemap.h"
#include "jvm/hotspot/thread_names.h"

struct agent_ring;

enum agent_ring_state {
	RING_STARTING,
	RING_LIVE,
	RING_FAILED, /* the agent could not start, see agent_ring_failure */
	/* the agent has ended the session: after a command, or because we did not read in time */
	RING_STOPPED,
	RING_BROKEN, /* its content is invalid; it is not read any more */
};

/*
 * Opens the memfd, which must carry the nonce, and feeds `map` from it. Takes ownership of fd, also
 * on failure. -EBADMSG if it is not the ring of a known agent, or if its size can still change.
 */
int agent_ring_open(int fd, const char *nonce, s64 clock_off_ns, struct codemap *map,
		    struct agent_ring **out);
/* Sets the store for the names of threads that start from now on. */
void agent_ring_report_threads(struct agent_ring *r, struct thread_names *to);
void agent_ring_close(struct agent_ring *r);

/* Reads the available records for at most some milliseconds, and shows that we are alive. */
enum agent_ring_state agent_ring_read(struct agent_ring *r);

/*
 * Limits the next reads: their time, at most 20 ms, and the bytes of texts that the ring keeps. A
 * text for which there is no room becomes "?".
 */
void agent_ring_limit(struct agent_ring *r, u64 max_ns, u64 max_bytes);

/* The memory that the ring takes beside the code map, and the number of texts without room. */
size_t agent_ring_held_bytes(const struct agent_ring *r);
u64 agent_ring_nr_left_out(const struct agent_ring *r);

/* Requests the agent to end the session at its next event, in any case. */
void agent_ring_stop(struct agent_ring *r);

/* Whether records were lost. Names may then be wrong until the agent reports all code again. */
bool agent_ring_is_dirty(const struct agent_ring *r);
/* whether all records written so far have been read */
bool agent_ring_is_drained(const struct agent_ring *r);
/* The CLOCK_MONOTONIC time until which all records have been read. */
u64 agent_ring_read_until(const struct agent_ring *r);
u64 agent_ring_nr_lost(const struct agent_ring *r);
u64 agent_ring_bytes(const struct agent_ring *r); /* read in total */

/*
 * The requested hooks that the agent cannot report: a bit mask by enum wire_hook. Calls are in the
 * mask if the agent cannot report calls of any one of `methods`, a list as in struct agent_hooks.
 */
u32 agent_ring_failed_hooks(const struct agent_ring *r, const char *methods);

/*
 * The reason for which the agent cannot report the events of one of these hooks, as "reason; what
 * to do". NULL if it reports them or they were not requested. The caller frees it.
 */
char *agent_ring_hook_failure(const struct agent_ring *r, u32 hooks, const char *methods);

/* The failure in the JVM as a phrase; valid for RING_FAILED. The caller frees it. */
char *agent_ring_failure(const struct agent_ring *r);

/*
 * Whether the agent failed only because the JVM was still starting, or is ending: another try may
 * succeed.
 */
bool agent_ring_was_early(const struct agent_ring *r);
