/* SPDX-License-Identifier: Apache-2.0 */
/* A dict whose entries age. */
#include "base/aged.h"

u64 *aged_find(struct aged *a, u64 key)
{
	u64 *value = dict_find(&a->young, key);
	const u64 *old = value ? NULL : dict_find(&a->old, key);

	if (!old)
		return value;
	value = dict_add(&a->young, key);
	*value = *old;
	dict_remove(&a->old, key);
	return value;
}

u64 *aged_add(struct aged *a, u64 key)
{
	return aged_find(a, key) ?: dict_add(&a->young, key);
}

void aged_turn(struct aged *a)
{
	dict_fini(&a->old);
	a->old = a->young;
	a->young = (struct dict){ 0 };
}

void aged_fini(struct aged *a)
{
	dict_fini(&a->young);
	dict_fini(&a->old);
}

size_t aged_nr(const struct aged *a)
{
	return a->young.nr + a->old.nr;
}

size_t aged_bytes(const struct aged *a)
{
	return dict_bytes(&a->young) + dict_bytes(&a->old);
}

void aged_each(const struct aged *a, aged_fn visit, void *ctx)
{
	dict_each(slot, &a->young)
		visit(slot->value, ctx);
	dict_each(slot, &a->old)
		visit(slot->value, ctx);
}
