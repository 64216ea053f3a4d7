/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as text that may stand in an HTML element: 13 bits in two of 91 characters, which is 8 %
 * less than base64 takes (docs/profile-format.md).
 */
#pragma once

#include <stdio.h>

#include "base/str.h"

void armour_write(const struct str *bytes, FILE *out);

/* Appends what the text holds up to its first foreign character; white space is skipped. */
void armour_read(const char *text, size_t len, struct str *out);
