/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of strings in filters, as automata for bpf/filter.bpf.c. */
#pragma once

#include "base/types.h"
#include "filter_abi.h"

/* A string to which the text must be equal. -E2BIG if it is longer than FILTER_ELEMENTS. */
int filter_pattern_equal(const char *text, size_t len, struct filter_pattern *out);

/*
 * A pattern as in the kernel's glob_match: star, question mark, [a-c], [!a-c], and \ before any of
 * them. -EINVAL if a bracket is not closed, -E2BIG as above.
 */
int filter_pattern_glob(const char *text, size_t len, struct filter_pattern *out);
