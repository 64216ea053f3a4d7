/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches the JVMs of this node: reads their numbers on request, and samples the node at 19 Hz for
 * their hottest methods. Changes nothing in them: no agent is loaded. Sampling takes the rights of
 * a recording; without them there are no methods, and the JVMs are found by a search of /proc.
 */
#pragma once

#include "capture/samples/cut.h"
#include "top/board.h"
#include "top/hot.h"

#define WATCH_HZ 19

struct watch_options {
	bool without_methods;
	bool keeps_output_rights; /* keep the rights to write the files of watch_record */
	const pid_t *pids;        /* only these JVMs; the array must stay */
	size_t nr_pids;           /* 0: all */
	const char *daemon_url;   /* NULL: own readings, else those of that daemon */
	const char *daemon_token;
};

struct watch;

/*
 * Call it before the first thread starts. Logs why there are no methods. NULL, with a message in
 * the log, if the daemon sends no readings.
 */
struct watch *watch_new(const struct watch_options *options);
void watch_free(struct watch *w);

/* Why there are no methods; NULL if there are. */
const char *watch_no_methods(const struct watch *w);

/* As those of a node (capture/node.h). watch_tick_ms is -1 if there is nothing to do. */
void watch_tick(struct watch *w);
int watch_tick_ms(const struct watch *w);
int watch_fd(struct watch *w);
void watch_woken(struct watch *w);

/*
 * Reads the node and its JVMs; the texts of the rows are valid until the next reading. Negative
 * errno; watch_why has a sentence. -EAGAIN: the daemon has no reading at the moment.
 */
const char *watch_why(const struct watch *w);
int watch_read(struct watch *w, struct board *out);

/* Whether samples from before the last reading do not count yet; they get names in watch_tick. */
bool watch_is_behind(const struct watch *w);

/* The hottest methods of a process in the last HOT_WINDOW_NS. */
void watch_methods(const struct watch *w, pid_t pid, struct hot_list *out);

/*
 * Starts a recording of CPU time of a process; -EBUSY while another one runs, -ENOTSUP
 * without methods and with a daemon.
 */
int watch_record(struct watch *w, pid_t pid, u64 duration_ns);

/* The process that is being recorded; 0: none. *elapsed_ns gets the time since the begin. */
pid_t watch_recorded(const struct watch *w, u64 *elapsed_ns);

/* The recording, once it is complete; NULL otherwise. The caller frees it. */
struct cut *watch_take(struct watch *w);
