/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures of Java methods: "(ILjava/lang/String;)V" in class files, "(int,java.lang.String)void"
 * in names. */
#pragma once

#include "base/str.h"

/* Appends the readable form of a descriptor of a class file. Appends nothing if it is damaged. */
void java_signature_show(const char *descriptor, struct str *out);

/*
 * Appends the descriptor of the signature that `name` ends in, if any, readable or a descriptor.
 * Returns the length of the name without it.
 */
size_t java_signature_hide(const char *name, struct str *out);
