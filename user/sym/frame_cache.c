/* SPDX-License-Identifier: Apache-2.0 */
/* The frames of code in files, by process and pc. */
#include "sym/frame_cache.h"

#include <stdlib.h>

#include "base/alloc.h"

#define FRAMES_MAX (256 * 1024) /* pcs of one process */

struct cached_process {
	struct process_id id;
	u64 mappings_version;
	struct dict frames; /* pc -> frame */
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
	struct cached_process *known = find(c, p->id);

	if (known->mappings_version != p->mappings_version || known->frames.nr > FRAMES_MAX)
		dict_fini(&known->frames);
	known->mappings_version = p->mappings_version;
	return dict_add(&known->frames, pc);
}

static void cached_process_free(struct cached_process *known)
{
	dict_fini(&known->frames);
	free(known);
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
