/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of mapped files, each stored once. */
#include "proc/path.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dict.h"

struct stored {
	struct stored *next; /* another path with the same hash */
	u64 hash;
	u32 nr_users, len;
	char text[];
};

/* A cache for the whole program: the paths in use, by hash. Empty when the last one is freed. */
static struct dict stored_paths;

static const char no_path[1]; /* of anonymous memory; never stored */

static struct stored *stored_of(const char *path)
{
	return (void *)(path - offsetof(struct stored, text));
}

const char *path_share(const char *path)
{
	if (*path)
		stored_of(path)->nr_users++;
	return path;
}

const char *path_new(const char *text, size_t len)
{
	if (!len)
		return no_path;

	u64 hash = hash_keyed(text, len), *first = dict_add(&stored_paths, hash);
	for (struct stored *s = (void *)*first; s; s = s->next)
		if (s->len == len && !memcmp(s->text, text, len))
			return path_share(s->text);

	struct stored *new = xmalloc(sizeof(*new) + len + 1);
	*new = (struct stored){ (void *)*first, hash, 1, (u32)len };
	memcpy(new->text, text, len);
	new->text[len] = '\0';
	*first = (u64) new;
	return new->text;
}

static void forget(const struct stored *s)
{
	u64 *first = dict_find(&stored_paths, s->hash);

	if ((void *)*first == s) {
		*first = (u64)s->next;
	} else {
		struct stored *before = (void *)*first;
		while (before->next != s)
			before = before->next;
		before->next = s->next;
	}
	if (!*first)
		dict_remove(&stored_paths, s->hash);
	if (!stored_paths.nr)
		dict_fini(&stored_paths);
}

void path_free(const char *path)
{
	if (!path || !*path)
		return;

	struct stored *s = stored_of(path);
	if (--s->nr_users)
		return;
	forget(s);
	free(s);
}

size_t path_bytes(const char *path)
{
	return *path ? sizeof(struct stored) + stored_of(path)->len + 1 : 0;
}
