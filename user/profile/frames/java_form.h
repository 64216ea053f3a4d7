/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises names of Java methods as perf maps write them; docs/names.md lists the forms. */
#pragma once

#include "base/str.h"

/*
 * Whether the text is a Java method in one of these forms: the JVM's own map ("void a.B.m(int)"),
 * perf-map-agent ("La/B;::m"), either one after stackcollapse-perf.pl, one with a descriptor
 * ("a/B.m(I)V"), or a method of a class that the JVM generated ("a.B$$Lambda+0x7f.m()"). Appends
 * "CLASS.METHOD", without types and addresses, to `out`, which may be NULL.
 */
bool java_form_unwrap(const char *text, size_t len, struct str *out);

/* Whether an entry of a perf map with this name is a Java method: the forms above and "a.B.m". */
bool java_form_is_method(const char *text, size_t len);

/*
 * The bytes of a method as perf-map-agent writes it, at the begin of the text; 0 if the text begins
 * otherwise. Its semicolons do not separate frames of collapsed text: "La/B;::m(La/C;)V". *seen:
 * how many bytes of the text decided it.
 */
size_t java_form_len(const char *text, size_t len, size_t *seen);
