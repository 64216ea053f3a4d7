/* SPDX-License-Identifier: Apache-2.0 */
/* The first line of a sample in the output of `perf script`. Private to read_perf.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

/* The words of the first line of a sample. */
struct perf_heading {
	char *comm, *event, *rest; /* owned; rest: the text after the event, a frame without -g */
	u32 pid, tid;
	u64 period;
	bool has_period;
};

/* Whether the line begins a sample; then fills *h, which perf_heading_fini frees. */
bool perf_take_heading(const char *line, size_t line_len, struct perf_heading *h);
void perf_heading_fini(struct perf_heading *h);

/* Whether the word is a time of perf, "123.456789:". */
bool perf_is_time(const char *word, size_t len);

/* Whether the text begins with the address of a frame on the line of its sample. */
bool perf_is_address(const char *at, const char *end);

/* Words of a text. The first returns the length of the next word in [*at, end), and moves *at. */
size_t text_next_word(const char **at, const char *end, const char **word);
bool text_is_made_of(const char *word, size_t len, const char *letters);
bool text_is_space(char c);
