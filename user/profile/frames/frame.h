/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of stacks. They are interned: equal frames have the same small number. */
#pragma once

#include "base/types.h"

/* Persistent (docs/profile-format.md): append only, never renumber. */
enum frame_kind {
	FRAME_UNKNOWN = 0,
	FRAME_KERNEL = 1,
	FRAME_NATIVE = 2,
	FRAME_JVM = 3,         /* C++ of libjvm */
	FRAME_INTERPRETED = 4, /* Java, run by the bytecode interpreter */
	FRAME_C1 = 5,          /* Java, compiled by C1 */
	FRAME_C2 = 6, /* Java, compiled by C2 or another optimising compiler, or AOT code */
	FRAME_INLINED =
		7, /* Java, inlined into the compiled frame of its caller (towards the root) */
	FRAME_GROUP = 8,  /* not code: a level for a process, thread, container, ... */
	FRAME_STUB = 9,   /* code that the JVM generated and that is not a Java method */
	FRAME_CLASS = 10, /* not code: the class of an object that is allocated, waited for, ... */
	NR_FRAME_KINDS,
};

/* "kernel", "native", ... for legends, labels and text formats. */
const char *frame_kind_name(enum frame_kind kind);

#define FRAME_NAME_MAX 65535 /* bytes */

struct frame {
	const char *name;   /* UTF-8, never empty, no control characters; owned by the table */
	const char *module; /* library or package, "" if unknown; owned by the table */
	enum frame_kind kind;
	bool is_inlined;  /* inlined into its caller; for Java frames `kind` says so */
	u32 line;         /* in `file`; 0 if unknown, else `name` ends in ":LINE" */
	const char *file; /* "HashMap.java", "" if unknown; owned by the table */
};

/* A place in the source; line 0 if unknown. */
struct source_line {
	const char *file;
	u32 line;
};

typedef u32 frame_id;

struct frames;

struct frames *frames_new(void);
void frames_free(struct frames *all);

/* Exchanges the frames of the two tables. */
void frames_swap(struct frames *a, struct frames *b);

/*
 * Returns the id of a frame; equal (kind, name, module) have the same id. Replaces control
 * characters and invalid UTF-8 in the name and cuts it at 65,535 bytes. An empty name becomes "?".
 */
frame_id frames_intern(struct frames *all, enum frame_kind kind, const char *name,
		       const char *module);

/* A text of the table, valid until frames_sweep frees those that no frame has. */
typedef u32 text_id;

/* Equal texts have the same id. Replaces and cuts as frames_intern does. */
text_id frames_text(struct frames *all, const char *text);

/*
 * The same for a text of `len` bytes, faster where lists resemble each other: tries the text first
 * that was asked for after `before` the last time.
 */
text_id frames_text_after(struct frames *all, text_id before, const char *text, size_t len);

/* Frames of one table have equal names if these are equal. All are below frames_nr_texts. */
text_id frames_name(const struct frames *all, frame_id id);
u32 frames_nr_texts(const struct frames *all);

const char *frames_text_get(const struct frames *all, text_id id);
frame_id frames_intern_texts(struct frames *all, enum frame_kind kind, text_id name,
			     text_id module);

/*
 * Like frames_intern, for a line of a function. The line counts only after frames_keep_lines: then
 * each line is a frame of its own, named "NAME:LINE".
 */
frame_id frames_intern_line(struct frames *all, enum frame_kind kind, const char *name,
			    const char *module, struct source_line source);
/*
 * Interns a frame of another table in this one, under another name and without its line. Inlined
 * code keeps a frame of its own of the same method.
 */
frame_id frames_intern_like(struct frames *all, const struct frame *model, const char *name);

/* Interns a frame of another table that keeps lines if this one does. */
frame_id frames_copy(struct frames *all, const struct frame *frame);

/*
 * Frees the frames with is_used[id] false. Their ids may name other frames later; the others keep
 * theirs. For a table that lives longer than its users.
 */
void frames_sweep(struct frames *all, const bool *is_used);

/* The number of frames in the table, and their memory. */
size_t frames_nr_kept(const struct frames *all);
size_t frames_bytes(const struct frames *all);

void frames_keep_lines(struct frames *all);
bool frames_keeps_lines(const struct frames *all);

/*
 * Asks the code that names Java methods to add their signatures (profile/frames/java_signature.h).
 */
void frames_keep_signatures(struct frames *all);
bool frames_keeps_signatures(const struct frames *all);

/* The frame's name without its line. The caller frees it. */
char *frame_function(const struct frame *f);

/* Valid until the next change of the table. */
const struct frame *frames_get(const struct frames *all, frame_id id);

/* The upper limit of ids: all are smaller. After frames_sweep some of them are unused. */
u32 frames_nr(const struct frames *all);
