/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of mappings that several processes share. */
#include "proc/mapping_block.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "proc/path.h"

void mapping_budget_fini(struct mapping_budget *b)
{
	dict_fini(&b->by_user);
}

size_t mapping_budget_room(const struct mapping_budget *b, uid_t uid)
{
	const u64 *used = dict_find(&b->by_user, uid);
	size_t total = MAPPING_BLOCKS_BYTES - b->bytes;
	size_t share = MAPPING_USER_BYTES - (used ? *used : 0);

	return share < total ? share : total;
}

static bool take_room(struct mapping_budget *b, uid_t uid, size_t bytes)
{
	if (bytes > mapping_budget_room(b, uid))
		return false;
	b->bytes += bytes;
	*dict_add(&b->by_user, uid) += bytes;
	return true;
}

static void give_room(struct mapping_budget *b, uid_t uid, size_t bytes)
{
	u64 *used = dict_find(&b->by_user, uid);

	b->bytes -= bytes;
	*used -= bytes;
	if (!*used)
		dict_remove(&b->by_user, uid);
}

struct mapping_block *mapping_block_new(struct mapping_budget *b, uid_t uid, struct mappings *all)
{
	size_t bytes = sizeof(struct mapping_block) + mappings_bytes(all);

	if (!take_room(b, uid, bytes)) {
		mappings_fini(all);
		return NULL;
	}
	struct mapping_block *block = xcalloc(1, sizeof(*block));
	*block = (struct mapping_block){ *all, 1, uid, bytes };
	*all = (struct mappings){ 0 };
	return block;
}

struct mapping_block *mapping_block_share(struct mapping_block *block)
{
	if (block)
		block->nr_processes++;
	return block;
}

void mapping_block_drop(struct mapping_budget *b, struct mapping_block *block)
{
	if (!block || --block->nr_processes)
		return;
	give_room(b, block->uid, block->bytes);
	mappings_fini(&block->all);
	free(block);
}

/* Replaces *block by a copy. */
static bool copy(struct mapping_budget *b, struct mapping_block **block, uid_t uid)
{
	struct mappings all = { 0 };

	if (*block && (*block)->bytes > mapping_budget_room(b, uid))
		return false;
	if (*block)
		mappings_copy(&(*block)->all, &all);
	struct mapping_block *new = mapping_block_new(b, uid, &all);
	if (!new)
		return false;
	mapping_block_drop(b, *block);
	*block = new;
	return true;
}

/*
 * At most what an insertion needs: three more mappings, in an array of twice the size. The path of
 * the mapping behind it may count once more, because it splits that one or a run with its path.
 */
static size_t growth(const struct mapping_block *block, const struct mapping *m)
{
	const struct mappings *all = &block->all;
	const struct mapping *behind = mappings_next(all, m->end);
	size_t array = (all->nr + 3 > all->cap) ? (all->cap + 8) * sizeof(*m) : 0;

	return array + strlen(m->path) + 64 + (behind ? path_bytes(behind->path) : 0);
}

bool mapping_block_insert(struct mapping_budget *b, struct mapping_block **block, uid_t uid,
			  const struct mapping *m)
{
	if ((!*block || (*block)->nr_processes > 1) && !copy(b, block, uid))
		return false;

	struct mapping_block *own = *block;
	if (growth(own, m) > mapping_budget_room(b, own->uid))
		return false;
	s64 grown = mappings_insert(&own->all, m);
	own->bytes += (size_t)grown;
	if (grown >= 0)
		return take_room(b, own->uid, (size_t)grown);
	give_room(b, own->uid, (size_t)-grown);
	return true;
}

void mapping_block_move(struct mapping_budget *b, struct mapping_block *block, uid_t uid)
{
	if (!block || block->nr_processes > 1 || block->uid == uid ||
	    !take_room(b, uid, block->bytes))
		return;
	give_room(b, block->uid, block->bytes);
	block->uid = uid;
}
