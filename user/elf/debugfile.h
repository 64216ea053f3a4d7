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

enum debug_place {
	DEBUG_BY_BUILD_ID, /* below the host's folder; packages link from there to anywhere */
	DEBUG_BY_LINK,     /* below the host's folder; links stay below it */
	DEBUG_IN_PROCESS,  /* a path as a process that maps the module sees it */
};

/* How to open debug files of a module: at once, or by asking another process. */
struct debug_places {
	const char *path; /* of the module, as its process sees it */
	/* Returns a descriptor of a file that debugfile_is_trusted, or a negative errno. */
	int (*open)(enum debug_place place, const char *path, void *ctx);
	void *ctx;
};

/* Whether a debug file belongs to root, to this user or to the owner of the module. */
bool debugfile_is_trusted(int fd, uid_t owner);

/*
 * Opens a path of the first two places, where `root` is the host's folder. Anybody may have chosen
 * the path. -EPERM if the file is not trusted.
 */
int debugfile_open_host(const char *root, enum debug_place place, const char *path);

/*
 * Searches the host's folder by build id and by link. Then searches DEBUG_ROOT of the process by
 * build id, and the module's folder, or its .debug folder, by link.
 *
 * Returns a descriptor or a negative errno: -ENOENT if the file is missing, -ESTALE if it belongs
 * to another module, -EFBIG if it is too large to compute its checksum.
 */
int debugfile_find(const struct elf *module, const struct debug_places *in);

/*
 * Returns the decompressed ELF file of .gnu_debugdata, which the caller frees. -ENOENT or -EFBIG.
 */
int debugfile_embedded(const struct elf *module, void **out, size_t *len);
