/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of native code of processes. Symbol tables are read when the first address of a module
 * needs them, shared by all processes that map the same module (same build id, size and owner;
 * without a build id same device, inode, size and time of change, never the path), and the least
 * recently used ones go when all take more than the budget. What has no names is remembered too.
 * Sources of names: elf/symbols.h and, for modules without .symtab, elf/debugfile.h.
 */
#pragma once

#include "base/auto.h"
#include "base/types.h"
#include "proc/mapping.h"

struct native;

struct native_name {
	const char *symbol; /* demangled; NULL if unknown */
	const char *module; /* "libc.so.6", "[vdso]", "java"; "[anon]" for memory without a file */
	u64 offset;   /* of the pc in the module, as its file counts; in "[anon]" from its start */
	u64 function; /* the same of its function's start; of the pc where that is unknown */
	bool is_libjvm;
};

/* `debug_root` holds separate debug files: DEBUG_ROOT of elf/debugfile.h. */
struct native *native_new(size_t budget_bytes, const char *debug_root);
void native_free(struct native *n);

/*
 * Names `pc` of process `pid`, which lies in its mapping `m`. Always fills `out`; its strings
 * are valid until the next call. Returns 0 if there is a symbol, else why not: -ENOENT if no
 * function is known there or the file is not to be found, -ESTALE if another file has taken its
 * place, -EACCES or -EPERM, -ENOEXEC if it is no ELF file, -EBADMSG if it is a damaged one.
 * A process that has ended is named as far as its modules were seen before or still lie at their
 * paths. The caller asks for many addresses in the order of their mappings: with more modules in
 * use than fit the budget, any other order reads their tables over and over.
 */
int native_name(struct native *n, pid_t pid, const struct mapping *m, u64 pc,
		struct native_name *out);

/* What the tables take now, in bytes, and how many modules they name. */
size_t native_bytes(const struct native *n);
size_t native_nr_modules(const struct native *n);

AUTO_DEFINE(native, struct native *, native_free)
#define auto_native __attribute__((cleanup(auto_native_run)))
