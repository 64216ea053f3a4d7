/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the addresses of a stack into named frames of a profile: kernel, native or Java. */
#pragma once

#include "base/dict.h"
#include "base/vec.h"
#include "jvm/agent/agents.h"
#include "jvm/hotspot/jvm_registry.h"
#include "proc/process.h"
#include "profile/profile.h"
#include "sandbox/workers.h"
#include "sym/files/generated_code.h"

/* The kind of an entry on a stack, before it has a name. */
enum raw_kind {
	RAW_PC,          /* code of a file, or generated code */
	RAW_JVM_CODE,    /* code in a HotSpot code heap: a method, a stub */
	RAW_METHOD,      /* an interpreted method; `at` is its Method * */
	RAW_INTERPRETER, /* the interpreter itself */
	RAW_FROZEN,      /* not a frame: callers of a virtual thread that are not on the stack */
	RAW_SKIPPED,     /* not a frame: native callers that could not be found */
	RAW_KERNEL,      /* code of the kernel; in no raw_stack.user */
	/* Not frames: the object of an allocation or a wait. */
	RAW_CLASS, /* a class; `at` is its number from the agent */
	RAW_KLASS, /* a class; `at` is its Klass *, `detail` an enum object_place */
};

enum object_place {
	OBJECT_SOMEWHERE,
	OBJECT_IN_TLAB,
	OBJECT_OUTSIDE_TLAB,
};

struct raw_frame {
	enum raw_kind kind;
	bool is_leaf; /* the pc is the next instruction; otherwise it is a return address */
	u64 at;       /* pc or Method * */
	u64 detail;   /* RAW_JVM_CODE: compile id, 0 if unknown; RAW_METHOD: bytecode pointer */
};

struct raw_stack {
	const u64 *kernel; /* pcs, leaf first */
	size_t nr_kernel;
	const struct raw_frame *user; /* leaf first */
	size_t nr_user;
	u64 time_ns; /* CLOCK_MONOTONIC; code is named by the contents at that time */
	u64 unloads; /* for hotspot_name_method */
};

typedef VEC(frame_id) frame_list;

struct symbolizer;

/*
 * The arguments must outlive the symbolizer. Without kernel symbols symbolizer_kernel_error says
 * why.
 */
struct symbolizer *symbolizer_new(struct frames *frames, struct jvm_registry *jvms,
				  struct agents *agents);

/* Lets workers read the files that hold names; call it before the first symbolize. */
void symbolizer_use_workers(struct symbolizer *s, struct workers *workers);
void symbolizer_free(struct symbolizer *s);

/* Limits the memory of symbol tables; the least recently used ones are dropped. */
void symbolizer_set_budget(struct symbolizer *s, size_t bytes);

/* Drops everything that can be read again. */
void symbolizer_drop_caches(struct symbolizer *s);

/* Drops cached data that was not used since the previous call. */
void symbolizer_turn(struct symbolizer *s);

/* Reports the caches of names. */
void symbolizer_each_cache(const struct symbolizer *s, cache_use_fn visit, void *ctx);

/* Sets is_used[id] for every frame that the symbolizer refers to. */
void symbolizer_mark(const struct symbolizer *s, bool *is_used);

/* Forgets its notes on unused frames, which are about to be freed. */
void symbolizer_sweep(struct symbolizer *s, const bool *is_used);

/* Drops cached data about a process that has ended. */
void symbolizer_forget(struct symbolizer *s, struct process_id id);

/* The source that may still name a frame. */
enum name_source {
	NAME_OF_CODE,  /* the agent: Java code that it has not reported yet */
	NAME_OF_CLASS, /* the agent */
	NAME_IN_FILE,  /* a worker that is reading a symbol table or a perf map */
};

/* A frame without a name. */
struct unnamed_frame {
	size_t at;      /* index of its placeholder in the list */
	u64 pc;         /* pc, or the number of a class */
	u32 compile_id; /* 0: unknown */
	enum name_source source;
};

typedef VEC(struct unnamed_frame) unnamed_list;

/* Appends the stack's frames to the empty *out, leaf first; those to ask for again to *unnamed. */
void symbolize(struct symbolizer *s, struct process *p, const struct raw_stack *stack,
	       frame_list *out, unnamed_list *unnamed);

/*
 * Names those parts of a stack early that may be gone when it is symbolized: the JVM's methods and
 * classes. Takes some us; names of the kernel and of files may take 100 ms.
 */
void symbolize_early(struct symbolizer *s, const struct process *p, const struct raw_stack *stack);

/*
 * Asks again for frames without a name at `time_ns`. Frames that have a name now replace their
 * placeholders. Frames that will get none leave the list. Returns the number of the others.
 */
size_t symbolize_again(struct symbolizer *s, const struct process *p, u64 time_ns,
		       frame_list *frames, unnamed_list *unnamed);

/*
 * Call it when the kernel has made code, a BPF program or a trampoline. The path of `m` is the
 * code's name.
 */
void symbolizer_add_kernel_code(struct symbolizer *s, const struct mapping *code);

/* The perf maps that were left out. */
const struct maps_left_out *symbolizer_maps_left_out(const struct symbolizer *s);

/* The frame of a group under the root, such as a process or thread. */
frame_id symbolizer_group(struct symbolizer *s, const char *name);

/* The frame of a class of objects, such as "java.lang.String". */
frame_id symbolizer_class(struct symbolizer *s, const char *name);

/* The frame of a group of functions without a symbol (sym/stripped.h). */
frame_id symbolizer_stripped(struct symbolizer *s, enum frame_kind kind, const char *name,
			     const char *module);

/* Functions without a symbol get no groups: their offsets in the file stay. */
void symbolizer_keep_addresses(struct symbolizer *s);
bool symbolizer_keeps_addresses(const struct symbolizer *s);

/* Whether the frame has a real name, not a module and an offset. */
bool symbolizer_is_named(const struct symbolizer *s, frame_id frame);

/* Whether the frame's symbol was stripped; its name is inferred from the function's role or bounds.
 */
bool symbolizer_is_inferred(const struct symbolizer *s, frame_id frame);

/* Whether the frame is a group of functions without a symbol. */
bool symbolizer_is_stripped(const struct symbolizer *s, frame_id frame);

/* Who runs a function of the agent in JVMs. */
enum agent_part {
	AGENT_PART_NONE,   /* not the agent */
	AGENT_PART_WORK,   /* sysflame: a command, the agent's thread, a report of code */
	AGENT_PART_HOOK,   /* the application: the agent is called at an event in its thread */
	AGENT_PART_CALLED, /* either: another function of the agent calls it, or it has no name */
};
enum agent_part symbolizer_agent_part(const struct symbolizer *s, frame_id frame);

/* Whether all frames of the stack have real names and none is of the agent: most stacks. */
bool symbolizer_is_plain(const struct symbolizer *s, const frame_list *frames);

/*
 * The build ids, in hexadecimal digits, of files of which a function got no name; in the order in
 * which they were seen. NULL beyond the last.
 */
const char *symbolizer_unnamed_build(const struct symbolizer *s, size_t i);

/* Why kernel frames have no names; NULL if they have. */
const char *symbolizer_kernel_error(const struct symbolizer *s);

/* Java frames without a line: named by the agent, stale, or compiled without lines. */
u64 symbolizer_nr_without_line(const struct symbolizer *s);

/*
 * Whether the stack named last by symbolize has a leaf in compiled code with debug information only
 * at a safepoint (java_frame.h).
 */
bool symbolizer_leaf_is_inexact(const struct symbolizer *s);

/*
 * How often the agent and HotSpot's tables named the same code differently; checked for some
 * frames.
 */
u64 symbolizer_nr_conflicts(const struct symbolizer *s);
