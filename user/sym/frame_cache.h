/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of code in files, by process and pc. The frames of a process are dropped when its
 * mappings change.
 */
#pragma once

#include "proc/process.h"

struct frame_cache {
	struct dict processes; /* process_id_hash -> struct cached_process * */
	struct cached_process *last;
};

/* The place of the pc's frame; a new place holds 0. Valid until the next call. */
u64 *frame_cache_place(struct frame_cache *c, const struct process *p, u64 pc);

/* Drops the frames of a process that has ended. */
void frame_cache_forget(struct frame_cache *c, struct process_id id);
void frame_cache_fini(struct frame_cache *c);
