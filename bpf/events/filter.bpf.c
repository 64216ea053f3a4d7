// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Filters on the arguments of tracepoints. The kernel's own filters apply to perf events. A program
 * on a tracepoint runs before them, so it has to evaluate the filter itself.
 */
#include "events/filter.h"

#include "filter_abi.h"
#include "maps.h"

#define TEXT_UNREADABLE (~0u)

static __always_inline struct filter_work *work_of(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&filter_works, &zero);
}

static __always_inline const struct filter_test *test_of(u32 event, u32 number)
{
	const struct filter *f = bpf_map_lookup_elem(&filters, &event);

	if (!f)
		return NULL;
	keep_as_written(f); /* no arithmetic before the check */
	return &f->tests[number & (FILTER_TESTS - 1)];
}

/* The bytes of the field, extended to 64 bits. */
static __always_inline long read_number(const struct filter_work *w, const struct filter_test *t,
					u64 *out)
{
	const void *from = (const void *)(w->base + t->offset);
	u64 value = 0;
	long err;

	switch (t->size) {
	case 1:
		err = bpf_probe_read_kernel(&value, 1, from);
		*out = t->is_signed ? (u64)(s64)(s8)value : value;
		return err;
	case 2:
		err = bpf_probe_read_kernel(&value, 2, from);
		*out = t->is_signed ? (u64)(s64)(s16)value : value;
		return err;
	case 4:
		err = bpf_probe_read_kernel(&value, 4, from);
		*out = t->is_signed ? (u64)(s64)(s32)value : value;
		return err;
	default:
		err = bpf_probe_read_kernel(&value, 8, from);
		*out = value;
		return err;
	}
}

/*
 * Reads the test's string into `text`. Returns its greatest possible length, or TEXT_UNREADABLE.
 * This function and the next ones are global: the verifier checks each once.
 */
__noinline u32 filter_read_text(u32 event, u32 number)
{
	const struct filter_test *t = test_of(event, number);
	struct filter_work *w = work_of();
	u64 place = 0;
	long err;

	if (!t || !w)
		return TEXT_UNREADABLE;
	if (t->source == FILTER_COMM) {
		err = bpf_get_current_comm(w->text, ABI_COMM_LEN);
		return err ? TEXT_UNREADABLE : ABI_COMM_LEN;
	}
	u32 max = t->size && t->source == FILTER_ARRAY ? t->size : FILTER_TEXT;
	if (max > FILTER_TEXT)
		max = FILTER_TEXT;
	if (t->source == FILTER_ARRAY) {
		place = w->base + t->offset;
	} else {
		u32 loc = 0;
		bool is_pointer = t->source == FILTER_POINTER || t->source == FILTER_USER_POINTER;
		const void *from = (const void *)(w->base + t->offset);
		err = is_pointer ? bpf_probe_read_kernel(&place, sizeof(place), from)
				 : bpf_probe_read_kernel(&loc, sizeof(loc), from);
		if (err)
			return TEXT_UNREADABLE;
		if (!is_pointer)
			place = w->base + (loc & 0xffff) +
				(t->source == FILTER_REL_LOC ? t->offset + sizeof(loc) : 0);
	}
	err = t->source == FILTER_USER_POINTER
		      ? bpf_probe_read_user_str(w->text, FILTER_TEXT, (const void *)place)
		      : bpf_probe_read_kernel_str(w->text, FILTER_TEXT, (const void *)place);
	return err < 0 ? TEXT_UNREADABLE : max;
}

/* Runs the automaton of the pattern over `text`, up to its NUL or `max` characters. */
__noinline u32 filter_matches(u32 key, u32 max)
{
	const struct filter_pattern *p = bpf_map_lookup_elem(&filter_patterns, &key);
	const struct filter_work *w = work_of();
	u64 states = 1;

	if (!p || !w)
		return false;
	for (u32 i = 0; i < FILTER_TEXT && i < max; i++) {
		keep_as_written(i);
		u8 c = w->text[i];
		if (!c)
			break;
		states = (states & p->accept[c]) << 1 | (states & p->stars);
	}
	return states >> (p->nr & 63) & 1;
}

static __always_inline bool compares(const struct filter_test *t, u64 value)
{
	switch (t->op) {
	case FILTER_EQUAL:
		return value == t->value;
	case FILTER_LESS:
		return t->is_signed ? (s64)value < (s64)t->value : value < t->value;
	case FILTER_LESS_EQUAL:
		return t->is_signed ? (s64)value <= (s64)t->value : value <= t->value;
	default:
		return value & t->value;
	}
}

/* Whether the test is true. A test of an unreadable string is false, as in the kernel. */
__noinline u32 filter_holds(u32 event, u32 number)
{
	const struct filter_test *t = test_of(event, number);
	const struct filter_work *w = work_of();
	u64 value = 0;

	if (!t || !w)
		return false;
	if (t->op == FILTER_MATCH) {
		u32 max = filter_read_text(event, number);
		u32 key = event * FILTER_PATTERNS + t->pattern;
		return max != TEXT_UNREADABLE && filter_matches(key, max) != t->is_not;
	}
	if (t->source == FILTER_CPU)
		value = bpf_get_smp_processor_id();
	else if (t->source == FILTER_TID)
		value = (u32)bpf_get_current_pid_tgid();
	else if (read_number(w, t, &value))
		return false;
	return compares(t, value) != t->is_not;
}

/* The test after that one. */
__noinline u32 filter_next(u32 event, u32 number)
{
	const struct filter_test *t = test_of(event, number);

	if (!t)
		return FILTER_DROP;
	return filter_holds(event, number) ? t->if_true : t->if_false;
}

__hidden bool filter_passes(void *ctx, u32 event)
{
	struct filter_work *w = work_of();
	u32 next = 0;

	if (!w)
		return false;
	w->base = (u64)ctx;
	for (u32 i = 0; i < FILTER_TESTS; i++) {
		if (next >= FILTER_TESTS)
			break;
		next = filter_next(event, next);
	}
	return next == FILTER_PASS;
}
