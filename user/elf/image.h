/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF image in a process's memory, found through its program headers alone. Gives dynamic
 * symbols and the build id without the file (ELF gABI; ld.so of glibc and musl for the run-time
 * values of DT_ entries).
 */
#pragma once

#include "base/types.h"

/* The source of the image: `read` reads all `len` bytes or returns a negative errno. */
struct image_memory {
	int (*read)(void *ctx, u64 addr, void *buf, size_t len);
	void *ctx;
};

#define IMAGE_BUILD_ID_MAX 32

struct image {
	struct image_memory memory;
	u64 bias;                 /* run-time address minus address in the file */
	u64 start, end;           /* [start, end) around all segments */
	u64 data_start, data_end; /* the same around writable segments; 0 without any */
	u64 dynamic, dynamic_size;
	u64 symtab, strtab, strtab_size, gnu_hash, hash;
	u64 relocations[2], relocations_size[2]; /* those of data and of calls; 0 if absent */
	u64 tls_size;    /* of its thread-local variables, aligned; 0 without any */
	bool is_program; /* not a library */
	bool is_musl;    /* its dynamic linker is musl */
	u8 build_id[IMAGE_BUILD_ID_MAX];
	u32 build_id_len; /* 0 if it has none */
};

/*
 * Reads the image whose first byte is mapped at `base`. -ENOEXEC if it is not a 64-bit
 * little-endian ELF image, -ENOENT if it has no dynamic symbols, otherwise an error of `read`.
 */
int image_read(struct image_memory memory, u64 base, struct image *out);

/* The run-time address of a defined dynamic symbol. -ENOENT or an error of `read`. */
int image_find_symbol(const struct image *img, const char *name, u64 *addr);

/* Where threads have a thread-local variable. */
struct image_tls {
	u32 module; /* the dynamic linker's number of the image; 0: from the thread pointer */
	s64 offset; /* in the image's block, or from the thread pointer */
};

/*
 * The place of a thread-local variable that the image defines as a dynamic symbol; x86-64. In a
 * library a relocation that the dynamic linker has resolved tells the place: TLSDESC, DTPMOD64 or
 * TPOFF64. -ENOENT: it has no such variable; -EAGAIN: the linker has not resolved it yet; -EBADMSG:
 * no relocation tells the place.
 */
int image_find_tls(const struct image *img, const char *name, struct image_tls *out);
