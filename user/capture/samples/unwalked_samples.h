/* SPDX-License-Identifier: Apache-2.0 */
/* Samples with a kept stack that wait for the unwind rows of their process. */
#pragma once

#include "abi.h"
#include "base/time.h"
#include "base/vec.h"
#include "proc/status.h"

#define UNWALKED_BYTES_MAX (24u << 20)

/* {0} is empty. */
struct unwalked_samples {
	VEC(struct sample *) list; /* owned; in the order of arrival */
	size_t bytes;
};

/* Keeps a copy; false if there is no room. */
bool unwalked_samples_keep(struct unwalked_samples *u, const struct sample *sample);

/* Whether samples of the process wait. */
bool unwalked_samples_has(const struct unwalked_samples *u, struct process_id id);

/* The time of the oldest sample; TIME_NEVER if there is none. */
u64 unwalked_samples_oldest_ns(const struct unwalked_samples *u);

/*
 * Calls `take` with each sample, or with those of one process if `only` is not NULL. Forgets a
 * sample if `take` returns true.
 */
typedef bool (*unwalked_sample_fn)(const struct sample *sample, void *ctx);
void unwalked_samples_each(struct unwalked_samples *u, const struct process_id *only,
			   unwalked_sample_fn take, void *ctx);
void unwalked_samples_fini(struct unwalked_samples *u);
