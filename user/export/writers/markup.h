/* SPDX-License-Identifier: Apache-2.0 */
/* Writes text inside HTML and XML. */
#pragma once

#include <stdio.h>

/*
 * Escapes clean UTF-8: it stays text and never becomes markup, between tags and in quoted
 * attributes.
 */
void markup_escape(const char *text, FILE *out);
