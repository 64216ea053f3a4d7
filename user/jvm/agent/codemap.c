/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code at each address of a JVM's code cache over time; the classes for which hooks pass
 * numbers; facts about compiled methods that agents do not report.
 */
#include "jvm/agent/codemap.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dict.h"
#include "base/vec.h"

#define PAGE_SHIFT 12
/* most pieces of code for a page; few of them are live, because code has at least 16 bytes */
#define PAGE_CODE_MAX   1024
#define BYTES_MAX       (64ull << 20)
#define PAGE_BYTES      (sizeof(struct page) + 2 * sizeof(struct dict_slot) + 8 * sizeof(u32))
#define CLEAN_MIN       16384 /* pieces of code; a clean-up of fewer is not worth it */
#define SWEEP_NAMES_MIN 65536 /* names; the same */
#define NEW_METHODS_MAX 65536
#define INLINE_PER_MAX  65536 /* per piece of code */

#define LIVE UINT64_MAX

struct name {
	const char *class_name, *method, *signature; /* NULL: the number is free */
	enum frame_kind kind;
};

struct inline_range {
	u32 begin_off, end_off;
	u32 first, nr; /* in `names` of the code */
};

/* The compiler of the code. */
enum maker {
	MAKER_UNREAD, /* its facts have not been looked up */
	MAKER_UNKNOWN,
	MAKER_C1,
	MAKER_C2,
	MAKER_WRAPPER,
};

struct code {
	u64 start, end;
	u64 load_ns, unload_ns; /* [load_ns, unload_ns); LIVE: it exists */
	u32 name;
	u32 compile_id; /* 0 if unknown */
	u32 other_id;   /* compile id of other code that the JVM had at its address; 0 if none */
	enum maker maker;
	u32 replay; /* the last replay that reported it */
	VEC(struct inline_range) ranges;
	VEC(u32) names;
};

/* Indices of the code that touches a page, in order of loading. */
struct page {
	VEC(u32) code;
};

/* Classes for which hooks pass numbers. */
struct classes {
	struct dict names; /* number -> name in the pool */
	size_t text_bytes; /* bytes of the names; a name with two numbers counts twice */
};

struct codemap {
	struct java_names *pool;
	VEC(struct name) names;
	VEC(u32) free_names; /* numbers */
	const u32 *held;     /* codemap_hold */
	size_t nr_held, sweep_names_at;
	u32 loading;          /* the name of the code that is being added */
	struct dict name_ids; /* hash -> index in names; collisions at hash + 1, ... */
	VEC(struct code) code;
	VEC(struct page) pages;
	struct dict page_ids; /* addr >> PAGE_SHIFT -> index in pages, + 1 */
	struct classes classes, old_classes;
	VEC(u32) overlaps;    /* scratch */
	VEC(u64) new_methods; /* addresses of methods compiled since codemap_take_new */
	size_t nr_gone, nr_ignored, nr_left_out, bytes, clean_at;
	u64 max_bytes;
	u64 now_ns, lost_ns;
	u32 replay;
	bool is_full; /* the map is full of existing code: new code is ignored */
};

static inline bool code_is_stub(const struct codemap *map, u32 name)
{
	return map->names.at[name].class_name[0] == '\0';
}

struct codemap *codemap_new(void)
{
	struct codemap *map = xcalloc(1, sizeof(*map));

	map->pool = java_names_new();
	map->max_bytes = BYTES_MAX;
	map->sweep_names_at = SWEEP_NAMES_MIN;
	/* Number 0 stands for all names that no longer fit. */
	vec_push(&map->names, (struct name){ "", "[too many names]", "", FRAME_STUB });
	return map;
}

static void free_pages(struct codemap *map)
{
	vec_each(page, &map->pages)
		vec_fini(&page->code);
	vec_fini(&map->pages);
	dict_fini(&map->page_ids);
}

static void code_fini(struct code *c)
{
	vec_fini(&c->ranges);
	vec_fini(&c->names);
}

void codemap_free(struct codemap *map)
{
	if (!map)
		return;
	vec_each(c, &map->code)
		code_fini(c);
	vec_fini(&map->code);
	free_pages(map);
	vec_fini(&map->overlaps);
	vec_fini(&map->new_methods);
	vec_fini(&map->names);
	vec_fini(&map->free_names);
	dict_fini(&map->name_ids);
	dict_fini(&map->classes.names);
	dict_fini(&map->old_classes.names);
	java_names_free(map->pool);
	free(map);
}

static size_t bytes_kept(const struct codemap *map)
{
	return map->bytes + java_names_bytes(map->pool) + map->names.nr * sizeof(struct name) +
	       map->free_names.cap * sizeof(u32) + dict_bytes(&map->name_ids) +
	       dict_bytes(&map->classes.names) + dict_bytes(&map->old_classes.names);
}

static size_t nr_names(const struct codemap *map)
{
	return map->names.nr - map->free_names.nr;
}

static u64 hash_of_name(const struct name *n)
{
	u64 hash = hash_u64((u64)(uintptr_t)n->class_name ^ n->kind);

	hash = hash_u64(hash ^ (u64)(uintptr_t)n->method);
	return hash_u64(hash ^ (u64)(uintptr_t)n->signature);
}

/* Where the number of an equal name is stored. The stored number is 0 if the name is new. */
static u64 *place_of_name(struct codemap *map, const struct name *n)
{
	u64 *place;

	for (u64 hash = hash_of_name(n); *(place = dict_add(&map->name_ids, hash)); hash++) {
		const struct name *old = &map->names.at[*place];
		if (old->class_name == n->class_name && old->method == n->method &&
		    old->signature == n->signature && old->kind == n->kind)
			break;
	}
	return place;
}

static void mark_names(const struct codemap *map, bool *is_used)
{
	vec_each(c, &map->code) {
		is_used[c->name] = true;
		vec_each(name, &c->names)
			is_used[*name] = true;
	}
	for (size_t i = 0; i < map->nr_held; i++)
		if (map->held[i])
			is_used[map->held[i] - 1] = true;
	is_used[map->loading] = true;
}

static void keep_classes(const struct classes *c)
{
	dict_each(slot, &c->names)
		java_names_keep((const char *)(uintptr_t)slot->value);
}

static void sweep_texts(struct codemap *map)
{
	/* the texts of the first name are not in the pool */
	for (size_t i = 1; i < map->names.nr; i++) {
		const struct name *n = &map->names.at[i];
		if (!n->method)
			continue;
		java_names_keep(n->class_name);
		java_names_keep(n->method);
		java_names_keep(n->signature);
	}
	keep_classes(&map->classes);
	keep_classes(&map->old_classes);
	java_names_sweep(map->pool);
}

/* Frees the names that neither code nor the holder refers to. */
static void sweep_names(struct codemap *map)
{
	bool *is_used = xcalloc(map->names.nr, sizeof(is_used[0]));

	mark_names(map, is_used);
	map->free_names.nr = 0;
	dict_fini(&map->name_ids);
	for (u32 i = 1; i < map->names.nr; i++) {
		struct name *n = &map->names.at[i];
		if (!is_used[i])
			*n = (struct name){ 0 };
		if (n->method)
			*place_of_name(map, n) = i;
		else
			vec_push(&map->free_names, i);
	}
	free(is_used);
	sweep_texts(map);
	map->sweep_names_at = 2 * nr_names(map) + SWEEP_NAMES_MIN;
}

void codemap_hold(struct codemap *map, const u32 *held, size_t nr)
{
	map->held = held;
	map->nr_held = held ? nr : 0;
}

u32 codemap_name(struct codemap *map, enum frame_kind kind, struct code_text class_name,
		 struct code_text method, struct code_text signature)
{
	if (nr_names(map) >= map->sweep_names_at)
		sweep_names(map);
	if (bytes_kept(map) > map->max_bytes) {
		map->nr_left_out++;
		return 0;
	}

	const struct name n = {
		.class_name = java_names_intern_class(map->pool, class_name.at, class_name.len),
		.method = java_names_intern(map->pool, method.at, method.len),
		.signature = java_names_intern(map->pool, signature.at, signature.len),
		.kind = kind,
	};
	u64 *place = place_of_name(map, &n);
	if (*place)
		return (u32)*place;
	if (map->free_names.nr) {
		*place = map->free_names.at[--map->free_names.nr];
		map->names.at[*place] = n;
	} else {
		*place = map->names.nr;
		vec_push(&map->names, n);
	}
	return (u32)*place;
}

void codemap_limit(struct codemap *map, u64 max_bytes)
{
	map->max_bytes = max_bytes < BYTES_MAX ? max_bytes : BYTES_MAX;
	map->is_full &= bytes_kept(map) > map->max_bytes / 4 * 3;
}

static const struct page *find_page(const struct codemap *map, u64 addr)
{
	const u64 *index = dict_find(&map->page_ids, addr >> PAGE_SHIFT);

	return index ? &map->pages.at[*index - 1] : NULL;
}

/* Forgets the oldest removed code of a page that was used very often. */
static void shorten(const struct codemap *map, struct page *page)
{
	for (size_t i = 0; i < page->code.nr; i++) {
		if (map->code.at[page->code.at[i]].unload_ns == LIVE)
			continue;
		memmove(&page->code.at[i], &page->code.at[i + 1],
			(page->code.nr - i - 1) * sizeof(page->code.at[0]));
		page->code.nr--;
		return;
	}
}

/* Without this limit, live code nested in itself many times would fill pages. */
static bool have_pages_room(const struct codemap *map, u64 start, u64 end)
{
	for (u64 page = start >> PAGE_SHIFT; page <= (end - 1) >> PAGE_SHIFT; page++) {
		const u64 *index = dict_find(&map->page_ids, page);
		struct page *p = index ? &map->pages.at[*index - 1] : NULL;
		if (p && p->code.nr >= PAGE_CODE_MAX)
			shorten(map, p);
		if (p && p->code.nr >= PAGE_CODE_MAX)
			return false;
	}
	return true;
}

static void add_to_pages(struct codemap *map, u32 index)
{
	const struct code *c = &map->code.at[index];

	for (u64 page = c->start >> PAGE_SHIFT; page <= (c->end - 1) >> PAGE_SHIFT; page++) {
		u64 *id = dict_add(&map->page_ids, page);
		if (!*id) {
			vec_push(&map->pages, (struct page){ { 0 } });
			*id = map->pages.nr;
			map->bytes += PAGE_BYTES;
		}
		struct page *p = &map->pages.at[*id - 1];
		if (p->code.nr >= PAGE_CODE_MAX)
			shorten(map, p);
		vec_push(&p->code, index);
		map->bytes += sizeof(u32);
	}
}

static size_t code_bytes(const struct code *c)
{
	return sizeof(*c) + c->ranges.nr * sizeof(c->ranges.at[0]) + c->names.nr * sizeof(u32);
}

/* Drops code removed before `limit_ns` and rebuilds the pages. */
static void forget(struct codemap *map, u64 limit_ns)
{
	size_t kept = 0;

	free_pages(map);
	map->bytes = 0;
	map->nr_gone = 0;
	for (size_t i = 0; i < map->code.nr; i++) {
		struct code *c = &map->code.at[i];
		if (c->unload_ns < limit_ns) {
			code_fini(c);
			continue;
		}
		map->bytes += code_bytes(c);
		map->nr_gone += c->unload_ns != LIVE;
		map->code.at[kept++] = *c;
	}
	map->code.nr = kept;
	for (size_t i = 0; i < kept; i++)
		add_to_pages(map, (u32)i);
	sweep_names(map);
}

/* Whether there is room for one more piece of code. Drops removed code if necessary. */
static bool make_room(struct codemap *map)
{
	if (map->is_full && map->nr_gone < map->code.nr / 4 + 1)
		return false;
	if (map->code.nr >= map->clean_at && map->now_ns > CODEMAP_HISTORY_NS) {
		forget(map, map->now_ns - CODEMAP_HISTORY_NS);
		map->clean_at = 2 * map->code.nr + CLEAN_MIN;
	}
	if (map->is_full || bytes_kept(map) > map->max_bytes) {
		forget(map, LIVE);
		map->is_full = bytes_kept(map) > map->max_bytes / 4 * 3;
	}
	return !map->is_full;
}

static void end_code(struct codemap *map, struct code *c, u64 time_ns)
{
	c->unload_ns = time_ns > c->load_ns ? time_ns : c->load_ns;
	map->nr_gone++;
}

/* The VM reports a blob of stubs and also each stub in it. */
static bool may_both_stand(const struct codemap *map, const struct code *c, u64 start, u64 end,
			   u32 name)
{
	if (!code_is_stub(map, c->name) || !code_is_stub(map, name))
		return false;
	bool is_same = c->start == start && c->end == end;
	return !is_same &&
	       ((c->start <= start && end <= c->end) || (start <= c->start && c->end <= end));
}

/* Collects in `overlaps` the code that overlaps [start, end). */
static void find_overlaps(struct codemap *map, u64 start, u64 end)
{
	map->overlaps.nr = 0;
	for (u64 at = start >> PAGE_SHIFT; at <= (end - 1) >> PAGE_SHIFT; at++) {
		const struct page *page = find_page(map, at << PAGE_SHIFT);
		for (size_t i = 0; page && i < page->code.nr; i++) {
			const struct code *c = &map->code.at[page->code.at[i]];
			bool is_first_page =
				at == start >> PAGE_SHIFT || at == c->start >> PAGE_SHIFT;
			if (c->unload_ns == LIVE && c->start < end && start < c->end &&
			    is_first_page)
				vec_push(&map->overlaps, page->code.at[i]);
		}
	}
}

/*
 * Removes code that cannot coexist with the new code. Returns the existing code if it is the same.
 */
static struct code *make_place(struct codemap *map, u64 time_ns, u64 start, u64 end, u32 name)
{
	find_overlaps(map, start, end);
	vec_each(i, &map->overlaps) {
		struct code *c = &map->code.at[*i];
		if (c->start == start && c->end == end && c->name == name)
			return c;
	}
	vec_each(i, &map->overlaps)
		if (!may_both_stand(map, &map->code.at[*i], start, end, name))
			end_code(map, &map->code.at[*i], time_ns);
	return NULL;
}

bool codemap_load(struct codemap *map, u64 time_ns, u64 addr, u64 size, u32 name)
{
	u64 end = addr + size;

	if (!size || size > CODEMAP_CODE_MAX || end < addr || name >= map->names.nr) {
		map->nr_ignored++;
		return false;
	}
	map->loading = name;
	if (!make_room(map)) {
		map->nr_ignored++;
		return false;
	}
	bool is_new = time_ns && !code_is_stub(map, name);
	if (time_ns > map->now_ns)
		map->now_ns = time_ns;
	if (!time_ns)
		time_ns = map->lost_ns;

	struct code *same = make_place(map, time_ns, addr, end, name);
	if (same) {
		same->replay = map->replay;
		map->bytes -= code_bytes(same) - sizeof(*same);
		same->ranges.nr = same->names.nr = 0;
		return true;
	}
	if (!have_pages_room(map, addr, end)) {
		map->nr_ignored++;
		return false;
	}
	vec_push(&map->code, (struct code){ .start = addr,
					    .end = end,
					    .load_ns = time_ns,
					    .unload_ns = LIVE,
					    .name = name,
					    .replay = map->replay });
	map->bytes += sizeof(struct code);
	add_to_pages(map, (u32)map->code.nr - 1);
	if (is_new && map->new_methods.nr < NEW_METHODS_MAX)
		vec_push(&map->new_methods, addr);
	return true;
}

static struct code *live_method_at(struct codemap *map, u64 addr)
{
	const struct page *page = find_page(map, addr);

	for (size_t i = page ? page->code.nr : 0; i-- > 0;) {
		struct code *c = &map->code.at[page->code.at[i]];
		if (c->unload_ns == LIVE && c->start == addr && !code_is_stub(map, c->name))
			return c;
	}
	return NULL;
}

void codemap_inline(struct codemap *map, u64 addr, u32 begin_off, u32 end_off, const u32 *names,
		    u32 nr)
{
	struct code *c = live_method_at(map, addr);
	u32 last = c && c->ranges.nr ? c->ranges.at[c->ranges.nr - 1].end_off : 0;

	if (!nr || !c || begin_off < last || end_off <= begin_off ||
	    c->ranges.nr >= INLINE_PER_MAX || bytes_kept(map) > map->max_bytes)
		return;
	for (u32 i = 0; i < nr; i++)
		if (names[i] >= map->names.nr)
			return;
	vec_push(&c->ranges, (struct inline_range){ begin_off, end_off, (u32)c->names.nr, nr });
	for (u32 i = 0; i < nr; i++)
		vec_push(&c->names, names[i]);
	map->bytes += sizeof(struct inline_range) + nr * sizeof(u32);
}

void codemap_unload(struct codemap *map, u64 time_ns, u64 addr)
{
	struct code *c = live_method_at(map, addr);

	if (time_ns > map->now_ns)
		map->now_ns = time_ns;
	if (c)
		end_code(map, c, time_ns);
}

void codemap_replay_begin(struct codemap *map, u64 lost_ns)
{
	map->replay++;
	map->lost_ns = lost_ns;
}

void codemap_replay_end(struct codemap *map)
{
	/* Keep stubs: they are hardly ever removed, and a replay reports some under other names. */
	vec_each(c, &map->code)
		if (c->unload_ns == LIVE && c->replay != map->replay && !code_is_stub(map, c->name))
			end_code(map, c, map->lost_ns);
}

static bool is_after(const struct code *c, u64 time_ns)
{
	return c->load_ns > time_ns && c->load_ns - time_ns <= CODEMAP_GRACE_NS;
}

/* The better match of two, in the order that code_at states. */
static struct code *better(struct code *a, struct code *b, u64 time_ns)
{
	bool a_stood = a->load_ns <= time_ns && time_ns < a->unload_ns;
	bool b_stood = b->load_ns <= time_ns && time_ns < b->unload_ns;

	if (a_stood && b_stood) /* a stub within a blob of stubs */
		return a->end - a->start < b->end - b->start ? a : b;
	if (a_stood || b_stood)
		return a_stood ? a : b;
	return a->load_ns < b->load_ns ? a : b;
}

/*
 * Finds the code at pc at that time. Without one, takes code whose load was reported soon after,
 * because these reports are late. Removed code is no candidate: it was dead before the report of
 * its end, and the report of its successor may not have been read yet.
 */
static struct code *code_at(const struct codemap *map, u64 pc, u64 time_ns, u32 compile_id)
{
	const struct page *page = find_page(map, pc);
	struct code *best = NULL;

	for (size_t i = 0; page && i < page->code.nr; i++) {
		struct code *c = &map->code.at[page->code.at[i]];
		if (pc < c->start || pc >= c->end)
			continue;
		if (compile_id && c->compile_id == compile_id)
			return c;
		if (compile_id && (c->compile_id || c->other_id == compile_id))
			continue;
		if ((c->load_ns <= time_ns && time_ns < c->unload_ns) || is_after(c, time_ns))
			best = best ? better(c, best, time_ns) : c;
	}
	return best;
}

/*
 * The range that holds the offset: the first one that ends at or above it, if it begins below it.
 */
static const struct inline_range *find_range(const struct code *c, u64 off)
{
	size_t low = 0, high = c->ranges.nr;

	while (low < high) {
		size_t mid = (low + high) / 2;
		if (c->ranges.at[mid].end_off < off)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == c->ranges.nr)
		return NULL;
	const struct inline_range *r = &c->ranges.at[low];
	return r->begin_off < off || (!off && !r->begin_off) ? r : NULL;
}

/*
 * Counts code that was removed before its facts were read as compiled by C1: C2's code usually
 * lives until its class is unloaded.
 */
static enum frame_kind kind_of(const struct codemap *map, const struct code *c)
{
	static const enum frame_kind kinds[] = {
		[MAKER_UNREAD] = FRAME_C1, [MAKER_UNKNOWN] = FRAME_C1,   [MAKER_C1] = FRAME_C1,
		[MAKER_C2] = FRAME_C2,     [MAKER_WRAPPER] = FRAME_STUB,
	};

	return code_is_stub(map, c->name) ? map->names.at[c->name].kind : kinds[c->maker];
}

static struct java_frame frame_of(const struct codemap *map, u32 name, enum frame_kind kind)
{
	const struct name *n = &map->names.at[name];

	return (struct java_frame){
		.class_name = n->class_name,
		.method = n->method,
		.signature = n->signature,
		.file = "",
		.bci = -1,
		.kind = kind,
		.is_native = kind == FRAME_STUB && *n->class_name,
	};
}

int codemap_find(const struct codemap *map, u64 pc, u64 time_ns, u32 compile_id,
		 struct java_frame *out, int max)
{
	const struct code *c = code_at(map, pc, time_ns, compile_id & CODEMAP_COMPILE_ID_MASK);
	int nr = 0;

	if (!c || max < 1)
		return 0;
	const struct inline_range *r = find_range(c, pc - c->start);
	for (u32 i = r ? r->nr : 0; i-- > 0;)
		if ((int)i < max - 1)
			out[nr++] = frame_of(map, c->names.at[r->first + i], FRAME_INLINED);
	out[nr++] = frame_of(map, c->name, kind_of(map, c));
	return nr;
}

struct codemap_size codemap_size(const struct codemap *map)
{
	return (struct codemap_size){
		.nr_live = map->code.nr - map->nr_gone,
		.nr_gone = map->nr_gone,
		.nr_ignored = map->nr_ignored,
		.nr_left_out = map->nr_left_out,
		.bytes = bytes_kept(map),
		.nr_names = nr_names(map),
	};
}

void codemap_each(const struct codemap *map,
		  void (*visit)(u64 start, u64 end, const struct java_frame *name, void *ctx),
		  void *ctx)
{
	vec_each(c, &map->code) {
		struct java_frame frame = frame_of(map, c->name, kind_of(map, c));
		if (c->unload_ns == LIVE)
			visit(c->start, c->end, &frame, ctx);
	}
}

/* with more classes than 1/16 of the limit, those not used since the last time are dropped */
#define YOUNG_SHARE 16

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

/*
 * Drops the classes that were neither reported nor looked up since the last time: a JVM that makes
 * hidden classes all the time reports new numbers without end.
 */
static void age(struct codemap *map)
{
	dict_fini(&map->old_classes.names);
	map->old_classes = map->classes;
	map->classes = (struct classes){ 0 };
	sweep_texts(map);
}

void codemap_class(struct codemap *map, u64 number, struct code_text signature)
{
	if (bytes_of(&map->classes) > map->max_bytes / YOUNG_SHARE)
		age(map);
	if (bytes_kept(map) > map->max_bytes)
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

size_t codemap_take_new(struct codemap *map, u64 **out)
{
	size_t nr = map->new_methods.nr;

	*out = map->new_methods.at;
	map->new_methods = (typeof(map->new_methods)){ 0 };
	return nr;
}

static bool is_unread(const struct codemap *map, const struct code *c)
{
	return c->maker == MAKER_UNREAD && c->unload_ns == LIVE && !code_is_stub(map, c->name);
}

size_t codemap_take_unread(struct codemap *map, u64 **out)
{
	VEC(u64) unread = { 0 };

	vec_each(c, &map->code) {
		if (!is_unread(map, c))
			continue;
		c->maker = MAKER_UNKNOWN;
		vec_push(&unread, c->start);
	}
	*out = unread.at;
	return unread.nr;
}

/* Hidden classes have a suffix that begins with "/0x" in JVMTI and with "+0x" in the tables. */
static bool is_same_class(const char *a, const char *b)
{
	const char *hidden = strstr(a, "0x");
	size_t len = hidden ? (size_t)(hidden - a) : 0;

	if (!strcmp(a, b))
		return true;
	return len && !strncmp(a, b, len - 1) && b[len - 1] && !strcmp(b + len, hidden);
}

static bool is_same_name(const struct name *name, const struct code_facts *facts)
{
	if (!is_same_class(name->class_name, facts->class_name))
		return false;
	/* JVMTI has one jmethodID, and thus one name, for all intrinsics of this class. */
	if (!strcmp(name->class_name, "java.lang.invoke.MethodHandle"))
		return true;
	return !strcmp(name->method, facts->method) && !strcmp(name->signature, facts->signature);
}

void codemap_report(struct codemap *map, u64 addr, const struct code_facts *facts)
{
	struct code *c = live_method_at(map, addr);
	const struct name *name = c ? &map->names.at[c->name] : NULL;

	if (!c)
		return;
	if (!is_same_name(name, facts)) {
		c->other_id = facts->compile_id & CODEMAP_COMPILE_ID_MASK;
		return;
	}
	c->maker = facts->level > 3 ? MAKER_C2 : facts->level > 0 ? MAKER_C1 : MAKER_WRAPPER;
	c->compile_id = facts->compile_id & CODEMAP_COMPILE_ID_MASK;
}

u64 codemap_take_unread_at(struct codemap *map, u64 pc, u64 time_ns, u32 compile_id)
{
	struct code *c = code_at(map, pc, time_ns, compile_id & CODEMAP_COMPILE_ID_MASK);

	if (!c || !is_unread(map, c))
		return 0;
	c->maker = MAKER_UNKNOWN;
	return c->start;
}
