/* SPDX-License-Identifier: Apache-2.0 */
/* Slices of continuous profiling on disk. Part of store/store.h. */
#pragma once

#include "base/types.h"
#include "base/vec.h"

struct store;

/* The values of an event: CPU time, waiting time, bytes. */
struct store_use {
	const char *event, *service;
	u64 value;
};

/*
 * Appends a record of docs/slices-format.md to the file of its hour. `uses` says which service used
 * how much in it. -EINVAL if it is not one undamaged record of that time, or in the first hour of
 * 1970, where a machine is whose clock was not set yet. After any error the records that follow in
 * the same book cannot be read: ask for a new book then.
 */
int store_add_slice(struct store *s, const void *bytes, size_t nr, u64 begin_ns, u64 end_ns,
		    const struct store_use *uses, size_t nr_uses);

/* An hour whose slices are to be merged to longer ones. */
struct store_thinning {
	u64 hour, step_ns;
	u64 inode, size_bytes; /* of its file when it was opened, or could not be */
};

/* Whether an hour is due at that time; the oldest one first. */
bool store_thinning_due(struct store *s, u64 now_ns, struct store_thinning *out);

/* A descriptor of its file, or a negative errno. store_thinning_end may follow either. */
int store_thinning_open(struct store *s, struct store_thinning *t);

/*
 * Replaces the file in one step: after a kill there is the old or the new file. With `bytes` NULL
 * the hour stays as it is for good. -ESTALE if a slice was added meanwhile; nothing changes then.
 */
int store_thinning_end(struct store *s, const struct store_thinning *t, const void *bytes,
		       size_t nr);

/* The longest step of the slices of [from, to); 0: none was thinned. */
u64 store_slices_step(struct store *s, u64 from_ns, u64 to_ns);

/*
 * A descriptor of the oldest file that has slices of [*from_ns, to_ns), or a negative errno;
 * -ENOENT after the last. Moves *from_ns to the end of its hour. If hours are removed between two
 * calls, no other hour is skipped.
 */
int store_open_slices(struct store *s, u64 *from_ns, u64 to_ns);

/*
 * A shorter time between two slices is no gap: a slice begins a moment after the end of the
 * previous one.
 */
#define STORE_GAP_NS (2 * 1000000000ull)
#define STORE_LATE_NS                                                              \
	(30 * 1000000000ull) /* from the begin of a slice until it is in the store \
			      */
#define STORE_GAPS_MAX 100

/* A time without slices. */
struct store_gap {
	u64 from_ns, to_ns; /* in the range that was asked for */
	u64 since_ns; /* when the last slice before it ended; 0: the store has none before it */
	char *why;    /* "" if it is not known */
};

/* How much of a range has slices. */
struct store_coverage {
	u64 from_ns;
	u64 covered_ns; /* the sum of its slices: more than its length if the clock was set back */
	VEC(struct store_gap) gaps; /* the first STORE_GAPS_MAX, and the one at the end */
};

/* Fills in the coverage by slices that begin in [from, to). */
int store_coverage(struct store *s, u64 from_ns, u64 to_ns, struct store_coverage *out);
void store_coverage_fini(struct store_coverage *c);

/* When the newest slice ends; 0: the store has no slice. */
u64 store_covered_until(struct store *s);

/*
 * Notes that from now on there are no slices, and why; "": there are slices again. Does nothing if
 * the last note is equal.
 */
int store_note_pause(struct store *s, u64 at_ns, const char *why);

/* The use of a service by time. */
struct store_series {
	char *service;
	VEC(u64) values; /* by step */
	u64 total;
};
struct store_strip {
	u64 from_ns, step_ns, nr_steps;  /* whole slices a step */
	VEC(u64) covered;                /* by step: ns of its slices, of any event */
	VEC(u64) all;                    /* by step: the use of all services */
	VEC(char *) events;              /* that slices of this time have, by name */
	VEC(struct store_series) series; /* the largest first, at most STORE_SERIES_MAX */
	u64 nr_left_out;                 /* further services */
};

/* Programs choose the names of services, and each series has a value for every step. */
#define STORE_SERIES_MAX 200

/* Latest time, in the year 2116: twice that number still fits. */
#define STORE_STRIP_MAX_NS (INT64_MAX / 2)

/* A time, and the event whose values are wanted. */
struct store_strip_query {
	u64 from_ns, to_ns; /* to_ns: at most STORE_STRIP_MAX_NS */
	const char *event;
	u32 max_steps;
};

/* **out gets the use by time of the services with the largest use. */
int store_strip(struct store *s, const struct store_strip_query *q, struct store_strip *out);
void store_strip_fini(struct store_strip *strip);
