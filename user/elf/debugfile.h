/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the symbols of a stripped module are kept: embedded in .gnu_debugdata, or in a separate
 * file that its build id or .gnu_debuglink names (GDB manual, "Separate Debug Files"). What is
 * found is used only if it proves to belong to the module: by an equal build id or, where the
 * module has none, by the checksum in the link.
 */
#pragma once

#include "elf/elf.h"

/* The folder under which distributions keep debug files. */
#define DEBUG_ROOT "/usr/lib/debug"

/*
 * ROOT/.build-id/ab/cdef.debug, a file of root or of ourselves. Returns a descriptor or a
 * negative errno: -ENOENT if there is no such file, -ESTALE if it belongs to another module,
 * -EPERM if it is anybody's.
 */
int debugfile_by_build_id(const struct elf *module, const char *root);

/*
 * The file that .gnu_debuglink names, in the folder `dir` or in its .debug folder. `dir` and
 * every link on the way are resolved inside of `rootfd`; the file must belong to `owner`, to
 * root or to ourselves. Returns as above; -EFBIG if it is too large for its checksum.
 */
int debugfile_by_link(const struct elf *module, int rootfd, const char *dir, uid_t owner);

/* Where the debug file of a module may lie. */
struct debug_places {
	const char *root;   /* the host's folder of them: DEBUG_ROOT */
	const char *target; /* the root folder of a process that maps the module: "/proc/N/root" */
	const char *path;   /* of the module, as that process sees it */
	uid_t owner;        /* of the module */
};

/*
 * By build id and by link, under `root`; then by build id under DEBUG_ROOT of `target`, and by link
 * beside the module. Returns as above.
 */
int debugfile_find(const struct elf *module, const struct debug_places *in);

/* The ELF file embedded in .gnu_debugdata, decompressed, for the caller to free. -ENOENT, -EFBIG.
 */
int debugfile_embedded(const struct elf *module, void **out, size_t *len);
