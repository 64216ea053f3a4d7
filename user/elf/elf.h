/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads ELF files (32 and 64 bits, little endian) that may be damaged or hostile. Every offset is
 * checked against the file, every size against a limit. Nothing is mapped: a file that shrinks
 * during a read gives an error instead of a SIGBUS. Layout: gABI chapters 4 and 5; <elf.h>.
 *
 * Errors: -ENOEXEC for a file that is not a supported ELF file, -EBADMSG for a damaged one, -EFBIG
 * for one that exceeds a limit.
 */
#pragma once

#include <elf.h>

#include "base/auto.h"
#include "base/types.h"

#define ELF_BUILD_ID_MAX 32

struct elf;

/* A program header. */
struct elf_segment {
	u32 type, flags; /* PT_..., PF_... */
	u64 file_off, vaddr, filesz, memsz;
};

/* A section header. */
struct elf_section {
	const char *name; /* "" if the name in the file is damaged; owned by the elf */
	u32 type;         /* SHT_...; SHT_NOBITS has no bytes in this file (separate debug files) */
	u64 flags;        /* SHF_... */
	u64 vaddr, file_off, size, entsize;
	u32 link, info;
};

/* Reads the headers of a regular file. The caller keeps `fd` open as long as *out lives. */
int elf_open_fd(int fd, struct elf **out);

/* As elf_open, for bytes in memory, which the caller keeps as long as *out lives. */
int elf_open_memory(const void *data, size_t len, struct elf **out);
void elf_free(struct elf *e);

AUTO_DEFINE(elf, struct elf *, elf_free)
#define auto_elf __attribute__((cleanup(auto_elf_run)))

u16 elf_machine(const struct elf *e); /* EM_X86_64, ... */
u64 elf_entry(const struct elf *e);   /* entry point of a program; 0 in most libraries */
bool elf_is_64(const struct elf *e);

/* All program headers, PT_LOAD and others, in the file's order; owned by the elf. */
const struct elf_segment *elf_segments(const struct elf *e, size_t *nr);

/*
 * The PT_LOAD whose bytes in the file hold `vaddr`, or NULL. *left gets the number of its bytes
 * from there on.
 */
const struct elf_segment *elf_segment_of(const struct elf *e, u64 vaddr, u64 *left);

/*
 * All section headers with the empty first one; 0 headers if the file's table is missing or
 * damaged.
 */
const struct elf_section *elf_sections(const struct elf *e, size_t *nr);

/* The first section of that name, or NULL. */
const struct elf_section *elf_section_find(const struct elf *e, const char *name);

/*
 * Returns the bytes of a section, which the caller frees. Decompresses SHF_COMPRESSED (zlib).
 * -ENODATA if the section is SHT_NOBITS, -EFBIG if it has more than `max` bytes, -ENOTSUP if it
 * uses another compression. An empty section gives len 0 and a pointer that must be freed.
 */
int elf_section_read(const struct elf *e, const struct elf_section *s, size_t max, void **out,
		     size_t *len);

/* Reads exactly `len` bytes of the file at `off`; -EBADMSG if the file is shorter. */
int elf_read_at(const struct elf *e, u64 off, void *buf, size_t len);

/* As elf_read, at an address; -EBADMSG if the file does not hold the bytes in one PT_LOAD. */
int elf_read_vaddr(const struct elf *e, u64 vaddr, void *buf, size_t len);

/* Reads the GNU build id; -ENOENT if the file has none. *len is at most ELF_BUILD_ID_MAX. */
int elf_build_id(const struct elf *e, u8 out[ELF_BUILD_ID_MAX], size_t *len);

/*
 * *out gets the number to subtract from a process's address to get an address in the terms of the
 * file. The executable mapping starts at `map_start` and holds the file from `map_file_off` on.
 * *out may wrap around. -ENOENT if no PT_LOAD holds that part of the file.
 */
int elf_bias(const struct elf *e, u64 map_start, u64 map_file_off, u64 *out);

/* As elf_bias, for program headers that were read before. */
int elf_bias_of(const struct elf_segment *segments, size_t nr, u64 map_start, u64 map_file_off,
		u64 *out);
