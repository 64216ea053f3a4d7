/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes bytes as text that may stand in an HTML element. It puts 13 bits into two of 91
 * characters, which takes 8 % less space than base64 (docs/profile-format.md).
 */
#pragma once

#include <stdio.h>

#include "base/str.h"

void base91_write(const struct str *bytes, FILE *out);

/* Decodes the text up to its first invalid character and appends the bytes. Skips white space. */
void base91_read(const char *text, size_t len, struct str *out);
