/* SPDX-License-Identifier: Apache-2.0 */
/* The first line of a sample in the output of `perf script`. Private to read_perf.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

/* The words of the first line of a sample, or of another record. */
struct perf_heading {
	char *comm, *event, *rest; /* owned; rest: the text after the event, a frame without -g */
	size_t name_end;           /* where comm ends on the line; 0 if it is empty */
	u32 pid, tid;
	u64 period;
	bool has_period, has_time;
	bool has_pair;  /* PID and TID */
	bool is_record; /* another record, such as PERF_RECORD_MMAP2; the texts may be NULL */
};

#define PERF_NAME_WIDTH 16 /* perf pads comm with "%16s"; it has at most 15 bytes */

/*
 * Whether the line, which is no perf_is_frame, begins a sample or is a record; then fills *h, which
 * perf_heading_fini frees.
 */
bool perf_take_heading(const char *line, size_t line_len, struct perf_heading *h);
void perf_heading_fini(struct perf_heading *h);

/* Whether perf has padded the name, which it does on lines that have no frames below them. */
bool perf_is_padded(const char *line, const struct perf_heading *h);

/* Whether the line is a frame in the columns of perf, "\t    7f6d1cedd99a main+0x1f (/bin/a)". */
bool perf_is_frame(const char *line, size_t len);

/* Whether the text begins with the address of a frame on the line of its sample. */
bool perf_is_address(const char *at, const char *end);

/* Words of a text. The first returns the length of the next word in [*at, end), and moves *at. */
size_t text_next_word(const char **at, const char *end, const char **word);
bool text_is_made_of(const char *word, size_t len, const char *letters);
bool text_is_space(char c);
