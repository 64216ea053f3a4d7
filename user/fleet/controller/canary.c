/* SPDX-License-Identifier: Apache-2.0 */
/* What recordings of the last day have shown to be harmless. */
#include "fleet/controller/canary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/file.h"

#define ENTRIES_MAX 1000
#define FILE_MAX    (1u << 20)
#define KINDS_MAX   64
#define HZ          99 /* a rate of 0 */

static void entry_fini(struct canary_entry *e)
{
	free(e->node);
	free(e->version);
	free(e->kernel);
	free(e->events);
}

void canary_fini(struct canary *c)
{
	vec_each(e, &c->all)
		entry_fini(e);
	vec_fini(&c->all);
	free(c->path);
}

static bool is_of(const struct canary_entry *e, const char *node, const char *version,
		  const char *kernel)
{
	return !strcmp(e->node, node) && !strcmp(e->version, version) && !strcmp(e->kernel, kernel);
}

static bool records_same(const struct canary_entry *e, const char *events, u32 hz)
{
	return e->hz == (hz ?: HZ) && !strcmp(e->events, events);
}

/* The oldest entry goes if there are too many. */
static void put(struct canary *c, struct canary_entry entry)
{
	vec_each(e, &c->all)
		if (records_same(e, entry.events, entry.hz) &&
		    is_of(e, entry.node, entry.version, entry.kernel)) {
			entry_fini(e);
			*e = entry;
			return;
		}
	if (c->all.nr == ENTRIES_MAX) {
		entry_fini(&c->all.at[0]);
		memmove(&c->all.at[0], &c->all.at[1], --c->all.nr * sizeof(entry));
	}
	vec_push(&c->all, entry);
}

/* "TIME HZ NODE VERSION KERNEL EVENTS", separated by tabs, which names cannot have. */
static void read_line(struct canary *c, char *line)
{
	char *words[6] = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = strsep(&line, "\t");
	if (!words[5] || line)
		return;
	put(c, (struct canary_entry){ .at_ms = strtoull(words[0], NULL, 10),
				      .hz = (u32)strtoul(words[1], NULL, 10),
				      .node = xstrdup(words[2]),
				      .version = xstrdup(words[3]),
				      .kernel = xstrdup(words[4]),
				      .events = xstrdup(words[5]) });
}

void canary_open(struct canary *c, const char *dir)
{
	auto_free char *text = NULL;
	size_t len;

	*c = (struct canary){ .path = xasprintf("%s/" CANARY_FILE, dir) };
	if (file_read(c->path, FILE_MAX, &text, &len))
		return;
	char *rest = text, *line;
	while ((line = strsep(&rest, "\n")))
		read_line(c, line);
}

static bool knows_node(const struct canary *c, const char *events, u32 hz, u64 now_ms,
		       const struct gather_node *n)
{
	vec_each(e, &c->all) {
		bool is_fresh = now_ms >= e->at_ms && now_ms - e->at_ms < CANARY_MS;
		bool fits = is_of(e, "", n->version, n->kernel) ||
			    is_of(e, n->name, n->version, n->kernel);
		if (is_fresh && fits && records_same(e, events, hz))
			return true;
	}
	return false;
}

bool canary_knows(const struct canary *c, const char *events, u32 hz, u64 now_ms,
		  const struct gather *census)
{
	if (!c)
		return false;
	vec_each(n, &census->nodes)
		if ((*n)->verdict == VERDICT_ACCEPT && !knows_node(c, events, hz, now_ms, *n))
			return false;
	return true;
}

static int save(const struct canary *c)
{
	struct outfile *f;
	int err = outfile_open(c->path, false, &f);

	if (err)
		return err;
	vec_each(e, &c->all)
		fprintf(f->f, "%" PRIu64 "\t%u\t%s\t%s\t%s\t%s\n", e->at_ms, e->hz, e->node,
			e->version, e->kernel, e->events);
	return outfile_commit(f, NULL);
}

static void forget(struct canary *c, const char *events)
{
	size_t kept = 0;

	vec_each(e, &c->all)
		if (strcmp(e->events, events) != 0)
			c->all.at[kept++] = *e;
		else
			entry_fini(e);
	c->all.nr = kept;
}

/* Nodes of the same versions. */
struct alike {
	const struct gather_node *first;
	u32 nr;
};

struct kinds {
	struct alike all[KINDS_MAX];
	u32 nr;
};

/* NULL: nodes of too many versions; more are not remembered. */
static struct alike *kind_of(struct kinds *k, const struct gather_node *n)
{
	for (u32 i = 0; i < k->nr; i++)
		if (!strcmp(k->all[i].first->version, n->version) &&
		    !strcmp(k->all[i].first->kernel, n->kernel))
			return &k->all[i];
	if (k->nr == KINDS_MAX)
		return NULL;
	k->all[k->nr] = (struct alike){ .first = n };
	return &k->all[k->nr++];
}

/*
 * A node may claim any version. Alone it teaches nothing about others: otherwise the first node to
 * claim a new version would spare the real ones their waves.
 */
static void learn_node(struct canary *c, const char *events, u32 hz, u64 now_ms,
		       const struct alike *kind, const struct gather_node *n)
{
	bool is_for_all = kind->nr >= CANARY_NODES;

	if (is_for_all && n != kind->first)
		return;
	put(c, (struct canary_entry){ .at_ms = now_ms,
				      .hz = hz ?: HZ,
				      .node = xstrdup(is_for_all ? "" : n->name),
				      .version = xstrdup(n->version),
				      .kernel = xstrdup(n->kernel),
				      .events = xstrdup(events) });
}

int canary_learn(struct canary *c, const char *events, u32 hz, u64 now_ms,
		 const struct gather *nodes)
{
	struct kinds kinds = { 0 };
	struct alike *kind;
	u32 died = 0;

	if (!c)
		return 0;
	vec_each(n, &nodes->nodes) {
		died += (*n)->nr_died;
		kind = (*n)->state == GATHER_DELIVERED ? kind_of(&kinds, *n) : NULL;
		if (kind)
			kind->nr++;
	}
	if (died)
		forget(c, events);
	vec_each(n, &nodes->nodes) {
		kind = (*n)->state == GATHER_DELIVERED && !died ? kind_of(&kinds, *n) : NULL;
		if (kind)
			learn_node(c, events, hz, now_ms, kind, *n);
	}
	return save(c);
}
