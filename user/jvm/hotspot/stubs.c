/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The routines in HotSpot's blobs of many routines. libjvm lists the routines of its stub
 * generators as StubCodeDescs (code/stubCodeGenerator.hpp), with name, begin and end. It exports no
 * pointer to that list; it is found by a search of libjvm's variables. A vtable or itable stub is
 * recognised by the VtableStub before its code (code/vtableStubs.hpp). Part of
 * jvm/hotspot/hotspot_private.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "jvm/hotspot/hotspot_private.h"
#include "proc/mapping.h"

#define ROUTINES_MAX   4096 /* JDK 8..28 have 75 to 150 */
#define NAME_BYTES     128
#define DATA_MAX_BYTES (16u << 20) /* libjvm has 0.7 MB of variables */
#define PIECE_WORDS    8192
#define BATCH          256
#define LISTS_MAX      8 /* candidates that look like the first element of a list */
#define DESC_WORDS     6
#define PAUSE_FIRST_NS (100 * NS_PER_MS)
#define PAUSE_LAST_NS  (64 * NS_PER_SEC)
#define ADDRESS_END    (1ull << USER_ADDRESS_BITS)

/* In words: JDK 9 removed StubCodeDesc::_index before _begin. */
static const u32 begin_words[] = { 3, 4 };

enum {
	DESC_NEXT = 0,
	DESC_NAME = 2
};

void stub_routines_fini(struct stub_routines *s)
{
	vec_each(r, &s->all)
		free((char *)r->name);
	vec_fini(&s->all);
	dict_fini(&s->vtable_pcs);
	*s = (struct stub_routines){ 0 };
}

static bool is_name(const char *text)
{
	for (const char *c = text; *c; c++)
		if (*c < ' ' || *c > '~')
			return false;
	return *text;
}

/* Whether the words can be a StubCodeDesc with _begin at `begin_word`. */
static bool is_desc(const struct hotspot *h, const u64 words[DESC_WORDS], u32 begin_word)
{
	u64 begin = words[begin_word], end = words[begin_word + 1];

	return begin >= h->heaps.start && begin <= end && end <= h->heaps.end && words[DESC_NAME] &&
	       words[DESC_NEXT] % 8 == 0;
}

/* Reads the list that starts at `desc`. It must contain the call stub; no other structure does. */
static bool read_list(struct hotspot *h, u64 desc, u32 begin_word, stub_routine_list *out)
{
	u64 words[DESC_WORDS], call_stub = h->call_stub_return;
	bool has_call_stub = false;
	char name[NAME_BYTES];

	for (; desc && out->nr < ROUTINES_MAX; desc = words[DESC_NEXT]) {
		if (mem_read(h->jvm.mem, desc, words, sizeof(words)) ||
		    !is_desc(h, words, begin_word) ||
		    mem_read_string(h->jvm.mem, words[DESC_NAME], name, sizeof(name)) ||
		    !is_name(name))
			return false;
		struct stub_routine r = { words[begin_word], words[begin_word + 1], NULL };
		has_call_stub |=
			call_stub > r.start && call_stub < r.end && strstr(name, "call_stub");
		r.name = xstrdup(name);
		vec_push(out, r);
	}
	return !desc && has_call_stub;
}

static void take_list(struct stub_routines *s, stub_routine_list *list)
{
	stub_routine_list old = s->all;

	s->all = *list;
	vec_each(r, &old)
		free((char *)r->name);
	vec_fini(&old);
	*list = (stub_routine_list){ 0 };
}

static void drop_list(stub_routine_list *list)
{
	vec_each(r, list)
		free((char *)r->name);
	vec_fini(list);
}

/*
 * Words of libjvm's variables that may point to a StubCodeDesc, and the memory at those addresses.
 */
struct candidates {
	u64 variable[BATCH];
	u64 words[BATCH][DESC_WORDS];
	struct mem_request requests[BATCH];
	u32 nr;
	u32 nr_lists;           /* tried so far */
	struct mappings mapped; /* empty if they cannot be read: then every word is tried */
};

/* The longest list is the one that starts at the head. */
static void try_list(struct hotspot *h, u64 variable, u64 desc, u32 begin_word)
{
	stub_routine_list list = { 0 };

	if (read_list(h, desc, begin_word, &list) && list.nr > h->stubs.all.nr) {
		h->stubs.list = variable;
		h->stubs.begin_at = begin_word;
		take_list(&h->stubs, &list);
	}
	drop_list(&list);
}

static void try_candidates(struct hotspot *h, struct candidates *c)
{
	mem_read_batch(h->jvm.mem, c->requests, c->nr);
	for (u32 i = 0; i < c->nr; i++) {
		if (!c->requests[i].ok)
			continue;
		u64 name = c->words[i][DESC_NAME];
		for (size_t k = 0; k < ARRAY_SIZE(begin_words); k++)
			if (is_desc(h, c->words[i], begin_words[k]) && name >= h->jvm.image_start &&
			    name < h->jvm.image_end && c->nr_lists++ < LISTS_MAX)
				try_list(h, c->variable[i], c->requests[i].addr, begin_words[k]);
	}
	c->nr = 0;
}

/* Descriptors are on the C heap: neither in libjvm nor in a code heap. */
static bool may_point_to_desc(const struct hotspot *h, const struct mappings *mapped, u64 word)
{
	if (!word || word % 8 || word >= ADDRESS_END)
		return false;
	if (word >= h->jvm.image_start && word < h->jvm.image_end)
		return false;
	if (word >= h->heaps.start && word < h->heaps.end)
		return false;
	/* A failed read costs more than this search. */
	const struct mapping *m = mapped->nr ? mappings_find(mapped, word) : NULL;
	return !mapped->nr || (m && m->readable);
}

static void search_piece(struct hotspot *h, u64 at, const u64 *words, size_t nr,
			 struct candidates *c)
{
	for (size_t i = 0; i < nr; i++) {
		if (!may_point_to_desc(h, &c->mapped, words[i]))
			continue;
		c->variable[c->nr] = at + i * sizeof(words[0]);
		c->requests[c->nr] = (struct mem_request){ words[i], c->words[c->nr],
							   sizeof(c->words[0]), false };
		if (++c->nr == BATCH)
			try_candidates(h, c);
	}
}

static void search_list(struct hotspot *h)
{
	auto_free struct candidates *c = xcalloc(1, sizeof(*c));
	auto_free u64 *piece = xmalloc(PIECE_WORDS * sizeof(piece[0]));
	u64 at = (h->jvm.data_start + 7) & ~7ull, end = h->jvm.data_end;

	if (h->pid)
		mappings_read(h->pid, false, &c->mapped);
	if (end - at > DATA_MAX_BYTES)
		end = at + DATA_MAX_BYTES;
	while (at < end) {
		size_t len = end - at < PIECE_WORDS * sizeof(piece[0])
				     ? end - at
				     : PIECE_WORDS * sizeof(piece[0]);
		ssize_t n = mem_read_some(h->jvm.mem, at, piece, len);
		if (n <= 0)
			break;
		search_piece(h, at, piece, (size_t)n / sizeof(piece[0]), c);
		at += len;
	}
	try_candidates(h, c);
	mappings_fini(&c->mapped);
}

static void read_again(struct hotspot *h)
{
	stub_routine_list list = { 0 };
	u64 first;

	if (!mem_read_u64(h->jvm.mem, h->stubs.list, &first) &&
	    read_list(h, first, h->stubs.begin_at, &list))
		take_list(&h->stubs, &list);
	drop_list(&list);
}

/* Reads the list if it is due: after increasing pauses, from 0.1 s to a minute. */
static void refresh(struct hotspot *h)
{
	struct stub_routines *s = &h->stubs;
	u64 now = time_mono_ns();

	if (now < s->next_read_ns || !h->call_stub_return)
		return;
	if (s->list)
		read_again(h);
	else if (h->jvm.data_start < h->jvm.data_end)
		search_list(h);
	s->pause_ns = s->pause_ns ? s->pause_ns * 2 : PAUSE_FIRST_NS;
	if (s->pause_ns > PAUSE_LAST_NS)
		s->pause_ns = PAUSE_LAST_NS;
	s->next_read_ns = time_mono_ns() + s->pause_ns;
}

/* Finds the innermost routine, because routines can be nested. */
static const char *find_routine(const struct stub_routines *s, const struct blob *b, u64 pc)
{
	const struct stub_routine *best = NULL;

	vec_each(r, &s->all)
		if (pc >= r->start && pc < r->end && r->start >= b->addr && r->end <= b->end &&
		    (!best || r->end - r->start < best->end - best->start))
			best = r;
	return best ? best->name : NULL;
}

/* Precedes the stub's code; the same in JDK 8..28. */
struct vtable_stub {
	u64 next;
	u16 index;
	s16 abstract_error_at, null_check_at; /* from the start of the code */
	u8 is_vtable_stub;
	u8 pad;
};

#define VTABLE_STUB_BYTES 1024 /* most code of a stub: itable stubs have about 200 */
#define VTABLE_PCS_MAX    16384

static bool is_vtable_stub(const struct hotspot *h, const struct vtable_stub *s)
{
	if (s->next && (s->next % 8 || !code_heaps_find(&h->heaps, s->next)))
		return false;
	return s->is_vtable_stub <= 1 && s->abstract_error_at > 0 &&
	       s->abstract_error_at < VTABLE_STUB_BYTES && s->null_check_at >= 0 &&
	       s->null_check_at < s->abstract_error_at;
}

/* Decides by the nearest header before pc; NULL if there is no known one. */
static const char *read_vtable_stub(const struct hotspot *h, const struct blob *b, u64 pc)
{
	u8 bytes[VTABLE_STUB_BYTES + sizeof(struct vtable_stub)];
	u64 end = pc & ~7ull, start = b->code_start;

	if (end < start)
		return NULL;
	if (end - start > sizeof(bytes))
		start = end - sizeof(bytes);
	if (mem_read(h->jvm.mem, start, bytes, end - start))
		return NULL;
	for (u64 at = end; at >= start + sizeof(struct vtable_stub); at -= 8) {
		struct vtable_stub s;
		memcpy(&s, bytes + (at - sizeof(s) - start), sizeof(s));
		if (is_vtable_stub(h, &s))
			return s.is_vtable_stub ? "vtable stub" : "itable stub";
	}
	return NULL;
}

/* These stubs are never freed (VtableStubs::entry_point, share/code/vtableStubs.cpp). */
static const char *find_vtable_stub(struct hotspot *h, const struct blob *b, u64 pc)
{
	struct dict *known = &h->stubs.vtable_pcs;
	const u64 *found = dict_find(known, pc);
	const char *name = found ? (const char *)(uintptr_t)*found : read_vtable_stub(h, b, pc);

	if (!found && name && known->nr < VTABLE_PCS_MAX)
		*dict_add(known, pc) = (uintptr_t)name;
	return name;
}

/* The role of a routine, from its blob alone; NULL if unknown. */
static const char *role_in(const char *blob)
{
	static const char *const roles[][2] = {
		{ "vtable chunks", "vtable or itable stub" },
		{ "I2C/C2I adapters", "i2c/c2i adapter" },
		{ "adapters", "i2c/c2i adapter" },
		{ "MethodHandles adapters", "method handle adapter" },
		{ "native signature handlers", "signature handler" },
		{ "Signature Handler Temp Buffer", "signature handler" },
		{ "InlineCacheBuffer", "inline cache stub" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(roles); i++)
		if (!strcmp(roles[i][0], blob))
			return roles[i][1];
	return NULL;
}

/* HotSpot never frees these (VtableStubs::allocate, share/code/vtableStubs.cpp). */
bool stubs_is_container(const char *blob_name)
{
	return !strncmp(blob_name, "StubRoutines", strlen("StubRoutines")) ||
	       !strcmp(blob_name, "vtable chunks");
}

static bool is_listed(const char *blob_name)
{
	return stubs_is_container(blob_name) || !strcmp(blob_name, "MethodHandles adapters");
}

const char *stubs_find(struct hotspot *h, const struct blob *b, const char *blob_name, u64 pc)
{
	const char *name = find_routine(&h->stubs, b, pc);

	if (!name && !strcmp(blob_name, "vtable chunks"))
		name = find_vtable_stub(h, b, pc);
	if (!name && is_listed(blob_name)) {
		refresh(h);
		name = find_routine(&h->stubs, b, pc);
	}
	return name ?: role_in(blob_name);
}

void hotspot_each_routine(struct hotspot *h,
			  void (*visit)(void *ctx, u64 start, u64 end, const char *name), void *ctx)
{
	refresh(h);
	vec_each(r, &h->stubs.all)
		visit(ctx, r->start, r->end, r->name);
}
