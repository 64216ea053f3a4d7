/* SPDX-License-Identifier: Apache-2.0 */
/* Text inside HTML and XML. */
#pragma once

#include <stdio.h>

/* Writes clean UTF-8 so that it is text and never markup, between tags and in quoted attributes. */
void markup_escape(const char *text, FILE *out);
