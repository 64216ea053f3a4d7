/* SPDX-License-Identifier: Apache-2.0 */
/* The events in Java code that an agent reports besides names. */
#include "jvm/attach/agent_hooks.h"

#include <string.h>

u32 agent_hooks_mask(const struct agent_hooks *h)
{
	return (h->alloc_interval ? (u32)AGENT_HOOK_ALLOC : 0) |
	       (h->lock_min_ns ? (u32)AGENT_HOOK_LOCK : 0) |
	       (*h->methods ? (u32)AGENT_HOOK_METHOD : 0);
}

static u64 finest(u64 a, u64 b)
{
	return !a || (b && b < a) ? b : a;
}

static bool has_method(const char *list, const char *name, size_t len)
{
	while (*list) {
		size_t listed = strcspn(list, ",");
		if (listed == len && !memcmp(list, name, len))
			return true;
		list += listed + (list[listed] == ',');
	}
	return false;
}

static size_t nr_methods(const char *list)
{
	size_t nr = *list != 0;

	for (; *list; list++)
		nr += *list == ',';
	return nr;
}

/* Returns whether it fits. */
static bool add_method(char list[WIRE_METHODS_MAX], const char *name, size_t len)
{
	size_t used = strlen(list), comma = used != 0;

	if (has_method(list, name, len))
		return true;
	if (nr_methods(list) == WIRE_METHODS || used + comma + len >= WIRE_METHODS_MAX)
		return false;
	if (comma)
		list[used] = ',';
	memcpy(list + used + comma, name, len);
	list[used + comma + len] = '\0';
	return true;
}

u32 agent_hooks_merge(struct agent_hooks *h, const struct agent_hooks *other)
{
	const char *name = other->methods;
	bool fits = true;

	h->alloc_interval = finest(h->alloc_interval, other->alloc_interval);
	h->lock_min_ns = finest(h->lock_min_ns, other->lock_min_ns);
	h->refs |= other->refs;
	h->collect |= other->collect;
	while (*name) {
		size_t len = strcspn(name, ",");
		fits &= add_method(h->methods, name, len);
		name += len + (name[len] == ',');
	}
	return fits ? 0 : AGENT_HOOK_METHOD;
}

bool agent_hooks_same(const struct agent_hooks *a, const struct agent_hooks *b)
{
	return a->alloc_interval == b->alloc_interval && a->refs == b->refs &&
	       a->lock_min_ns == b->lock_min_ns && !strcmp(a->methods, b->methods);
}
