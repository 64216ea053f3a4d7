/* SPDX-License-Identifier: Apache-2.0 */
/* Formats numbers and names for people. */
#pragma once

#include "base/str.h"
#include "base/types.h"

/* 1234567 as "1,234,567"; `text` has GROUPED_BYTES. */
#define GROUPED_BYTES 28
const char *grouped(u64 number, char *text);

/* 0 of 0 is 0. */
static inline double percent(u64 part, u64 whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/*
 * Appends 1234567 as "1,234,567", bytes as "1.23 MB", ns as "4.56 s". Other units give a plain
 * number.
 */
void amount_add(struct str *out, u64 value, const char *unit);

/* Appends 12.345 of 100 as "12.35 %"; 1 of a million is "< 0.01 %"; 0 of 0 is 0. */
void share_add(struct str *out, u64 part, u64 whole);

/*
 * Appends a frame's name in at most `room` characters, without text direction marks. A Java name
 * first loses its package, then its class; only then anything is cut off.
 */
void short_name_add(struct str *out, const char *name, bool is_java, size_t room);

/* The width of the text in characters, not bytes. */
size_t text_width(const char *text);
