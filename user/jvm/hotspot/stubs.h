/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The routines in HotSpot's blobs of many routines. Private to user/jvm. libjvm lists the routines
 * of its stub generators as StubCodeDescs (code/stubCodeGenerator.hpp), with name, begin and end.
 * It exports no pointer to that list; it is found by a search of libjvm's variables. A vtable or
 * itable stub is recognised by the VtableStub before its code (code/vtableStubs.hpp).
 */
#pragma once

#include "base/vec.h"
#include "jvm/memory/codeheap.h"

struct hotspot;

struct stub_routine {
	u64 start, end;   /* [start, end) */
	const char *name; /* owned */
};

typedef VEC(struct stub_routine) stub_routine_list;

struct stub_routines {
	u64 list;     /* address of the variable StubCodeDesc::_list; 0: not found yet */
	u32 begin_at; /* offset of StubCodeDesc::_begin */
	stub_routine_list all;
	u64 next_read_ns, pause_ns; /* the list grows while the JVM starts */
};

void stub_routines_fini(struct stub_routines *s);

/*
 * The name of the routine at `pc` in a blob that is not an nmethod; NULL if only the blob's own
 * name is known. It lives as long as `h`.
 */
const char *stubs_find(struct hotspot *h, const struct blob *b, const char *blob_name, u64 pc);

/* Whether a blob of that name holds many routines; its name then names none of them. */
bool stubs_is_container(const char *blob_name);
