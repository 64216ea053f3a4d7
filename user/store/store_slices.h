/* SPDX-License-Identifier: Apache-2.0 */
/* Slices of continuous profiling on disk. Part of store/store.h. */
#pragma once

#include "base/types.h"
#include "base/vec.h"

struct store;

struct store_use {
	const char *service;
	u64 cpu_ns;
};

/*
 * Appends a record of docs/slices-format.md to the file of its hour. `uses` says which service used
 * how much CPU time in it. -EINVAL if it is not one undamaged record of that time. After any error
 * the records that follow in the same book cannot be read: ask for a new book then.
 */
int store_add_slice(struct store *s, const void *bytes, size_t nr, u64 begin_ns, u64 end_ns,
		    const struct store_use *uses, size_t nr_uses);

/* An hour whose slices are to be merged to longer ones. */
struct store_thinning {
	u64 hour, step_ns;
	u64 inode, size_bytes; /* of its file when it was opened */
};

/* Whether an hour is due at that time; the oldest one first. */
bool store_thinning_due(struct store *s, u64 now_ns, struct store_thinning *out);

/* A descriptor of its file. */
int store_thinning_open(struct store *s, struct store_thinning *t);

/*
 * Replaces the file at once: a kill leaves either. `bytes` NULL leaves it as it is, for good.
 * -ESTALE if a slice was added meanwhile; nothing changes then.
 */
int store_thinning_end(struct store *s, const struct store_thinning *t, const void *bytes,
		       size_t nr);

/* The longest step of the slices of [from, to); 0: none was thinned. */
u64 store_slices_step(struct store *s, u64 from_ns, u64 to_ns);

/* Descriptors of the files that have slices of [from, to), oldest first; -ENOENT after the last. */
int store_open_slices(struct store *s, u64 from_ns, u64 to_ns, u32 n);

/* CPU time of a service by time. */
struct store_series {
	char *service;
	VEC(u64) cpu_ns; /* by step */
	u64 total_ns;
};
struct store_strip {
	u64 from_ns, step_ns, nr_steps;  /* whole seconds a step */
	VEC(struct store_series) series; /* the largest first */
};

/* *out: the use of every service in [from, to), in steps that make at most `max_steps`. */
int store_strip(struct store *s, u64 from_ns, u64 to_ns, u32 max_steps, struct store_strip *out);
void store_strip_fini(struct store_strip *strip);
