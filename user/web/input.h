/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the store that a job asks for (web/jobs.h). */
#pragma once

#include "store/store.h"
#include "worker/worker.h"

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
