/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The function table of programs written in Go, .gopclntab. Neither strip nor `go build
 * -ldflags=-s` removes it, because the program reads it itself. It has each function's name and,
 * for each pc, the size of the frame. Layout: pcHeader, functab, _func, step and moduledata of Go's
 * runtime/symtab.go, 1.15 to 1.27; src/cmd/link/internal/ld/pcln.go.
 *
 * Anybody may have made the table. Every offset is checked against its end. Reading all functions
 * is linear in the table's size, except that functions may share a list of frame sizes.
 */
#pragma once

#include "elf/elf.h"

#define GOPCLNTAB_MAX           (128u << 20) /* bytes of a table */
#define GOPCLNTAB_FUNCTIONS_MAX (2u << 20)

struct gopclntab;

/*
 * Reads the table of an x86-64 program. -ENOENT if the file has none, -ENOTSUP if its version or
 * the addresses of its functions are unknown, -EBADMSG for a damaged one, -EFBIG for one that
 * exceeds a limit above.
 */
int gopclntab_read(const struct elf *e, struct gopclntab **out);
void gopclntab_free(struct gopclntab *t);

AUTO_DEFINE(gopclntab, struct gopclntab *, gopclntab_free)
#define auto_gopclntab __attribute__((cleanup(auto_gopclntab_run)))

/* How to get from a function's frame to its caller's. */
enum go_frame {
	GO_FRAME_SIZED,    /* by the frame sizes */
	GO_FRAME_SWITCHED, /* the function moves sp to another stack; fp shows the way back */
	GO_FRAME_LEFT,     /* the function is the outermost one of another stack once it loads sp */
	GO_FRAME_SIGNAL,   /* the function returns from a signal handler */
	GO_FRAME_OUTERMOST,
};

struct go_function {
	u64 start, end;   /* addresses as in the file, [start, end), never empty */
	const char *name; /* owned by the table */
	enum go_frame frame;
	u64 frame_sizes; /* for gopclntab_frame_sizes */
};

/* The number of entries, in ascending order of their addresses if the table is sound. */
u32 gopclntab_nr(const struct gopclntab *t);

/* Returns false if entry `i` is damaged or empty. */
bool gopclntab_function(const struct gopclntab *t, u32 i, struct go_function *out);

/* Receives the bytes between sp and the return address that hold from `start` on, below `end`. */
typedef bool go_frame_size_visit(void *arg, u64 start, u64 end, s32 bytes);

/*
 * Visits the frame sizes of a function in ascending order, each range not empty. The last ends
 * before the padding behind the function. Returns false if they are damaged, or if the visitor
 * returned false.
 */
bool gopclntab_frame_sizes(const struct gopclntab *t, const struct go_function *f,
			   go_frame_size_visit *visit, void *arg);

/*
 * Call frame information of a Go program whose .debug_frame was stripped, made from the frame sizes
 * in its .gopclntab. Go's linker makes .debug_frame from the same numbers
 * (src/cmd/link/internal/ld/dwarf.go, writeframes). *out gets the bytes of a .debug_frame, which
 * the caller frees. Functions whose frame sizes are damaged are left out. Errors are those of
 * gopclntab_read; -EFBIG also for more than CFI_SECTION_MAX bytes.
 */
int go_cfi_make(const struct elf *e, void **out, size_t *len);
