/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The classes for which hooks pass numbers. A JVM that makes hidden classes all the time reports
 * new numbers without end: those that are not used are dropped. Part of jvm/agent/codemap.h.
 */
#include <string.h>

#include "jvm/agent/codemap_state.h"

#define YOUNG_SHARE 16 /* of the limit: with more classes, those not used meanwhile are dropped */

static size_t bytes_of(const struct classes *c)
{
	return dict_bytes(&c->names) + c->text_bytes;
}

static void add(struct classes *c, u64 number, const char *name)
{
	u64 *place = dict_add(&c->names, number);

	if (!*place)
		c->text_bytes += strlen(name) + 1;
	*place = (u64)(uintptr_t)name;
}

/* Drops the classes that were neither reported nor looked up since the last time. */
static void age(struct codemap *map)
{
	dict_fini(&map->old_classes.names);
	map->old_classes = map->classes;
	map->classes = (struct classes){ 0 };
	codemap_sweep_texts(map);
}

void codemap_class(struct codemap *map, u64 number, struct code_text signature)
{
	if (bytes_of(&map->classes) > map->max_bytes / YOUNG_SHARE)
		age(map);
	if (codemap_bytes(map) > map->max_bytes)
		map->nr_left_out++;
	else
		add(&map->classes, number,
		    java_names_intern_type(map->pool, signature.at, signature.len));
}

const char *codemap_find_class(struct codemap *map, u64 number)
{
	const u64 *name = dict_find(&map->classes.names, number);

	if (name)
		return (const char *)(uintptr_t)*name;
	name = dict_find(&map->old_classes.names, number);
	if (!name)
		return NULL;
	add(&map->classes, number, (const char *)(uintptr_t)*name);
	return (const char *)(uintptr_t)*name;
}
