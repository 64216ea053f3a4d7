/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the opener, another process (opener.c), to open a file that a process chose. The opener has
 * the right to take the ids of that process, which the recorder gives up. It also asks container
 * runtimes, because the recorder may not connect. If the file's file system does not answer, only
 * the opener waits: it is ended after OPEN_MAX_MS and replaced.
 * Files of that user are then refused for a while, twice as long each time. All slow files may take
 * 1 s and 5 % of the time together; then all are refused.
 *
 * proc/target_file.c sends such requests once open_requests_begin was called.
 */
#pragma once

#include <limits.h>

#include "base/types.h"
#include "proc/target_file.h"

#define OPEN_MAX_MS 500

#define OPEN_ORDER_VERSION 3

enum open_kind {
	OPEN_AS_PROCESS, /* target_file_open, below the root that is sent along */
	OPEN_UNLINKED,   /* target_file_open_unlinked, below that root */
	OPEN_MAPPED,     /* mapped_file_open_by */
	OPEN_ANSWER,     /* runtime_socket_ask; the file holds the answer */
	OPEN_KINDS,
};

/* An order as it is sent, up to the end of the path. */
struct open_order {
	u32 version, kind;
	u32 uid, gid; /* OPEN_AS_PROCESS */
	s32 pid;      /* OPEN_MAPPED, as the next ones */
	struct ancestors ancestors;
	u32 dev_major, dev_minor; /* of the mapping */
	u32 is_executable;        /* 0 or 1 */
	u64 start, end, inode;    /* of the mapping */
	u32 runtime;              /* OPEN_ANSWER: enum runtime_socket */
	char path[PATH_MAX];      /* ends in a NUL; OPEN_ANSWER: the container's id */
};

/*
 * How to start and end an opener. `start` gets its end of a socket, which stays the caller's. It
 * returns -EPIPE if no opener can be started any more; other failures may pass.
 */
struct open_requests_ops {
	int (*start)(void *ctx, int sock, u64 *number);
	void (*end)(void *ctx, u64 number);
	void *ctx;
};

/* Starts an opener, which opens all files from now on. */
int open_requests_begin(const struct open_requests_ops *ops);
void open_requests_end(void);

/* Whether an opener runs or may run later. Otherwise the caller opens files itself. */
bool open_requests_are_used(void);

/*
 * Sends the order with the root, -1 for none, and returns the file's descriptor or a negative
 * errno. -EBUSY: the file system does not answer, or no opener can be started now. -EPIPE: it
 * ended.
 */
int open_request(struct open_order *order, const char *path, int root);

/*
 * How many orders of files were not carried out, because an opener did not answer in time now or a
 * short time ago.
 */
u64 open_requests_nr_late(void);

/*
 * A file with the runtime's answer about the container, or a negative errno: of runtime_socket_ask,
 * or -EBUSY, -EPIPE or -EPROTO if the opener does not answer. The time is not charged to files.
 */
int open_request_answer(u32 runtime, const char *id);

/*
 * The opener's side: answers the orders that come through the socket until the recorder closes its
 * end. `root` is the prefix of /run, /etc and /proc for container runtimes; "" except in tests.
 */
void opener_serve(int sock, const char *root);
