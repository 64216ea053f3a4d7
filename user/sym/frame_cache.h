/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of code in files, by process and pc. The frames of a process are dropped when its
 * mappings change, and those of a pc that was not sampled for a while.
 */
#pragma once

#include "base/dict.h"
#include "proc/process.h"

#define FRAME_CACHE_BYTES (16u << 20) /* of all processes */

struct frame_cache {
	struct dict processes; /* process_id_hash -> struct cached_process * */
	struct cached_process *last;
	size_t nr_used; /* lookups of new pcs since the last turn */
};

/* The place of the pc's frame; a new place holds 0. Valid until the next call. */
u64 *frame_cache_place(struct frame_cache *c, const struct process *p, u64 pc);

/* Drops the pcs that were not asked for since the previous turn. It also turns when it is full. */
void frame_cache_turn(struct frame_cache *c);

/* Calls `visit` for the value of every place. */
void frame_cache_each(const struct frame_cache *c, aged_fn visit, void *ctx);

size_t frame_cache_nr(const struct frame_cache *c);
size_t frame_cache_bytes(const struct frame_cache *c);

/* Drops the frames of a process that has ended. */
void frame_cache_forget(struct frame_cache *c, struct process_id id);
void frame_cache_fini(struct frame_cache *c);
