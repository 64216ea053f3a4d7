/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code at each address of a JVM's code cache over time. Code is loaded and unloaded, and its
 * memory reused, within seconds. A sample gets the name of the code at its own time.
 */
#pragma once

#include "base/types.h"
#include "jvm/memory/java_frame.h"

/* JVMs report a load after the code is already running: at most 45 ms later were measured. */
#define CODEMAP_GRACE_NS 1000000000ull
/* How long removed code can still be found. */
#define CODEMAP_HISTORY_NS (300ull * 1000000000ull)
/* The largest piece of code in bytes; HotSpot's largest have 1 MB. */
#define CODEMAP_CODE_MAX (2ull << 20)

struct codemap;

struct codemap *codemap_new(void);
void codemap_free(struct codemap *map);

/*
 * Limits the memory of the map, to 64 MB at most. If the map is larger already, it shrinks only as
 * code is removed.
 */
void codemap_limit(struct codemap *map, u64 max_bytes);

/*
 * Adds a name and returns its number. Texts are modified UTF-8 of the given length, and the class
 * is internal ("java/lang/Thread"). `kind` is the kind of its frames.
 */
struct code_text {
	const char *at;
	size_t len;
};
u32 codemap_name(struct codemap *map, enum frame_kind kind, struct code_text class_name,
		 struct code_text method, struct code_text signature);

/*
 * Names that no code refers to are freed from time to time, and their numbers given to others. The
 * names in `held` are kept (number + 1; 0: none). The caller may change that array at any time
 * until it calls this function with NULL. Any other new name is safe until codemap_name is called
 * again after the codemap_load that uses it.
 */
void codemap_hold(struct codemap *map, const u32 *held, size_t nr);

/*
 * Adds code at [addr, addr + size); time 0 means that it has always been there. Other code in that
 * range is removed, except that stubs may lie within stubs. Repeating the same code changes
 * nothing. Returns false if the code was ignored: an implausible size, too much code in one place,
 * or no budget.
 */
bool codemap_load(struct codemap *map, u64 time_ns, u64 addr, u64 size, u32 name);

/* Facts about a compiled method that JVMs do not report, from their own tables. */
struct code_facts {
	u32 compile_id; /* 0 if unknown; see codemap_find */
	int level;      /* CompLevel: 0 wrapper of a native method, 1..3 C1, 4 C2 */
	const char *class_name, *method, *signature;
};

/*
 * codemap_take_new returns the addresses of methods compiled since the last call, in an array that
 * the caller frees. Methods that already existed when the agent was attached are not among them:
 * most of them never appear in a sample. codemap_take_unread_at returns the address of the method
 * that codemap_find would find, if its facts have not been looked for yet, else 0.
 * codemap_take_unread returns all such methods. codemap_report stores the tables' facts about one
 * method. If the names differ, other code has taken the method's place: samples with that compile
 * id do not belong to the method.
 */
size_t codemap_take_new(struct codemap *map, u64 **out);
size_t codemap_take_unread(struct codemap *map, u64 **out);
u64 codemap_take_unread_at(struct codemap *map, u64 pc, u64 time_ns, u32 compile_id);
void codemap_report(struct codemap *map, u64 addr, const struct code_facts *facts);

/*
 * Adds the inlined frames in (begin_off, end_off] of the code loaded last; names outermost first.
 */
void codemap_inline(struct codemap *map, u64 addr, u32 begin_off, u32 end_off, const u32 *names,
		    u32 nr);
void codemap_unload(struct codemap *map, u64 time_ns, u64 addr);

/*
 * Between these two calls all existing code is reported again, because reports were lost at
 * `lost_ns`. New code is taken to exist since then, and unreported methods to be gone since then.
 */
void codemap_replay_begin(struct codemap *map, u64 lost_ns);
void codemap_replay_end(struct codemap *map);

/* The part of a compile id that samples keep. */
#define CODEMAP_COMPILE_ID_MASK 0x0fffffffu

/*
 * The frames at pc at that time, leaf first: the inlined ones, then the code itself. At most `max`
 * (the outermost are kept); 0 if unknown. A return address is its own pc. The texts are valid until
 * the map changes. Reports are late, sometimes by much. If the sample has a compile id (else 0),
 * code with another known compile id therefore does not match.
 */
int codemap_find(const struct codemap *map, u64 pc, u64 time_ns, u32 compile_id,
		 struct java_frame *out, int max);

/*
 * The class for which hooks pass a number (WIRE_CLASS); NULL if it was not reported (yet). If there
 * are too many classes, the map forgets those that nobody has asked for lately. The agent reports
 * such a class again when its own table (jvmmap/hooks.c) has dropped it, too.
 */
void codemap_class(struct codemap *map, u64 number, struct code_text signature);
const char *codemap_find_class(struct codemap *map, u64 number);

struct codemap_size {
	size_t nr_live, nr_gone, nr_ignored, nr_left_out, bytes; /* left out: names without room */
	size_t nr_names;
};
struct codemap_size codemap_size(const struct codemap *map);

/* Visits all code that exists now, in no particular order. */
void codemap_each(const struct codemap *map,
		  void (*visit)(u64 start, u64 end, const struct java_frame *name, void *ctx),
		  void *ctx);
