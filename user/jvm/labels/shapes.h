/* SPDX-License-Identifier: Apache-2.0 */
/* What BPF does with objects of a class on the way to a label's value. Private to jvm/labels. */
#pragma once

#include "base/str.h"
#include "jvm/labels/label_path.h"
#include "jvm/memory/boot_classes.h"
#include "jvm/memory/java_objects.h"

enum jdk_class {
	OF_OBJECT,
	OF_THREAD,
	OF_REFERENCE,
	OF_LOCAL,
	OF_STRING,
	/* These may not be loaded. */
	OF_MAP,
	OF_ENTRY,
	OF_INHERITABLE,
	OF_ENUM,
	OF_HASH_MAP,
	OF_HASH_NODE,
	OF_CONCURRENT_MAP,
	OF_CONCURRENT_NODE,
	OF_SCOPED,
	OF_SNAPSHOT,
	OF_CARRIER,
	NR_JDK_CLASSES,
};

/* A JVM, and its classes that matter here. */
struct label_jvm {
	struct java_objects objects;
	struct boot_class classes[NR_JDK_CLASSES];
};

/* Whether a class is another one, or one of its subclasses. */
bool jdk_is_a(const struct vm_memory *j, u64 klass, u64 super);

/* The name of a class for people; the caller frees it. */
char *jdk_class_name(const struct vm_memory *j, u64 klass);

/*
 * The first field of a class that a part of a path names, as java_field_of; -ENOENT with a sentence
 * in `why` if there is none.
 */
int jdk_field_of(const struct vm_memory *j, u64 klass, const char *names, u32 *offset, char *type,
		 struct str *why);

/* The way of one label from its ThreadLocal's value on. */
struct label_way {
	const struct path_part *parts;
	u32 nr_parts;
	bool is_preset; /* of a class that lacks the field, there is no value */
};

/*
 * Adds to `out` what is done with objects of this class (as in a header) at a step of the way.
 * Returns 1 if it ends the way, 0 if not. -ENOENT with a sentence in `why` if such an object has no
 * value, -E2BIG if the label has no room for the shape, -EFAULT.
 */
int shape_add(const struct vm_memory *j, const struct label_jvm *of, const struct label_way *way,
	      u32 step, u64 class, struct java_label *out, struct str *why);

/* Fills in the keys of the way. -E2BIG if there are too many. */
int shape_keys(const struct label_way *way, struct java_label *out, struct str *why);
