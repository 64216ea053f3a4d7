/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks that were named before. For each process there is a tree of raw frames from the root on;
 * each node has the named frames of its raw frame. Threads repeat their stacks: most samples take
 * one lookup for each raw frame, and no name is read, printed or interned.
 *
 * A tree ends when something changes that its names depend on: the process's mappings, its program,
 * its JVM, the kernel's symbols. A name that may change without any of these changes is kept for a
 * short time only, and then made again. Private to sym/symbolize.c.
 */
#pragma once

#include "base/dict.h"
#include "proc/process.h"
#include "sym/symbolize.h"

/* bytes of all trees; beyond this limit the largest tree is dropped */
#define KNOWN_STACKS_BYTES (16u << 20)
#define KNOWN_STACKS_SHARE (4u << 20) /* bytes of a process's tree; a larger tree is dropped */
#define KNOWN_LASTS_NS     NS_PER_SEC /* a moment */

/* How long a name holds. */
enum known_for {
	KNOWN_FOR_NOW,      /* it is not kept */
	KNOWN_FOR_A_MOMENT, /* for a short time, and only while no class is unloaded */
	KNOWN_FOR_EVER,     /* as long as the tree */
};

/* Facts about the named frames of a raw frame. */
struct known_name {
	u32 nr_without_line; /* frames that symbolizer_nr_without_line counts */
	bool is_inexact;     /* see symbolizer_leaf_is_inexact */
	enum known_for lasts;
};

/* The sums over all raw frames of a stack. */
struct known_stacks_sum {
	u64 nr_without_line;
	bool is_inexact;
};

struct known_stacks {
	struct dict trees; /* process_id_hash -> struct known_tree * */
	struct known_tree *last;
	size_t bytes;
};

/*
 * The tree of a process; empty if anything has changed that its names depend on. `version`: of the
 * kernel's symbols. Valid until the next call of a known_stacks_ function.
 */
struct known_tree *known_stacks_tree(struct known_stacks *all, const struct process *p,
				     u64 version);

/* Appends the frames of a raw frame, leaf first. */
typedef void (*known_name_fn)(void *ctx, const struct raw_frame *raw, frame_list *out,
			      struct known_name *name);

/*
 * Appends the frames of a stack, leaf first. `name` is called for raw frames that are not known,
 * with this *out, and for those whose name held for a moment only, with a list of its own.
 */
void known_stacks_name(struct known_stacks *all, struct known_tree *t,
		       const struct raw_stack *stack, u64 now_ns, known_name_fn name, void *ctx,
		       frame_list *out, struct known_stacks_sum *sum);

/* The number of raw frames of this stack whose names hold, from the root on. */
size_t known_stacks_nr_known(const struct known_tree *t, const struct raw_stack *stack, u64 now_ns);

void known_stacks_forget(struct known_stacks *all, struct process_id id);
size_t known_stacks_nr(const struct known_stacks *all);
void known_stacks_fini(struct known_stacks *all);
