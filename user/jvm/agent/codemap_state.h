/* SPDX-License-Identifier: Apache-2.0 */
/* The data of a code map. Private to codemap.c, codemap_classes.c and codemap_facts.c. */
#pragma once

#include "base/dict.h"
#include "base/vec.h"
#include "jvm/agent/codemap.h"

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
	MAKER_UNREAD, /* its facts were not looked for */
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
	size_t text_bytes; /* of the names; one with two numbers counts twice */
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
	struct dict page_ids;                /* addr >> PAGE_SHIFT -> index in pages, + 1 */
	struct classes classes, old_classes; /* see codemap_classes.c */
	VEC(u32) overlaps;                   /* scratch */
	VEC(u64) new_methods; /* addresses of methods compiled since codemap_take_new */
	size_t nr_gone, nr_ignored, nr_left_out, bytes, clean_at;
	u64 max_bytes;
	u64 now_ns, lost_ns;
	u32 replay;
	bool is_full; /* full of existing code: new code is ignored */
};

static inline bool code_is_stub(const struct codemap *map, u32 name)
{
	return map->names.at[name].class_name[0] == '\0';
}

/* All that it keeps. */
size_t codemap_bytes(const struct codemap *map);

/* Frees the texts in the pool that neither names nor classes refer to. */
void codemap_sweep_texts(struct codemap *map);

/* The method that exists at that address; NULL if there is none. */
struct code *codemap_live_method(struct codemap *map, u64 addr);

/* The code at pc at that time, as codemap_find takes it; NULL if there is none. */
struct code *codemap_code_at(const struct codemap *map, u64 pc, u64 time_ns, u32 compile_id);
