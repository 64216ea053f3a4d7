/* SPDX-License-Identifier: Apache-2.0 */
/* Unwind rows in the form that BPF searches. They are half as large, which saves cache misses. */
#pragma once

#include "abi.h"
#include "elf/rows.h"

/* A module's part of unwind_rows; see union unwind_word. */
struct packed {
	union unwind_word *words; /* owned */
	u32 nr, nr_rules, nr_pages;
};

/*
 * -EFBIG if the rows have more different rules than a row can number. Also -EFBIG if the rows are
 * so sparse that they need more pages than there are rows, and more than `most_pages`. The caller
 * owns *out.
 */
int packed_new(const struct rows *rows, u32 most_pages, struct packed *out);
void packed_fini(struct packed *p);

#define auto_packed __attribute__((cleanup(packed_fini)))
