/* SPDX-License-Identifier: Apache-2.0 */
/* Makes names of Java methods readable; docs/names.md has the rules. */
#pragma once

#include "base/str.h"

/* Compiled Clojure calls a function's code (INNER) through a method of its object (OUTER). */
enum clojure_part {
	CLOJURE_NONE,
	CLOJURE_OUTER, /* invoke, doInvoke */
	CLOJURE_INNER, /* invokeStatic, invokePrim */
};

/*
 * Appends the readable name: classes with dots, Clojure functions as in the source. Leaves out the
 * numbers that the JVM and libraries give to generated classes. Names that are already readable
 * stay unchanged.
 */
enum clojure_part java_name_show(const char *name, struct str *out);

/* Like java_name_show, for a class name alone. It may be an array: "a.B[]". */
void java_class_show(const char *name, struct str *out);

/* Appends the name without the numbers that change from one compilation to the next. */
void java_name_drop_ids(const char *name, struct str *out);
