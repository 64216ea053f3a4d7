/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of mappings that several processes share: a child has its parent's list until one of them
 * changes it. The memory of all lists is limited, in total and to a quarter of that for each user.
 */
#pragma once

#include "base/dict.h"
#include "proc/mapping.h"

#define MAPPING_BLOCKS_BYTES (64u << 20)
#define MAPPING_USER_BYTES   (MAPPING_BLOCKS_BYTES / 4)

/* The memory in use. {0} is valid. */
struct mapping_budget {
	size_t bytes;
	struct dict by_user; /* uid -> bytes */
};

struct mapping_block {
	struct mappings all;
	u32 nr_processes;
	uid_t uid;    /* whose share it takes */
	size_t bytes; /* taken from the budget */
};

void mapping_budget_fini(struct mapping_budget *b);

/* How many bytes the user may still take. */
size_t mapping_budget_room(const struct mapping_budget *b, uid_t uid);

/* Takes over the list. NULL if there is no room; the list is then freed. */
struct mapping_block *mapping_block_new(struct mapping_budget *b, uid_t uid, struct mappings *all);

/* The same list for one more process. NULL stays NULL. */
struct mapping_block *mapping_block_share(struct mapping_block *block);

/* Gives up one process's part. Ignores NULL. */
void mapping_block_drop(struct mapping_budget *b, struct mapping_block *block);

/*
 * Adds a mapping for one process, whose list is *block, NULL if empty. If others share the list,
 * *block becomes a copy that takes the share of `uid`. Returns false if there is no room.
 */
bool mapping_block_insert(struct mapping_budget *b, struct mapping_block **block, uid_t uid,
			  const struct mapping *m);

/* Moves a list that no other process has to the share of `uid`. Ignores NULL. */
void mapping_block_move(struct mapping_budget *b, struct mapping_block *block, uid_t uid);
