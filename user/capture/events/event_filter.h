/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters on the arguments of tracepoints, in the kernel's language
 * (Documentation/trace/events.rst): `prev_prio < 100 && next_comm ~ "java*"`. The BPF program of
 * the tracepoint evaluates them (bpf/events/filter.bpf.c).
 */
#pragma once

#include "base/str.h"
#include "base/types.h"
#include "base/vec.h"
#include "filter_abi.h"

/* The fields of a tracepoint's record, by its file `format` in tracefs. */
struct filter_field {
	char *name;
	u16 offset, size;
	bool is_signed;
	bool is_text;
	bool is_array; /* an array of numbers, which cannot be compared */
	enum filter_source source;
};

struct filter_fields {
	VEC(struct filter_field) list;
};

/*
 * Parses the text of a file `format` and adds the kernel's own names, CPU and COMM. The record of a
 * system call, `is_syscall`, holds no strings for BPF programs. Lines of another form are skipped.
 */
void filter_fields_parse(const char *format, bool is_syscall, struct filter_fields *out);
void filter_fields_fini(struct filter_fields *all);

/* NULL if there is no such field. Fields of the tracepoint come before the kernel's own names. */
const struct filter_field *filter_fields_find(const struct filter_fields *all, const char *name,
					      size_t len);

/* Adds the names that resemble this one: "; near names: prev_pid, next_pid". */
void filter_fields_suggest(const struct filter_fields *all, const char *name, struct str *why);

struct event_filter {
	char *text;
	struct filter filter;
	struct filter_pattern patterns[FILTER_PATTERNS];
	u32 nr_patterns;
};

/*
 * Parses `text` for a tracepoint with these fields. -EINVAL, with a sentence about the first
 * mistake in `why`, if the text is wrong or takes more than a filter can hold.
 */
int event_filter_parse(const char *text, const struct filter_fields *fields,
		       struct event_filter **out, struct str *why);
void event_filter_free(struct event_filter *f);
