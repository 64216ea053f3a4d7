/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes of a JVM by name. Private to user/jvm.
 */
#pragma once

#include "jvm/memory/vm_memory.h"

/*
 * Classes of the JDK by name. The boot loader's ClassLoaderData heads a list of its classes
 * (classfile/classLoaderData.hpp). A new class is put in front, and none is ever taken off: what
 * was walked once need not be walked again.
 */

struct boot_class {
	const char *name; /* "java/lang/Thread" */
	u64 klass;        /* 0: not found (yet) */
};

struct boot_pages;

/* The progress of a search; {0} at first. */
struct boot_search {
	u64 head, known;          /* of the list in this walk; where it may stop */
	u64 next;                 /* Klass to look at next; 0: no walk is under way */
	u32 nr_walked;            /* in this walk */
	u64 loader;               /* of loaded_classes_find: the one whose list is walked */
	u32 nr_loaders;           /* walked so far */
	struct boot_pages *pages; /* memory read during this walk */
};

/*
 * Fills in `klass` of the wanted classes that the JVM has loaded since the last search. Returns 0,
 * -EAGAIN if it took as long as `limit_ns` of work and goes on with the next call, -ENOENT if this
 * build does not export the list, -EFAULT or -ESRCH.
 */
int boot_classes_find(const struct vm_memory *j, struct boot_search *s, struct boot_class *wanted,
		      size_t nr, u64 limit_ns);

/*
 * As boot_classes_find, for the classes of all loaders; the first class of a name counts. Each
 * search looks at all of them, as applications load classes at any time and unload them.
 */
int loaded_classes_find(const struct vm_memory *j, struct boot_search *s, struct boot_class *wanted,
			size_t nr, u64 limit_ns);
void boot_search_fini(struct boot_search *s);
