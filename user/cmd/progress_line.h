/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line on the terminal that shows the work of a command which takes longer than a second:
 * "reading big.jfr, 43 %, 2 s". It is erased at the end, and before messages. Only one at a time.
 */
#pragma once

#include <stdbool.h>

/* Shows nothing if `is_quiet`, or if standard error is not a terminal. */
void progress_line_begin(bool is_quiet);

/*
 * The present step: `verb` is a constant, `path` may be NULL. The position of `fd` shows how much
 * is done, -1: unknown. Call it again before the descriptor is closed. No effect without a line.
 */
void progress_line_step(const char *verb, const char *path, int fd);

/* Erases the line. Call it before the command prints its result. */
void progress_line_end(void);
