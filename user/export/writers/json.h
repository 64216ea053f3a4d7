/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON as a stream, for files too large to build in memory. */
#pragma once

#include <stdio.h>

/* Writes a string in quotes. `text` is valid UTF-8. '<' is escaped too, for use in a page. */
void json_write_text(const char *text, FILE *out);
