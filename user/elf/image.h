/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF image as it lies in a process's memory, found through its program headers alone: dynamic
 * symbols and build id without its file (ELF gABI; glibc's and musl's ld.so for what DT_ entries
 * hold at run time).
 */
#pragma once

#include "base/types.h"

/* Where the image is read from: all `len` bytes or a negative errno. */
struct image_memory {
	int (*read)(void *ctx, u64 addr, void *buf, size_t len);
	void *ctx;
};

#define IMAGE_BUILD_ID_MAX 32

struct image {
	struct image_memory memory;
	u64 bias;       /* run-time address minus address in the file */
	u64 start, end; /* [start, end) around all its segments */
	u64 dynamic, dynamic_size;
	u64 symtab, strtab, strtab_size, gnu_hash, hash;
	u8 build_id[IMAGE_BUILD_ID_MAX];
	u32 build_id_len; /* 0: none */
};

/*
 * `base`: where the file's first byte is mapped. -ENOEXEC if this is no 64-bit little-endian ELF
 * image, -ENOENT without dynamic symbols, else what `read` says.
 */
int image_read(struct image_memory memory, u64 base, struct image *out);

/* The run-time address of a defined dynamic symbol; -ENOENT, or what `read` says. */
int image_find_symbol(const struct image *img, const char *name, u64 *addr);
