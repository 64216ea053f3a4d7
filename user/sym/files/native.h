/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of processes' native code. A module's symbol table is read when its first address is named.
 * Processes share it if they map the same module: the same build id, size and owner. Without a
 * build id it is the same device, inode, size and time of change, never the path. Tables beyond the
 * budget are dropped, the least recently used first, and those of a user whose tables take more
 * than a quarter of it before all others. Modules without names are remembered too. Names come from
 * elf/symbols.h and, for modules without .symtab, from elf/debugfile.h.
 */
#pragma once

#include "base/auto.h"
#include "base/dict.h"
#include "base/types.h"
#include "proc/mapping.h"
#include "proc/target_file.h"
#include "profile/unnamed.h"
#include "sandbox/workers.h"

struct native;

struct native_name {
	const char *symbol; /* demangled; NULL if unknown */
	const char *module; /* "libc.so.6", "[vdso]", "java"; "[anon]" for memory without a file */
	/* of the pc, by the file's own addresses; for "[anon]" counted from the mapping's start */
	u64 offset;
	/* If `symbol` is NULL: the bounds of the function, or the pc (UNNAMED_ADDRESS). Its
	 * build_id is not set: the members below have it. */
	struct unnamed unnamed;
	const u8 *build_id; /* of the module; valid as long as the strings */
	size_t build_id_len;
	bool is_libjvm;
	bool is_program; /* the module is known to be an ELF file, or is the kernel's */
	bool is_role;    /* the symbol was stripped: the name is that of the function's role */
	bool is_guess;   /* the name is that of the function before it: symbols_is_guess */
	/* the reason why there is no symbol is temporary: do not cache this name */
	bool is_passing;
};

/* `debug_root` holds separate debug files: DEBUG_ROOT of elf/debugfile.h. */
struct native *native_new(size_t budget_bytes, const char *debug_root);
void native_free(struct native *n);

/* Lets workers read the files; without them they are read in this process. Before native_name. */
void native_use_workers(struct native *n, struct workers *workers);

/* Sets the budget, and drops tables beyond it. */
void native_set_budget(struct native *n, size_t budget_bytes);

/*
 * Drops the places and files that were not used since the previous call, and tables that were not
 * used for NATIVE_TABLE_TURNS calls.
 */
#define NATIVE_TABLE_TURNS 60
void native_turn(struct native *n);

/* Reports the tables, and the files and places that lead to them. */
void native_each_cache(const struct native *n, cache_use_fn visit, void *ctx);

/*
 * Names `pc` of process `by->pid`, in its mapping `m`. Always fills in `out`; its strings are valid
 * until the next call. Returns 0 if there is a symbol. -ENOENT: no function is known there, or the
 * file was not found. -ESTALE: another file has replaced it. -EACCES, -EPERM: no right to read it.
 * -ENOEXEC: not an ELF file. -EBADMSG: a damaged ELF file. -EAGAIN: a worker is reading it; ask
 * again. -ETIMEDOUT: that took too long. -EBUSY, -EMFILE and others: not now; is_passing is set.
 * For a process that has ended it works if its modules were seen before, or are still at their
 * paths in an ancestor's root or in ours. Ask for many addresses in the order of their mappings. If
 * the modules in use exceed the budget, any other order reads their tables repeatedly.
 */
int native_name(struct native *n, const struct mapper *by, const struct mapping *m, u64 pc,
		struct native_name *out);

AUTO_DEFINE(native, struct native *, native_free)
#define auto_native __attribute__((cleanup(auto_native_run)))
