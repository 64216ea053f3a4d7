/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the call frame information of a file or of an image in memory. */
#pragma once

#include "elf/cfi.h"
#include "elf/image.h"

struct elf;

struct cfi_input {
	struct cfi_section sections[3]; /* `data` is owned */
	size_t nr;
	u64 base;  /* the lowest p_vaddr of PT_LOAD, rounded down to 4 KB */
	u32 size;  /* size of the image */
	u32 entry; /* entry point of a process, from base; 0 if the file has none */
	/* If musl's code is at the entry point: end of that segment, from base; otherwise 0. */
	u32 musl_end;
};

/* Finds the call frame information of a file. Errors as in rows.h. The caller owns *out. */
int cfi_input_of_file(const struct elf *e, struct cfi_input *out);

/* The same for an image whose first byte is mapped at `load_addr`; needs no section headers. */
int cfi_input_of_image(struct image_memory memory, u64 load_addr, struct cfi_input *out);
void cfi_input_fini(struct cfi_input *input);

#define auto_cfi_input __attribute__((cleanup(cfi_input_fini)))
