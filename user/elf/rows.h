/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwind rows of one module (struct unwind_row, abi.h), compiled from its .eh_frame and
 * .debug_frame, and from the .gopclntab of a Go program (x86-64). Files of other processors are
 * refused.
 *
 * A row's pc counts from `base`, the lowest p_vaddr of the PT_LOADs rounded down to 4 KB. The image
 * is mapped from there on. Thus pc is also an address in a process minus the address at which the
 * module's image begins.
 *
 * Errors: -ENOEXEC for a file that is not an ELF file for this machine, -EBADMSG for a damaged one,
 * -EFBIG for one that exceeds a limit below or spans 4 GB, -ENODATA for one without call frame
 * information.
 */
#pragma once

#include "abi.h"
#include "base/auto.h"
#include "base/types.h"
#include "elf/cfi.h"
#include "elf/image.h"

struct elf;

/* The call frame information of a file or of an image in memory. */
struct cfi_input {
	struct cfi_section sections[3]; /* `data` is owned */
	size_t nr;
	u64 base;  /* the lowest p_vaddr of PT_LOAD, rounded down to 4 KB */
	u32 size;  /* size of the image */
	u32 entry; /* entry point of a process, from base; 0 if the file has none */
	/* If musl's code is at the entry point: end of that segment, from base; otherwise 0. */
	u32 musl_end;
};

/* Finds the call frame information of a file. The caller owns *out. */
int cfi_input_of_file(const struct elf *e, struct cfi_input *out);

/* The same for an image whose first byte is mapped at `load_addr`; needs no section headers. */
int cfi_input_of_image(struct image_memory memory, u64 load_addr, struct cfi_input *out);
void cfi_input_fini(struct cfi_input *input);

#define auto_cfi_input __attribute__((cleanup(cfi_input_fini)))

#define ROWS_MAX     (8u << 20) /* rows of one module */
#define ROWS_MIN_GAP 16         /* bytes; a shorter gap between functions gets no row */

/* Code at an entry point without call frame information. That of ld.so is 61 bytes long. */
#define ROWS_ENTRY_BYTES 96

/* Sorted by pc. No two rows have the same pc; adjacent rows differ in more than pc. */
struct rows {
	struct unwind_row *at; /* owned */
	u32 nr;
	u64 base;
	u32 nr_fdes;        /* functions */
	u32 nr_unsupported; /* rows that are ROW_UNSUPPORTED */
	u32 nr_malformed;   /* entries that are damaged or in an unknown form */
	u32 nr_unknown_ops; /* functions cut short by an unknown instruction */
};

/* Compiles the rows of a file. The caller owns *out. */
int rows_build(const struct elf *e, struct rows *out);

/* The same for an image whose first byte is mapped at `load_addr`; needs no section headers. */
int rows_build_image(struct image_memory memory, u64 load_addr, struct rows *out);

/* Compiles the rows of our own vdso, which all processes share; -ENOENT without a vdso. */
int rows_build_vdso(struct rows *out);

/* The rows of the kernel's [uprobes-trampoline] (Linux 6.18), from its start. */
void rows_of_uprobes_trampoline(struct rows *out);

/*
 * As rows_build, for call frame information that was already found. A function of .eh_frame hides
 * overlapping ones of the other sections; of two that begin at one address the first counts.
 * Entries outside the image are skipped.
 */
int rows_compile(const struct cfi_input *input, struct rows *out);

/* Whether rows that another process made are sorted and of known kinds. */
bool rows_are_valid(const struct unwind_row *rows, u32 nr);

void rows_fini(struct rows *rows);

#define auto_rows __attribute__((cleanup(rows_fini)))
