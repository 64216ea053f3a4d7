/* SPDX-License-Identifier: Apache-2.0 */
/* JVMs for people and for programs, on standard output; each is looked into while it is shown. */
#pragma once

#include "jvm/javaproc.h"

/* One line each; columns are left out, the least needed first, until `width` is enough. */
void jvms_show_table(const struct javaprocs *all, size_t width);

/* A paragraph each. */
void jvms_show_long(const struct javaprocs *all);

/* An array of objects as in docs/operations.md. */
void jvms_show_json(const struct javaprocs *all);
