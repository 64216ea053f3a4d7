/* SPDX-License-Identifier: Apache-2.0 */
/* From the addresses of a stack to named frames of a profile: kernel, native or Java. */
#pragma once

#include "base/vec.h"
#include "jvm/agents.h"
#include "jvm/jvms.h"
#include "proc/process.h"
#include "profile/profile.h"

/* What is known of a place on a stack before it has a name. */
enum raw_kind {
	RAW_PC,          /* code of a file, or generated code */
	RAW_JVM_CODE,    /* code in a code heap of HotSpot: a method, a stub */
	RAW_METHOD,      /* a method that is interpreted; `at` is its Method * */
	RAW_INTERPRETER, /* the interpreter itself */
	RAW_FROZEN,      /* no frame: callers of a virtual thread that are not on the stack */
	/* No frames: what an allocation or a wait is about. */
	RAW_CLASS, /* a class; `at` is the agent's number of it */
	RAW_KLASS, /* a class; `at` is its Klass *, `detail` enum object_place */
};

enum object_place {
	OBJECT_SOMEWHERE,
	OBJECT_IN_TLAB,
	OBJECT_OUTSIDE_TLAB,
};

struct raw_frame {
	enum raw_kind kind;
	bool is_leaf; /* the pc is the next instruction; else it is a return address */
	u64 at;       /* pc or Method * */
	u64 detail;   /* RAW_JVM_CODE: compile id, 0 if unknown; RAW_METHOD: bytecode pointer */
};

struct raw_stack {
	const u64 *kernel; /* pcs, leaf first */
	size_t nr_kernel;
	const struct raw_frame *user; /* leaf first */
	size_t nr_user;
	u64 time_ns; /* CLOCK_MONOTONIC: code is named by what stood there then */
	u64 unloads; /* what hotspot_name_method takes */
};

typedef VEC(frame_id) frame_list;

struct symbolizer;

/* The arguments must outlive the symbolizer. Works without kernel symbols, and says so. */
struct symbolizer *symbolizer_new(struct frames *frames, struct jvms *jvms, struct agents *agents);
void symbolizer_free(struct symbolizer *s);

/* A frame that has no name yet: Java code whose agent has not reported it. */
struct unnamed_frame {
	size_t at;      /* of its placeholder in the list */
	u64 pc;         /* or the number of a class */
	u32 compile_id; /* 0: not known */
	bool is_class;
};

typedef VEC(struct unnamed_frame) unnamed_list;

/* Appends the stack's frames to the empty *out, leaf first, and to *unnamed those to ask for again.
 */
void symbolize(struct symbolizer *s, struct process *p, const struct raw_stack *stack,
	       frame_list *out, unnamed_list *unnamed);

/*
 * Names what of a stack may be gone when it is symbolized: the JVM's methods and classes. Takes
 * some us, where names of the kernel and of files may take 100 ms.
 */
void symbolize_early(struct symbolizer *s, const struct process *p, const struct raw_stack *stack);

/*
 * Asks the agent again for frames that had no name at `time_ns`; those that have one now are put in
 * the place of their placeholders. Returns how many are left.
 */
size_t symbolize_again(struct symbolizer *s, const struct process *p, u64 time_ns,
		       frame_list *frames, unnamed_list *unnamed);

/* The frame of a level under the root that is no code: a process, a thread. */
frame_id symbolizer_group(struct symbolizer *s, const char *name);

/* The frame of a class of objects, "java.lang.String". */
frame_id symbolizer_class(struct symbolizer *s, const char *name);

/* Whether a frame's name is a real one, not a module and an offset. */
bool symbolizer_is_named(const struct symbolizer *s, frame_id frame);

/* Why there are no kernel names, NULL if there are. */
const char *symbolizer_kernel_error(const struct symbolizer *s);

/* How many frames of Java methods had no line: named by the agent, stale, or compiled without. */
u64 symbolizer_nr_without_line(const struct symbolizer *s);

/* How often the agent and HotSpot's own tables named the same code differently; checked on some. */
u64 symbolizer_nr_conflicts(const struct symbolizer *s);
