/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings that run. Each gets a number on the recorder's channel. Its parts go to the store as
 * they arrive. When it has ended, a worker merges them, and the result is kept as a profile.
 */
#pragma once

#include "base/str.h"
#include "base/vec.h"
#include "daemon/channel/protocol.h"
#include "web/jobs/queue.h"

struct service;

/* The recorder has begun the recording (`err` 0), or refused it, with a sentence. */
typedef void (*session_answer_fn)(void *ctx, int err, const char *why, u64 id);

struct session_order {
	struct control_start start; /* without its `id` */
	const char *name;           /* "": made from events and target */
	const char *who;            /* for the audit list */
	session_answer_fn answer;   /* called once; may be NULL */
	const char *pull_format;    /* not NULL: nothing is stored; the result goes to `pulled` */
	/* Called once after an answer without error. -ECONNRESET: the recorder ended before. */
	job_done_fn pulled;
	void *ctx; /* of both */
};

/*
 * session.c: one recording. Its parts are joined while it runs, and become a profile when it has
 * ended.
 */
struct session {
	struct service *sv;
	u64 id; /* number of the profile that the recording becomes */
	struct control_start start;
	struct control_state state;
	char *name, *why;
	char *who; /* who asked for the recording; NULL: the audit list already has its start */
	u64 asked_mono_ns, asked_wall_ns;
	u64 stopped_mono_ns;            /* 0: not stopped */
	u64 begin_wall_ns, end_wall_ns; /* of the parts */
	u64 samples, lost;              /* of the parts */
	u32 nr_parts;                   /* in the store */
	/* number of first parts that are too large to be joined with others */
	u32 nr_full;
	u32 nr_received;   /* all that arrived */
	s32 err;           /* why it ended */
	s32 cut_err;       /* why the recording ended early; 0: it did not */
	bool is_known;     /* the recorder has answered */
	bool is_discarded; /* nothing is kept */
	bool is_ended;     /* no part follows */
	bool is_joining, is_merging;
	bool is_over;                     /* it can be freed */
	u32 first, nr;                    /* the parts that are being merged */
	u32 nr_pieces;                    /* profiles stored before the last one */
	u32 nr_damaged;                   /* parts that cannot be read */
	u32 nr_tries;                     /* of the step at hand that failed */
	u32 nr_stores;                    /* attempts to store its result that failed */
	u64 again_ns;                     /* when that step is tried again */
	void (*again)(struct session *s); /* the step; NULL: none waits */
	void (*maker)(struct session *s); /* the step whose result is being stored */
	struct str pieces;                /* their numbers, for people */
	/* ends of the pieces to make, as a stack: the last entry is the end of the next piece */
	VEC(u32) ends;
	char pull_format[16]; /* "": it is stored */
	session_answer_fn answer;
	job_done_fn pulled;
	void *ctx;
};

void session_free(struct session *s);

/* "pid 17", "all JVMs": for lists. The caller frees it. */
char *session_target(const struct control_start *start);

/* Adds a sentence to `why`. */
void session_explain(struct session *s, const char *sentence);

/* Starts to join parts if there are many. */
void session_join(struct session *s);

/*
 * Makes the profile of a recording that has ended; sets is_over when that is done. If one profile
 * would be too large, it makes several; the last one has the recording's number.
 */
void session_finish(struct session *s);

/*
 * Repeats work that failed for a temporary reason, such as a full disk. Call it several times a
 * second.
 */
void session_tick(struct session *s);

/* Whether the recording was dropped: none of its samples will become a profile. */
bool session_is_dropped(const struct session *s);

/*
 * Calls `answer` or `pulled` if that has not happened yet. After an answer with an error, `pulled`
 * is not called.
 */
void session_answer(struct session *s, int err, const char *why);
void session_pulled(struct session *s, int err, struct payload *result);

/* sessions.c: all of them. */
struct sessions;

struct sessions *sessions_new(struct service *sv);
void sessions_free(struct sessions *all);

/* Answers everybody who waits for a recording. Their parts stay for the next start. */
void sessions_end_waits(struct sessions *all);

/* Keeps the parts of recordings that ran when the daemon ended. */
void sessions_adopt_orphans(struct sessions *all);

/* -EPIPE: there is no recorder. -EBUSY: the most recordings that may run are running. */
int sessions_may_start(const struct sessions *all);

/*
 * Asks the recorder for a recording. Fails as sessions_may_start does, or with -EAGAIN: the
 * recorder reads too slowly. `answer` is not called if this fails.
 */
int sessions_start(struct sessions *all, const struct session_order *o);

/* The recordings that run, the oldest first. NULL after the last. */
struct session *sessions_at(const struct sessions *all, size_t i);
struct session *sessions_find(const struct sessions *all, u64 id);

/* End a recording: sessions_stop keeps its profile, the next function drops it. */
int sessions_stop(struct session *s);
int sessions_discard(struct session *s);

/* A message of the recorder about a recording; `fd` stays the caller's. */
void sessions_message(struct sessions *all, const struct control_message *m, int fd);

/* The channel has ended: keeps the parts of the recordings that ran. */
void sessions_lost_recorder(struct sessions *all, const char *why);

/* Handles deadlines that have passed. Call it several times a second. */
void sessions_tick(struct sessions *all);
