/* SPDX-License-Identifier: Apache-2.0 */
/* Filters on tracepoints: the parser, and the BPF source that evaluates its result. */
#include "host/unwinder.h"
#include "test.h"

#include <errno.h>
#include <string.h>

static u64 bpf_get_current_pid_tgid(void)
{
	return 70ull << 32 | 77;
}

static u32 bpf_get_smp_processor_id(void)
{
	return 3;
}

static long bpf_get_current_comm(void *out, u32 size)
{
	memset(out, 0, size);
	memcpy(out, "java", 4);
	return 0;
}

/* As in the kernel: address 0 cannot be read. */
static long bpf_probe_read_kernel(void *out, u32 size, const void *from)
{
	if (!from)
		return -EFAULT;
	memcpy(out, from, size);
	return 0;
}

static long bpf_probe_read_kernel_str(char *out, u32 size, const void *from)
{
	if (!from)
		return -EFAULT;
	size_t len = strnlen(from, size - 1);
	memcpy(out, from, len);
	out[len] = '\0';
	return (long)len + 1;
}

static long bpf_probe_read_user_str(char *out, u32 size, const void *from)
{
	return bpf_probe_read_kernel_str(out, size, from);
}

#include "../events/filter.bpf.c"

#include "base/near.h"
#include "capture/events/event_filter.h"

static const char format[] = "name: known\nID: 7\nformat:\n"
			     "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
			     "\tfield:int prio;\toffset:8;\tsize:4;\tsigned:1;\n"
			     "\tfield:unsigned char flags;\toffset:12;\tsize:1;\tsigned:0;\n"
			     "\tfield:short small;\toffset:14;\tsize:2;\tsigned:1;\n"
			     "\tfield:char name[16];\toffset:16;\tsize:16;\tsigned:0;\n"
			     "\tfield:__data_loc char[] path;\toffset:32;\tsize:4;\tsigned:0;\n"
			     "\tfield:__rel_loc char[] more;\toffset:36;\tsize:4;\tsigned:0;\n"
			     "\tfield:const char * where;\toffset:40;\tsize:8;\tsigned:0;\n"
			     "\tfield:unsigned long bytes;\toffset:48;\tsize:8;\tsigned:0;\n"
			     "\tfield:unsigned long args[6];\toffset:56;\tsize:48;\tsigned:0;\n"
			     "\nprint fmt: \"prio=%d\", REC->prio\n";

struct record {
	u64 regs;
	s32 prio;
	u8 flags, pad;
	s16 small;
	char name[16];
	u32 path, more;
	const char *where;
	u64 bytes, args[6];
	char strings[256];
};

static struct record record = {
	.prio = -5,
	.flags = 0x81,
	.small = -300,
	.name = "sixteen bytes ab", /* without NUL */
	.path = offsetof(struct record, strings) | 12u << 16,
	.more = (offsetof(struct record, strings) + 20 - 40) | 4u << 16,
	.where = "somewhere",
	.bytes = 1ull << 40,
	.strings = "/bin/a.b*true\0......jit",
};

static struct filter_fields fields;
static struct event_filter *filter;
static struct filter_work work;

static void *bpf_map_lookup_elem(void *map, const void *key)
{
	u32 i = *(const u32 *)key;

	if (map == &filters)
		return i ? NULL : &filter->filter;
	if (map == &filter_patterns)
		return i < FILTER_PATTERNS ? &filter->patterns[i] : NULL;
	return map == &filter_works ? &work : NULL;
}

static long bpf_probe_read_user(void *dst, __u32 size, const void *from)
{
	return -EFAULT;
}

/* Whether the record passes the filter. */
static bool passes(const char *text)
{
	auto_str struct str why = { 0 };

	if (event_filter_parse(text, &fields, &filter, &why))
		fail_msg("%s: %s", text, why.at);
	bool does = filter_passes(&record, 0);
	event_filter_free(filter);
	return does;
}

static void assert_refused(const char *text, const char *reason)
{
	auto_str struct str why = { 0 };

	assert_int_equal(event_filter_parse(text, &fields, &filter, &why), -EINVAL);
	if (!why.len || !strstr(why.at, reason))
		fail_msg("%s: %s", text, why.len ? why.at : "no reason");
}

static void numbers_compare_at_the_width_of_their_field(void **state)
{
	assert_true(passes("prio == -5"));
	assert_true(passes("prio < 0 && prio <= -5 && prio >= -5"));
	assert_false(passes("prio > -5"));
	assert_true(passes("prio == 0xfffffffb"));
	assert_true(passes("small == -300 && small < -299"));
	assert_true(passes("flags == 129"));
	assert_true(passes("flags > 128 && flags & 0x80"));
	assert_false(passes("flags & 0x7e"));
	assert_true(passes("bytes == 1099511627776 && bytes > 4294967295"));
	assert_false(passes("bytes != 1099511627776"));
	assert_true(passes("flags == 0201")); /* octal */
}

static void the_kernels_own_names_are_of_the_thread(void **state)
{
	assert_true(passes("common_pid == 77 && CPU == 3 && cpu < 4"));
	assert_true(passes("COMM == \"java\" && comm ~ \"ja*\""));
	assert_false(passes("COMM == 'jav'"));
}

static void strings_match_whole_or_by_a_pattern(void **state)
{
	assert_true(passes("name == 'sixteen bytes ab'"));
	assert_false(passes("name == 'sixteen bytes'"));
	assert_true(passes("name != 'sixteen bytes'"));
	assert_true(passes("name ~ 'sixteen*'"));
	assert_true(passes("name ~ '*bytes*'"));
	assert_true(passes("name ~ '*ab'"));
	assert_false(passes("name ~ '*b?'"));
	assert_true(passes("name ~ '*b[x-z ]*' || name ~ '*[a-c]?'"));
	assert_true(passes("name ~ '?ixteen[!x]bytes*'"));
	assert_true(passes("name ~ '!java*'"));
	assert_true(passes("name ~ '*'"));
	assert_false(passes("name ~ ''"));
}

static void strings_are_found_by_their_place(void **state)
{
	assert_true(passes("path == '/bin/a.b*true'"));
	assert_true(passes("path ~ '/bin/*'"));
	assert_true(passes("path ~ '*\\*true'"));
	assert_false(passes("path ~ '*b\\*'"));
	assert_true(passes("more == 'jit'"));
	assert_true(passes("where == 'somewhere' && where.ustring ~ 'some*'"));
}

static void a_test_of_an_unreadable_string_is_false(void **state)
{
	const char *where = record.where;

	record.where = NULL;
	assert_false(passes("where == 'x'"));
	assert_false(passes("where != 'x'"));
	assert_true(passes("where == 0"));
	record.where = where;
}

/* Every combination of three tests, against the same expression in C. */
static void parts_are_joined_as_in_c(void **state)
{
	for (u32 i = 0; i < 8; i++) {
		bool a = i & 1, b = i & 2, c = i & 4;
		char text[128];
		static const char *const forms[] = { "a || b && c", "(a || b) && c",
						     "!(a && b) || c", "!a && (b || !c)",
						     "!(!(a || b) && c)" };
		const bool wanted[] = { a || (b && c), (a || b) && c, !(a && b) || c,
					!a && (b || !c), !(!(a || b) && c) };
		record.prio = a;
		record.flags = b;
		record.small = c;
		for (size_t k = 0; k < ARRAY_SIZE(forms); k++) {
			char *to = text;
			for (const char *from = forms[k]; *from; from++) {
				const char *word = *from == 'a'   ? "prio==1"
						   : *from == 'b' ? "flags==1"
						   : *from == 'c' ? "small==1"
								  : NULL;
				to += word ? sprintf(to, "%s", word) : sprintf(to, "%c", *from);
			}
			if (passes(text) != wanted[k])
				fail_msg("%s with %d %d %d", text, a, b, c);
		}
	}
}

static void a_mistake_is_named_with_its_place(void **state)
{
	assert_refused("prioo == 1", "no field prioo that can be compared; near names: prio");
	assert_refused("common_type == 1", "no field common_type");
	assert_refused("args == 1", "args has several numbers");
	assert_refused("prio = 1", "expected at '= 1'");
	assert_refused("prio && flags == 1", "expected at '&& flags == 1'");
	assert_refused("prio ==", "a number is expected at the end");
	assert_refused("prio == 1 &&", "the name of a field is expected at the end");
	assert_refused("prio == 1 flags == 2", "&& or || is expected at 'flags == 2'");
	assert_refused("(prio == 1", "&&, || or ) is expected at the end");
	assert_refused("prio == 1)", "&& or || is expected at ')'");
	assert_refused("prio ~ 1", "~ does not apply to prio, which is a number");
	assert_refused("name < 'a'", "< does not apply to name, which is a string");
	assert_refused("name == java", "a string in quotes is expected at 'java'");
	assert_refused("name == 'java", "a string in quotes is expected at ''java'");
	assert_refused("name ~ '[a'", "a bracket is not closed");
	assert_refused("flags == -1", "a number from 0 on is expected");
	assert_refused("bytes == 99999999999999999999", "a number in range");
	assert_refused("prio == 5x", "a number in range");
	assert_refused("", "the name of a field is expected at the end");
}

static void what_a_filter_cannot_hold_is_refused(void **state)
{
	auto_str struct str text = { 0 };

	for (u32 i = 0; i <= FILTER_TESTS; i++)
		str_addf(&text, "%sprio == %u", i ? " || " : "", i);
	assert_refused(text.at, "more than 32 comparisons");
	str_clear(&text);
	for (u32 i = 0; i <= FILTER_PATTERNS; i++)
		str_addf(&text, "%sname == '%u'", i ? " || " : "", i);
	assert_refused(text.at, "more than 8 strings");
	str_clear(&text);
	for (u32 i = 0; i < 1000; i++)
		str_addf(&text, "(");
	assert_refused(text.at, "too deep");
	str_clear(&text);
	str_addf(&text, "name == '%064d'", 1);
	assert_refused(text.at, "more than 63 characters");
	str_clear(&text);
	str_addf(&text, "path == '%063d'", 1);
	assert_false(passes(text.at));
}

static void a_system_call_has_no_more_than_its_arguments(void **state)
{
	struct filter_fields all = { 0 };

	filter_fields_parse(format, true, &all);
	assert_non_null(filter_fields_find(&all, "bytes", 5));
	assert_null(filter_fields_find(&all, "path", 4));
	assert_null(filter_fields_find(&all, "args", 4)); /* ends too late */
	filter_fields_fini(&all);
}

static int set_up(void **state)
{
	filter_fields_parse(format, false, &fields);
	return 0;
}

static int tear_down(void **state)
{
	filter_fields_fini(&fields);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_compare_at_the_width_of_their_field),
		cmocka_unit_test(the_kernels_own_names_are_of_the_thread),
		cmocka_unit_test(strings_match_whole_or_by_a_pattern),
		cmocka_unit_test(strings_are_found_by_their_place),
		cmocka_unit_test(a_test_of_an_unreadable_string_is_false),
		cmocka_unit_test(parts_are_joined_as_in_c),
		cmocka_unit_test(a_mistake_is_named_with_its_place),
		cmocka_unit_test(what_a_filter_cannot_hold_is_refused),
		cmocka_unit_test(a_system_call_has_no_more_than_its_arguments),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
