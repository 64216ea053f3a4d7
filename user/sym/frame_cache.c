/* SPDX-License-Identifier: Apache-2.0 */
/* The frames of code in files, by process and pc. */
#include "sym/frame_cache.h"

#include <stdlib.h>

#include "base/alloc.h"

/*
 * pcs that are used between two turns. A pc takes up to 64 bytes while it is in the table of this
 * turn, and as much in that of the turn before.
 */
#define FRAMES_MAX (FRAME_CACHE_BYTES / 128)

struct cached_process {
	struct process_id id;
	u64 mappings_version;
	struct aged frames; /* pc -> frame */
};

static struct cached_process *find(struct frame_cache *c, struct process_id id)
{
	if (c->last && process_id_same(c->last->id, id))
		return c->last;

	u64 *slot = dict_add(&c->processes, process_id_hash(id));
	if (!*slot) {
		struct cached_process *new = xcalloc(1, sizeof(*new));
		new->id = id;
		*slot = (u64) new;
	}
	return c->last = (void *)*slot;
}

u64 *frame_cache_place(struct frame_cache *c, const struct process *p, u64 pc)
{
	if (c->nr_used >= FRAMES_MAX)
		frame_cache_turn(c);

	struct cached_process *known = find(c, p->id);
	size_t nr = known->frames.young.nr;

	if (known->mappings_version != p->mappings_version)
		aged_fini(&known->frames);
	known->mappings_version = p->mappings_version;
	u64 *place = aged_add(&known->frames, pc);
	c->nr_used += known->frames.young.nr > nr;
	return place;
}

static void cached_process_free(struct cached_process *known)
{
	aged_fini(&known->frames);
	free(known);
}

void frame_cache_turn(struct frame_cache *c)
{
	struct dict kept = { 0 };

	c->nr_used = 0;
	c->last = NULL;
	dict_each(slot, &c->processes) {
		struct cached_process *known = (void *)slot->value;
		aged_turn(&known->frames);
		if (aged_nr(&known->frames))
			*dict_add(&kept, slot->key) = slot->value;
		else
			cached_process_free(known);
	}
	dict_fini(&c->processes);
	c->processes = kept;
}

void frame_cache_each(const struct frame_cache *c, aged_fn visit, void *ctx)
{
	dict_each(slot, &c->processes)
		aged_each(&((const struct cached_process *)slot->value)->frames, visit, ctx);
}

size_t frame_cache_nr(const struct frame_cache *c)
{
	size_t nr = 0;

	dict_each(slot, &c->processes)
		nr += aged_nr(&((const struct cached_process *)slot->value)->frames);
	return nr;
}

size_t frame_cache_bytes(const struct frame_cache *c)
{
	size_t bytes = dict_bytes(&c->processes);

	dict_each(slot, &c->processes) {
		const struct cached_process *known = (void *)slot->value;
		bytes += sizeof(*known) + aged_bytes(&known->frames);
	}
	return bytes;
}

void frame_cache_forget(struct frame_cache *c, struct process_id id)
{
	u64 key = process_id_hash(id);
	const u64 *slot = dict_find(&c->processes, key);

	if (!slot)
		return;
	cached_process_free((void *)*slot);
	dict_remove(&c->processes, key);
	c->last = NULL;
}

void frame_cache_fini(struct frame_cache *c)
{
	dict_each(slot, &c->processes)
		cached_process_free((void *)slot->value);
	dict_fini(&c->processes);
	c->last = NULL;
}
