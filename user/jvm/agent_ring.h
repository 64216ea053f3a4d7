/* SPDX-License-Identifier: Apache-2.0 */
/* The reader's end of an agent's ring: a memfd that a possibly hostile JVM made. */
#pragma once

#include "base/types.h"
#include "jvm/codemap.h"
#include "jvm/thread_names.h"

struct agent_ring;

enum agent_ring_state {
	RING_STARTING,
	RING_LIVE,
	RING_FAILED,  /* the agent could not begin, see agent_ring_failure */
	RING_STOPPED, /* by the agent: another command ended the session, or we were silent too long
		       */
	RING_BROKEN,  /* it holds what no agent writes; it is not read any more */
};

/*
 * Opens the memfd, which must carry the nonce, and feeds `map` from it. Takes fd over, also on
 * failure. -EBADMSG if it is not the ring of an agent we know, or its size can still change.
 */
int agent_ring_open(int fd, const char *nonce, s64 clock_off_ns, struct codemap *map,
		    struct agent_ring **out);
/* Where the names of threads go that start from here on. */
void agent_ring_tell_threads(struct agent_ring *r, struct thread_names *to);
void agent_ring_close(struct agent_ring *r);

/* Takes in what is there, for at most a few milliseconds; also tells the agent that we live. */
enum agent_ring_state agent_ring_read(struct agent_ring *r);

/* Asks the agent to end the session at its next event, whatever else happens. */
void agent_ring_stop(struct agent_ring *r);

/* Whether records were lost, so that names may be wrong until the agent reports all code again. */
bool agent_ring_is_dirty(const struct agent_ring *r);
bool agent_ring_is_drained(const struct agent_ring *r); /* what was written up to now was read */
u64 agent_ring_nr_lost(const struct agent_ring *r);
u64 agent_ring_bytes(const struct agent_ring *r); /* ever read */

/* Which hooks it was asked to tell of and cannot: bits by enum wire_hook. */
u32 agent_ring_failed_hooks(const struct agent_ring *r);

/*
 * Why the agent cannot tell of a hook's events, as "reason; what to do"; NULL if it does or was not
 * asked to. The caller frees it.
 */
char *agent_ring_hook_failure(const struct agent_ring *r);

/* What failed in the JVM, as a phrase; valid for RING_FAILED. The caller frees it. */
char *agent_ring_failure(const struct agent_ring *r);

/* Whether that was because the JVM was still starting, or is ending. */
bool agent_ring_was_early(const struct agent_ring *r);
