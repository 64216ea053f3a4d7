/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stood at which address of a JVM's code cache, and when. Code is loaded, unloaded and its
 * memory used again within seconds; a sample is named by what stood there at its own time.
 */
#pragma once

#include "base/types.h"
#include "jvm/java_frame.h"

/* JVMs report a load after the code already runs: at most 45 ms were measured. */
#define CODEMAP_GRACE_NS 1000000000ull
/* How long code that is gone can still be found. */
#define CODEMAP_HISTORY_NS (300ull * 1000000000ull)
#define CODEMAP_CODE_MAX                                                        \
	(2ull << 20) /* bytes of one piece of code; HotSpot's largest have 1 MB \
		      */

struct codemap;

struct codemap *codemap_new(void);
void codemap_free(struct codemap *map);

/*
 * A name, given once and then meant by its number. Texts are modified UTF-8 of the given length;
 * the class is internal ("java/lang/Thread"), kind is what the frame will be.
 */
struct code_text {
	const char *at;
	size_t len;
};
u32 codemap_name(struct codemap *map, enum frame_kind kind, struct code_text class_name,
		 struct code_text method, struct code_text signature);

/*
 * Code begins to stand at [addr, addr + size); time 0 means it has always been there. What else
 * stands there is gone with it, except that stubs may lie within stubs. The same code once more
 * changes nothing. Returns false if it was ignored: an absurd size, more code in one place than can
 * stand there, or the budget is used up.
 */
bool codemap_load(struct codemap *map, u64 time_ns, u64 addr, u64 size, u32 name);

/* What JVMs do not report but their own tables say of a compiled method. */
struct code_facts {
	u32 compile_id; /* 0: not known; see codemap_find */
	int level;      /* CompLevel: 0 the wrapper of a native method, 1..3 C1, 4 C2 */
	const char *class_name, *method, *signature;
};

/*
 * Hands over, for the caller to free, where methods were loaded since the last call; what the
 * tables say of them is told back, and believed if it is of the same name: by then other code may
 * stand there.
 */
size_t codemap_take_untold(struct codemap *map, u64 **out);
void codemap_tell(struct codemap *map, u64 addr, const struct code_facts *facts);

/* What is inlined in (begin_off, end_off] of the code loaded last; names outermost first. */
void codemap_inline(struct codemap *map, u64 addr, u32 begin_off, u32 end_off, const u32 *names,
		    u32 nr);
void codemap_unload(struct codemap *map, u64 time_ns, u64 addr);

/*
 * Between these two all code that stands is reported again, because reports were lost at
 * `lost_ns`: what is new has stood since then, methods not reported are gone since then.
 */
void codemap_replay_begin(struct codemap *map, u64 lost_ns);
void codemap_replay_end(struct codemap *map);

/* What a sample keeps of a compile id. */
#define CODEMAP_COMPILE_ID_MASK 0x0fffffffu

/*
 * The frames at pc at that time, leaf first: what is inlined there, then the code itself. At most
 * `max` (the outermost are kept); 0 if nothing is known. A return address is its own pc. The
 * texts are valid until codemap_free. A JVM's reports are late, by much if it is busy: of code
 * whose compile id was told, only that with the sample's own, if it has one (else 0), is meant.
 */
int codemap_find(const struct codemap *map, u64 pc, u64 time_ns, u32 compile_id,
		 struct java_frame *out, int max);

/* The class that hooks mean by a number (WIRE_CLASS); NULL if it was not told (yet). */
void codemap_class(struct codemap *map, u64 number, struct code_text signature);
const char *codemap_find_class(const struct codemap *map, u64 number);

struct codemap_size {
	size_t nr_live, nr_gone, nr_ignored, bytes;
};
struct codemap_size codemap_size(const struct codemap *map);

/* Visits the code that stands now, in no particular order. */
void codemap_each(const struct codemap *map,
		  void (*visit)(u64 start, u64 end, const struct java_frame *name, void *ctx),
		  void *ctx);
