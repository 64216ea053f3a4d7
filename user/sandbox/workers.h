/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder's side of workers: work on files that others made, done elsewhere, with a deadline.
 *
 * A worker serves one user at a time and is replaced before it serves another. A file that takes
 * over its worker can therefore not reach files of another user. Users are served fairly: next is
 * the one whose files took least time so far. Work beyond a user's share of a CPU waits.
 */
#pragma once

#include "base/types.h"
#include "sandbox/worker.h"

struct workers;
struct work;

/*
 * Starts the process that forks the workers. Call it before anything private is read or opened.
 * `kind` must stay valid.
 */
int workers_new(const struct worker_kind *kind, struct workers **out);

/*
 * workers_new in two steps. Between them the process that forks workers drops its rights, before it
 * forks a worker. If workers_await fails, only workers_free may follow.
 */
int workers_begin(const struct worker_kind *kind, struct workers **out);
int workers_await(struct workers *w);
void workers_free(struct workers *w);

struct work_order {
	u32 task;   /* its number in worker_kind.tasks */
	uid_t user; /* who made the file, and pays for the work */
	int fds[2]; /* taken over; the second may be -1 */
	const void *params;
	size_t len;          /* at most WORKER_TEXT_MAX */
	size_t max;          /* limit of the result in bytes */
	worker_open_fn open; /* serves worker_open; may be NULL */
	void *ctx;           /* of `open`; freed with free() in the end */
	worker_fn run;       /* does the task in this process if `w` is NULL */
};

/* Hands the work to a worker. With `w` NULL it is done before this returns. */
struct work *work_start(struct workers *w, const struct work_order *order);

/*
 * Waits for the result, no longer than the patience that is left. 0: *bytes, which the caller
 * frees, has the result; anybody may have made it, so check it. -EAGAIN: ask again later.
 * -ETIMEDOUT: it took too long and was killed. -EPIPE: the worker ended, or none can be started.
 * Otherwise the task's own error.
 */
int work_result(struct work *k, void **bytes, size_t *nr);

/* Forgets the work; kills its worker if that is busy with it. Accepts NULL. */
void work_free(struct work *k);

/* How long all calls of work_result together may wait until this is called again. */
void workers_set_patience(struct workers *w, u64 ns);

/*
 * For a process with little memory: one worker works at a time, and none starts while results that
 * nobody has asked for have more than `held_bytes` (at least 1). `w` may be NULL.
 */
void workers_save_memory(struct workers *w, size_t held_bytes);

/*
 * Forgives users the CPU time that their share has paid for since the last call, and forgets those
 * who owe nothing. Call it now and then. `w` may be NULL.
 */
void workers_turn(struct workers *w);

/*
 * Descriptors that are readable once a worker has sent something: time for workers_poll. Returns
 * their number.
 */
#define WORKERS_FDS 3
size_t workers_fds(const struct workers *w, int fds[WORKERS_FDS]);

/* Takes results, starts waiting work, ends work that has passed its deadline. Does not wait. */
void workers_poll(struct workers *w);

/*
 * No worker can be started, because the process that forks them has ended or did not answer. Work
 * fails with -EPIPE then. False for NULL.
 */
bool workers_are_broken(const struct workers *w);

struct workers_usage {
	u64 nr_done, nr_late, nr_failed; /* finished; killed at the deadline; the worker ended */
	u64 worked_ns;                   /* CPU time */
	size_t nr_waiting;
	uid_t late_user; /* of the last work that was killed or whose worker ended */
};

struct workers_usage workers_usage(const struct workers *w);
