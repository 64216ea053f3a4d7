/* SPDX-License-Identifier: Apache-2.0 */
/* JSON that is written as it comes, for files too large to build first. */
#pragma once

#include <stdio.h>

/* A string in quotes; `text` is valid UTF-8. '<' is escaped too, so that it may stand in a page. */
void json_write_text(const char *text, FILE *out);
