/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Filters on the arguments of tracepoints, as user space compiles them
 * (user/capture/events/event_filter.h). A filter is a list of tests, each with the number of the
 * next one by its result. Tests have the order of the text, so a next test always comes later in
 * the list.
 */
#pragma once

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define FILTER_TESTS    32
#define FILTER_PASS     0xfe /* instead of a next test: the hit counts */
#define FILTER_DROP     0xff
#define FILTER_PATTERNS 8   /* strings of one filter */
#define FILTER_TEXT     512 /* longer strings are compared up to here */
#define FILTER_ELEMENTS 63  /* characters of a pattern besides its stars */

enum filter_source {
	FILTER_NUMBER,       /* a field of 1, 2, 4 or 8 bytes */
	FILTER_CPU,          /* the CPU of the hit */
	FILTER_TID,          /* the thread of the hit */
	FILTER_COMM,         /* its name */
	FILTER_ARRAY,        /* a field of characters */
	FILTER_LOC,          /* a string whose place in the record is in the field */
	FILTER_REL_LOC,      /* as FILTER_LOC, but counted from the field's end */
	FILTER_POINTER,      /* a string whose address is in the field */
	FILTER_USER_POINTER, /* the same, in the process */
};

enum filter_op {
	FILTER_EQUAL,
	FILTER_LESS,
	FILTER_LESS_EQUAL,
	FILTER_AND, /* has any of these bits */
	FILTER_MATCH,
};

struct filter_test {
	__u64 value;            /* extended to 64 bits as the field is */
	__u16 offset, size;     /* position of the field in the tracepoint's record */
	__u8 source, op;        /* enum filter_source, enum filter_op */
	__u8 is_signed;         /* the field */
	__u8 is_not;            /* true where the comparison is false */
	__u8 if_true, if_false; /* the next test, FILTER_PASS or FILTER_DROP */
	__u8 pattern;           /* of the event */
	__u8 reserved[5];
};
_Static_assert(sizeof(struct filter_test) == 24, "filter_test is part of the map ABI");

struct filter {
	struct filter_test tests[FILTER_TESTS];
};

/*
 * A pattern as an automaton. State i means that the first i elements have matched. Bit i of
 * accept[c]: element i matches the character c. Bit i of stars: a star is before element i.
 */
struct filter_pattern {
	__u64 accept[256];
	__u64 stars;
	__u32 nr, reserved; /* elements, without stars */
};
