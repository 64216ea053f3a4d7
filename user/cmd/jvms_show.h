/* SPDX-License-Identifier: Apache-2.0 */
/* Prints JVMs as a table, as paragraphs or as JSON to standard output; reads each while printing.
 */
#pragma once

#include "jvm/process/javaproc.h"

/* A table; drops the least important columns until it fits `width`. */
void jvms_show_table(const struct javaprocs *all, size_t width);

/* A paragraph each. */
void jvms_show_long(const struct javaprocs *all);

/* An array of objects as in docs/operations.md. */
void jvms_show_json(const struct javaprocs *all);
