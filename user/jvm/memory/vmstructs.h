/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables in which libjvm describes its own types: gHotSpotVMStructs, -Types, -IntConstants and
 * -LongConstants (src/hotspot/share/runtime/vmStructs.hpp). They are read from a running process,
 * because they contain relocated pointers.
 */
#pragma once

#include "elf/image.h"
#include "proc/mem.h"

struct vmstructs;

struct vmfield {
	const char *type, *name; /* "CodeBlob", "_size" */
	const char *type_string; /* "int", "address", ...: gives the width */
	bool is_static;
	u64 at; /* offset in the object; address of the variable if static */
};

/*
 * -ENOENT if the image has no such tables, -EAGAIN if they are not relocated yet, -EBADMSG if they
 * describe themselves implausibly. Tables that cannot be read to the end are used as far as
 * possible, see vmstructs_is_cut. The caller owns *out.
 */
int vmstructs_read(struct mem *m, const struct image *img, struct vmstructs **out);
void vmstructs_free(struct vmstructs *v);

/* NULL if this JVM does not export the field. */
const struct vmfield *vmstructs_field(const struct vmstructs *v, const char *type,
				      const char *name);
bool vmstructs_type_size(const struct vmstructs *v, const char *type, u64 *size);

/* An int or long constant. */
bool vmstructs_constant(const struct vmstructs *v, const char *name, s64 *value);
bool vmstructs_is_cut(const struct vmstructs *v);
size_t vmstructs_nr(const struct vmstructs *v);
