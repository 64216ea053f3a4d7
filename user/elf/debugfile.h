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

/*
 * Opens ROOT/.build-id/ab/cdef.debug, which must belong to root or to this user. Returns a
 * descriptor or a negative errno: -ENOENT if the file is missing, -ESTALE if it belongs to another
 * module, -EPERM if another user owns it.
 */
int debugfile_by_build_id(const struct elf *module, const char *root);

/*
 * Opens the file that .gnu_debuglink names, in the folder `dir` or in its .debug folder. `dir` and
 * every link on the way are resolved inside `rootfd`. The file must belong to `owner`, to root or
 * to this user. Returns as above; -EFBIG if the file is too large to compute its checksum.
 */
int debugfile_by_link(const struct elf *module, int rootfd, const char *dir, uid_t owner);

/* Where the debug file of a module may be. */
struct debug_places {
	const char *root;   /* the host's folder of debug files: DEBUG_ROOT */
	const char *target; /* the root folder of a process that maps the module: "/proc/N/root" */
	const char *path;   /* path of the module, as that process sees it */
	uid_t owner;        /* owner of the module's file */
};

/*
 * Searches `root` by build id and by link. Then searches DEBUG_ROOT of `target` by build id, and
 * the module's folder by link. Returns as above.
 */
int debugfile_find(const struct elf *module, const struct debug_places *in);

/*
 * Returns the decompressed ELF file of .gnu_debugdata, which the caller frees. -ENOENT or -EFBIG.
 */
int debugfile_embedded(const struct elf *module, void **out, size_t *len);
