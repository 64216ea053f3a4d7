/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people read them. */
#pragma once

#include "base/str.h"
#include "base/types.h"

/* 1234567 as "1,234,567"; bytes as "1.23 MB", ns as "4.56 s"; any other unit as a plain number. */
void amount_add(struct str *out, u64 value, const char *unit);

/* 12.345 of 100 as "12.35 %"; 0 of 0 is 0. */
void share_add(struct str *out, u64 part, u64 whole);

/*
 * A frame's name in at most `room` characters, without marks that turn the direction of text:
 * Java names lose their package, then their class, before anything is cut.
 */
void short_name_add(struct str *out, const char *name, bool is_java, size_t room);

/* Characters, not bytes. */
size_t text_width(const char *text);
