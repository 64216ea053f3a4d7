/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs for the workers of the web process. A few wait at a time; more are refused. Jobs with the
 * same key are done once, and results that never change are kept for later. Jobs ask for files of
 * the store (web/jobs/jobs.h).
 */
#pragma once

#include "sandbox/worker.h"
#include "store/store.h"
#include "web/jobs/jobs.h"
#include "web/jobs/payload.h"

struct queue;

/*
 * Gets the result once: payload_get keeps it longer. `err`: 0, or a negative errno. -EBADMSG: the
 * result is a sentence that says why there is none. -ETIMEDOUT: it took too long. -EPIPE: the
 * worker ended. -ECANCELED: the daemon ends. `result` is NULL unless `err` is 0 or -EBADMSG.
 */
typedef void (*job_done_fn)(void *ctx, int err, struct payload *result);

struct job_order {
	enum web_task task;
	struct web_params params;
	size_t max;          /* bytes of the result; 0: WORKER_RESULT_MAX. More is -EFBIG */
	int fds[2];          /* taken over; the second may be -1 */
	worker_open_fn open; /* serves worker_open; may be NULL */
	void *open_ctx;      /* freed with free() */
	const char *key;     /* names the result; NULL: nobody else can want it */
	bool is_immutable;   /* the result for the key never changes */
	/* it is never refused, and may wait behind any number of jobs, for any time */
	bool is_needed;
	job_done_fn done; /* may be called before queue_add returns */
	void *ctx;
};

/* Jobs are done in this process if `workers` is NULL. */
struct queue *queue_new(struct workers *workers);

/* Calls `done` of every job with -ECANCELED, and refuses further ones. */
void queue_cancel(struct queue *q);
void queue_free(struct queue *q);

/* -EBUSY: too many wait; `done` is not called then. The descriptors are taken over in any case. */
int queue_add(struct queue *q, const struct job_order *order);

/* As queue_add, for a result that may exist already: true if `done` was called or will be. */
bool queue_join(struct queue *q, const char *key, job_done_fn done, void *ctx);

/* Takes results and calls `done`. Does not wait. */
void queue_poll(struct queue *q);

/* The number of jobs that are not done. While it is above 0, call queue_poll every few ms. */
size_t queue_nr(const struct queue *q);

/* The files of the store that a job asks for. */
enum input_kind {
	INPUT_PARTS,  /* of the recording `id`, oldest first */
	INPUT_FILE,   /* 0 is the profile `id` */
	INPUT_SLICES, /* files with slices of [from, to), oldest first, each once */
};

struct input {
	struct store *store;
	enum input_kind kind;
	u64 id, from_ns, to_ns; /* SLICES: `from_ns` moves from file to file */
	u32 first, nr;          /* PARTS: only [first, first + nr); nr 0: all from `first` on */
};

/* A copy for job_order.open_ctx. */
void *input_new(const struct input *in);

/* A worker_open_fn; `ctx` is a struct input. */
int input_open(void *ctx, u32 place, const char *path);

/* The part or profile with a number, counted from `first`; -ENOENT after the last. */
int input_file(const struct input *in, u32 number);
