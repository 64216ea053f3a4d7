/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that wait to be sent, on disk:
 *
 *   DIR/push/next                               the first minute of which nothing was spooled
 *   DIR/push/<receiver>/<minute>-<n>-<service>  a request, as it is sent; removed once it was
 *
 * Minutes are counted since 1970. Requests of the minute `next` and later ones were not sent: what
 * a kill left of them is removed, and they are made again.
 */
#pragma once

#include "base/types.h"
#include "base/vec.h"

struct backlog_limits {
	u64 max_bytes; /* of a receiver's requests */
	u64 max_minutes;
};

struct waiting {
	u64 minute, bytes;
	u32 number;
	u32 nr_faults;    /* answers of the receiver that reported a fault of its own */
	u32 nr_crashes;   /* times that the sender crashed while it was sending this request */
	char service[44]; /* letters, digits, '_' and '.', for people */
};

struct backlog {
	int dir;
	struct backlog_limits limits;
	VEC(struct waiting) waiting; /* the oldest first */
	u64 bytes;
	u64 nr_full, nr_old, nr_ahead; /* removed unsent, by reason */
};

/* Opens the receiver's folder below `dir`. Negative errno. */
int backlog_open(int dir, const char *receiver, const struct backlog_limits *limits, u64 next,
		 struct backlog *out);
void backlog_close(struct backlog *s);

/*
 * Adds a request. Removes the oldest requests if there is no room, but never the first one while
 * `is_sending`. -EFBIG if it is larger than the spool; or an errno of the disk.
 */
int backlog_add(struct backlog *s, struct waiting *request, const void *bytes, bool is_sending);

/*
 * Moves a request to the front: the oldest of the requests with the fewest faults. The first
 * BACKLOG_FAULTS faults of a request do not count. If the receiver does not take it,
 * backlog_put_back restores the order.
 */
#define BACKLOG_FAULTS 3
void backlog_choose(struct backlog *s);
void backlog_put_back(struct backlog *s);

/* A descriptor of the first request's file. */
int backlog_get_first(const struct backlog *s);
void backlog_remove_first(struct backlog *s);

/* Removes requests that are too old; not the first one while `is_sending`. */
void backlog_expire(struct backlog *s, u64 minute, bool is_sending);

/*
 * Removes the requests of this minute and of later ones, but not the first one while `is_sending`;
 * returns their number. They are either made again, or lost to a clock that was set back: the
 * caller counts these in nr_ahead.
 */
u64 backlog_undo(struct backlog *s, u64 minute, bool is_sending);

/* Removes the folders of other receivers; returns the number of requests in them. */
u64 backlog_remove_others(int dir, const char (*receivers)[40], u32 nr);

/* The file `next`: 0 if there is none. A write keeps its size, so that it needs no free block. */
u64 backlog_read_next(int dir);
int backlog_write_next(int dir, u64 minute);
