/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the symbols of a stripped module: embedded in .gnu_debugdata, or in a separate file named
 * by its build id or by .gnu_debuglink (GDB manual, "Separate Debug Files"). A file is used only if
 * it provably belongs to the module. It must have the same build id or, if the module has none, the
 * checksum in the link.
 */
#pragma once

#include "elf/elf.h"

/* The folder in which distributions install debug files. */
#define DEBUG_ROOT "/usr/lib/debug"

/* Where the debug file of a module may be. */
struct debug_places {
	const char *root; /* the host's folder of debug files: DEBUG_ROOT */
	const char *path; /* path of the module, as its process sees it */
	uid_t owner;      /* owner of the module's file */
	/* Opens a path as that process would, target_file_open say. NULL: only the host's folder.
	 */
	int (*open)(const char *path, void *ctx);
	void *ctx;
};

/*
 * Searches `root` by build id and by link. Then searches DEBUG_ROOT of the process by build id, and
 * the module's folder, or its .debug folder, by link. Links on the way stay within `root`, or the
 * root of the process. The file must belong to `owner`, to root or to this user.
 *
 * Returns a descriptor or a negative errno: -ENOENT if the file is missing, -ESTALE if it belongs
 * to another module, -EPERM if another user owns it, -EFBIG if it is too large to compute its
 * checksum.
 */
int debugfile_find(const struct elf *module, const struct debug_places *in);

/*
 * Returns the decompressed ELF file of .gnu_debugdata, which the caller frees. -ENOENT or -EFBIG.
 */
int debugfile_embedded(const struct elf *module, void **out, size_t *len);
