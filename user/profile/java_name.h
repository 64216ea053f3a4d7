/* SPDX-License-Identifier: Apache-2.0 */
/* Names of Java methods as people read them; docs/names.md has the rules. */
#pragma once

#include "base/str.h"

/* Compiled Clojure calls the code of a function (INNER) through a method of its object (OUTER). */
enum clojure_part {
	CLOJURE_NONE,
	CLOJURE_OUTER, /* invoke, doInvoke */
	CLOJURE_INNER, /* invokeStatic, invokePrim */
};

/*
 * Appends the name that is shown: classes with dots, Clojure functions as they are written in
 * source, and without the numbers that the JVM and libraries give to classes they make. Names that
 * are shown already stay as they are.
 */
enum clojure_part java_name_show(const char *name, struct str *out);

/* The same for the name of a class alone, which may be an array's: "a.B[]". */
void java_class_show(const char *name, struct str *out);

/* Appends the name without the numbers that differ from one compilation to the next. */
void java_name_drop_ids(const char *name, struct str *out);
