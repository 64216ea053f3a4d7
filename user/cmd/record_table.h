/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the options of `sysflame record`. */
#pragma once

#include "base/opt.h"
#include "base/vec.h"
#include "cmd/record_options.h"

typedef VEC(struct opt) opt_table;

/* Adds all options, which set fields of *o. The caller frees the table with vec_fini. */
void record_table(struct record_options *o, opt_table *out);
