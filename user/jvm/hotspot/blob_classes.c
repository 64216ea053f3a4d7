/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts that only a walk of the code heaps shows: the pointer of each blob name, and in
 * continuation.c the code for virtual threads. Part of jvm/hotspot/hotspot_private.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "jvm/hotspot/hotspot_private.h"
#include "jvm/memory/compiled.h"

#define NAME_MAX_LEN   128
#define PAGE_SIZE      4096
#define NAME_PAGES     16
#define BLOB_NAMES_MAX 1024 /* JDK 8..28 have at most 110; a limit for hostile heaps */
#define WALK_FIRST_NS  (20 * NS_PER_MS)
#define WALK_LAST_NS   (8 * NS_PER_SEC)
#define SETTLED_NS     (30 * NS_PER_SEC) /* the same if nothing is missing */
/*
 * A walk is interrupted after this much work and continues when the next one is due; its pauses
 * grow to WALK_CUT_NS.
 */
#define WALK_LIMIT_NS (100 * NS_PER_MS)
#define WALK_CUT_NS   (10 * NS_PER_SEC)

static const struct blob_name unknown = { 0, "?", HOTSPOT_CLASS_UNKNOWN };

static enum hotspot_class class_of_name(const char *name)
{
	static const struct {
		const char *name;
		enum hotspot_class class;
	} names[] = {
		{ "nmethod", HOTSPOT_CLASS_NMETHOD },
		{ "native nmethod", HOTSPOT_CLASS_NATIVE },
		{ "vtable chunks", HOTSPOT_CLASS_BARE },
		{ "I2C/C2I adapters", HOTSPOT_CLASS_BARE },
		{ "adapters", HOTSPOT_CLASS_BARE },
		{ "MethodHandles adapters", HOTSPOT_CLASS_BARE },
		{ "native signature handlers", HOTSPOT_CLASS_BARE },
		{ "Interpreter", HOTSPOT_CLASS_INTERPRETER },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i].name, name))
			return names[i].class;
	return HOTSPOT_CLASS_STUB;
}

static void remember_pointer(struct hotspot *h, const char *name, u64 pointer)
{
	const struct {
		const char *name;
		u64 *pointer;
	} wanted[] = {
		{ "nmethod", &h->name_nmethod },
		{ "native nmethod", &h->name_native },
		{ "vtable chunks", &h->name_vtable },
		{ "I2C/C2I adapters", &h->name_adapter },
		{ "MethodHandles adapters", &h->name_mh_adapter },
		{ "native signature handlers", &h->name_signature },
	};

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (!strcmp(wanted[i].name, name))
			*wanted[i].pointer = pointer;
}

/*
 * Pages that a walk has read. Most names are constants of libjvm, and a page holds many of them:
 * the 104 names of a JDK 17 take 22 reads.
 */
struct name_pages {
	struct name_page {
		u64 addr; /* 0: empty */
		char text[PAGE_SIZE];
	} at[NAME_PAGES];
	u32 next;
};

/* The page at `addr`, or NULL if it cannot be read as a whole. */
static const struct name_page *find_page(struct hotspot *h, struct name_pages *pages, u64 addr)
{
	for (u32 i = 0; i < NAME_PAGES; i++)
		if (pages->at[i].addr == addr)
			return &pages->at[i];
	struct name_page *p = &pages->at[pages->next++ % NAME_PAGES];
	p->addr = addr && !mem_read(h->jvm.mem, addr, p->text, PAGE_SIZE) ? addr : 0;
	return p->addr ? p : NULL;
}

/* Copies a name from its page; false if it is not within one page that can be read. */
static bool copy_name(struct hotspot *h, u64 addr, char text[NAME_MAX_LEN])
{
	const u64 off = addr % PAGE_SIZE;
	size_t room = PAGE_SIZE - off < NAME_MAX_LEN ? PAGE_SIZE - off : NAME_MAX_LEN;
	const struct name_page *p = h->name_pages ? find_page(h, h->name_pages, addr - off) : NULL;

	if (!p || !memchr(p->text + off, '\0', room))
		return false;
	strcpy(text, p->text + off);
	return true;
}

const struct blob_name *hotspot_blob_name(struct hotspot *h, const struct blob *b)
{
	char text[NAME_MAX_LEN];

	vec_each(n, &h->blob_names)
		if (n->pointer == b->name)
			return n;
	if (h->blob_names.nr >= BLOB_NAMES_MAX ||
	    (!copy_name(h, b->name, text) &&
	     mem_read_string(h->jvm.mem, b->name, text, sizeof(text)) != 0))
		return &unknown;

	const char *clean = java_names_intern(h->names, text, strlen(text));
	vec_push(&h->blob_names,
		 (struct blob_name){ b->name, xstrdup(clean), class_of_name(text) });
	remember_pointer(h, text, b->name);
	return &h->blob_names.at[h->blob_names.nr - 1];
}

bool hotspot_is_nmethod(struct hotspot *h, const struct blob *b)
{
	enum hotspot_class class = hotspot_blob_name(h, b)->class;

	return class == HOTSPOT_CLASS_NMETHOD || class == HOTSPOT_CLASS_NATIVE;
}

static int learn_blob(void *ctx, const struct blob *b)
{
	struct hotspot *h = ctx;
	const struct blob_name *name = hotspot_blob_name(h, b);

	hotspot_learn_continuation_blob(h, b, name);
	return 0;
}

static bool knows_all(const struct hotspot *h)
{
	return h->name_nmethod && h->name_native && h->name_vtable && h->name_adapter &&
	       h->name_signature && hotspot_knows_continuations(h);
}

static bool is_settled(const struct hotspot *h)
{
	return knows_all(h) && h->jvm.unloads && h->interpreter_end &&
	       (!h->cont_stubs_start || h->tls_module);
}

bool hotspot_is_walk_due(const struct hotspot *h)
{
	return time_mono_ns() >= h->next_walk_ns;
}

int hotspot_learn(struct hotspot *h)
{
	int err = 0;

	h->walk.deadline_ns = time_worked_ns() + WALK_LIMIT_NS;
	if (!knows_all(h)) {
		h->name_pages = xcalloc(1, sizeof(*h->name_pages));
		err = code_heaps_walk(&h->jvm, &h->heaps, &h->walk, learn_blob, h);
		free(take(h->name_pages));
	}
	h->walk_is_cut = err == -ETIMEDOUT;
	hotspot_learn_continuations(h);

	u64 last_ns = h->walk_is_cut ? WALK_CUT_NS : is_settled(h) ? SETTLED_NS : WALK_LAST_NS;
	h->walk_interval_ns = h->walk_interval_ns ? h->walk_interval_ns * 2 : WALK_FIRST_NS;
	if (h->walk_interval_ns > last_ns)
		h->walk_interval_ns = last_ns;
	h->next_walk_ns = time_mono_ns() + h->walk_interval_ns;
	return err == -ESRCH ? err : 0;
}
