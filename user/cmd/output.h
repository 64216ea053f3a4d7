/* SPDX-License-Identifier: Apache-2.0 */
/* Standard output at the end of a command. */
#pragma once

/*
 * Flushes standard output. Returns the exit status: 0, also if the reader of the pipe has gone, as
 * `head` does. Otherwise logs an error and returns EXIT_FAILED.
 */
int output_finish(void);
