/* SPDX-License-Identifier: Apache-2.0 */
/* The code of a method, with calls of hooks added. Part of jvmmap/classfile.h. */
#pragma once

#include "jvmmap/code.h"

/*
 * Copies the content of a Code attribute, up to the end of e->in, with the calls. e->in is bad
 * afterwards if the code is invalid or would become too large.
 */
void code_hook(struct code *c);
