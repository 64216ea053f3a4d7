/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "capture/events/event_kind.h"
#include "capture/events/events.h"
#include "capture/stacks/kernel_text.h"
#include "elf/instruction.h"
#include "sym/files/places.h"

static const struct event_options options = { .freq_hz = 99, .offcpu_min_ns = 1000000 };

static int parse(const char *text, struct events *out, char *why, size_t size)
{
	struct str said = { 0 };
	int err = events_parse(text, &options, out, &said);

	copy_text(why, size, said.len ? said.at : "");
	str_fini(&said);
	return err;
}

static void a_list_keeps_its_order_and_its_names(void **state)
{
	struct events all = { 0 };
	char why[256];

	assert_int_equal(parse("page-faults,cpu,cs", &all, why, sizeof(why)), 0);
	assert_int_equal(all.list.nr, 3);
	assert_string_equal(all.list.at[0].name, "page-faults");
	assert_string_equal(all.list.at[0].unit, "faults");
	assert_string_equal(all.list.at[1].name, "cpu");
	assert_string_equal(all.list.at[1].unit, "samples");
	assert_string_equal(all.list.at[2].unit, "switches");
	events_fini(&all);
}

static void assert_types(const char *text, u64 period, const char *wanted)
{
	struct event_options o = options;
	struct events all = { 0 };
	struct str why = { 0 }, names = { 0 };
	struct profile *p = profile_new();
	u32 types[ABI_EVENTS];

	o.period = period;
	o.lock_min_ns = o.alloc_interval = o.nativemem_interval = 100000;
	int err = events_parse(text, &o, &all, &why);
	events_add_types(&all, p, types);
	profile_name_types(p, &names);
	if (err != -ENOTSUP) /* this kernel or this user cannot record it */
		assert_string_equal(names.at, wanted);
	for (size_t i = 0; i < all.list.nr; i++)
		assert_string_equal(p->types.at[types[i]].unit, all.list.at[i].unit);
	events_fini(&all);
	str_fini(&why);
	str_fini(&names);
	profile_free(p);
}

static void a_weighed_event_also_has_a_number_of_samples(void **state)
{
	const char *main = "uprobe:/proc/self/exe:main";

	assert_types("cpu", 0, "cpu/samples");
	assert_types("cs,cpu", 0, "cs/switches, cs-samples/samples, cpu/samples");
	assert_types("wall,nativelock", 0,
		     "wall/ns, wall-samples/samples, nativelock/ns, nativelock-samples/samples");
	assert_types("lock,alloc,nativemem", 0,
		     "lock/ns, lock-samples/samples, lock-waits/waits, alloc/bytes, "
		     "alloc-samples/samples, nativemem/bytes, nativemem-samples/samples");
	assert_types(main, 1, "uprobe:/proc/self/exe:main/hits");
	assert_types(main, 100,
		     "uprobe:/proc/self/exe:main/hits, uprobe:/proc/self/exe:main-samples/samples");
}

static void cycles_have_a_period_by_the_clock(void **state)
{
	assert_int_equal(cycles_period(3000000, 1000), 3000000);
	assert_int_equal(cycles_period(1000000, 1000000), 10000); /* not a sample every 1,000 */
	assert_int_equal(cycles_period(0, 99), 0);                /* unknown: the kernel chooses */
}

static void an_error_quotes_the_given_text(void **state)
{
	const struct {
		const char *text, *why;
	} wrong[] = {
		{ "", "name is missing" },
		{ "cpu,,cs", "name is missing" },
		{ "cpu,cs,cpu", "cpu is listed twice" },
		{ "cpuu", "-e cpuu: there is no such event" },
		{ "rxyz", "-e rxyz: there is no such event" },
		{ "LLC-loadz", "-e LLC-loadz: there is no such event" },
		{ "a:b:c", "no such event" },
		{ "../x:y", "no such event" },
		{ "uprobe:", "takes uprobe:FILE" },
		{ "uprobe::x", "takes uprobe:FILE" },
		{ "uprobe:/proc/self/exe:", "takes SYMBOL" },
		{ "uprobe:/proc/self/exe:+3", "takes SYMBOL" },
		{ "uprobe:/proc/self/exe:0x12zz", "takes SYMBOL" },
		{ "uprobe:/dev/null:x", "uprobe:/dev/null: " },
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct events all = { 0 };
		char why[256];
		assert_true(parse(wrong[i].text, &all, why, sizeof(why)) < 0);
		if (!strstr(why, wrong[i].why))
			fail_msg("'%s': %s", wrong[i].text, why);
		events_fini(&all);
	}
}

/* With tracefs; without it the error is about tracefs. */
static void a_tracepoint_has_one_name_with_and_without_its_prefix(void **state)
{
	struct events all = { 0 };
	char why[256];

	if (!parse("tracepoint:sched:sched_switch", &all, why, sizeof(why)))
		assert_string_equal(all.list.at[0].name, "sched:sched_switch");
	else if (!strstr(why, "names of tracepoints") && !strstr(why, "the kernel has no"))
		fail_msg("%s", why);
	events_fini(&all);
	all = (struct events){ 0 };
	assert_int_equal(parse("tracepoint:sched", &all, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "takes tracepoint:GROUP:NAME"));
}

static void a_library_is_found_by_name_without_a_path(void **state)
{
	struct events all = { 0 };
	char why[256];
	int err = parse("uprobe:libc:malloc", &all, why, sizeof(why));

	if (err == -ENOTSUP)
		skip_because("no uprobes here");
	assert_int_equal(err, 0);
	assert_string_equal(all.list.at[0].name, "uprobe:libc:malloc");
	assert_non_null(strstr(all.list.at[0].place, "/libc.so.6"));
	events_fini(&all);
	all = (struct events){ 0 };
	assert_true(parse("uprobe:libnowhere:f", &all, why, sizeof(why)) < 0);
	assert_non_null(strstr(why, "there is no such file, library or program"));
}

/* Each instruction has at most 4 bytes. */
__asm__(".pushsection .text\n"
	".globl eight_nops\n"
	".type eight_nops, @function\n"
	"eight_nops:\n"
	".cfi_startproc\n"
	"nop; nop; nop; nop; nop; nop; nop; nop\n"
	".cfi_endproc\n"
	".size eight_nops, . - eight_nops\n"
	".popsection\n");

static void a_place_in_a_file_is_found_by_symbol_and_offset(void **state)
{
	struct events all = { 0 };
	char why[256], text[256];

	if (instruction_missing())
		skip_because("built without libcapstone");
	assert_int_equal(
		parse("uprobe:/proc/self/exe:eight_nops,uprobe:/proc/self/exe:eight_nops+4", &all,
		      why, sizeof(why)),
		0);
	u64 off = all.list.at[1].places[0].file_off;
	assert_int_equal(off, all.list.at[0].places[0].file_off + 4);
	assert_string_equal(all.list.at[0].what, "eight_nops");
	snprintf(text, sizeof(text), "uprobe:/proc/self/exe:0x%llx", (unsigned long long)off);
	assert_int_equal(parse(text, &all, why, sizeof(why)), 0);
	assert_int_equal(all.list.at[2].places[0].file_off, off);
	events_fini(&all);
}

static void a_place_without_an_instruction_is_refused(void **state)
{
	struct events all = { 0 };
	char why[256];

	assert_true(parse("uprobe:/proc/self/exe:eight_nops+64", &all, why, sizeof(why)) < 0);
	assert_non_null(strstr(why, "the function ends before"));
	assert_true(parse("uprobe:/proc/self/exe:0x40", &all, why, sizeof(why)) < 0);
	assert_non_null(strstr(why, "no function is known there"));
	events_fini(&all);
}

static void frames_up_to_the_scheduler_are_left_out(void **state)
{
	const struct kernel_text t = { 100, 200 };
	const u64 traced[] = { 7, 8, 150, 199, 200, 120 }, plain[] = { 300, 301 };

	assert_int_equal(kernel_text_frames(&t, traced, ARRAY_SIZE(traced)), 4);
	assert_int_equal(kernel_text_frames(&t, plain, ARRAY_SIZE(plain)), 0);
	assert_int_equal(kernel_text_frames(&(struct kernel_text){ 0 }, traced, 6), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_keeps_its_order_and_its_names),
		cmocka_unit_test(a_weighed_event_also_has_a_number_of_samples),
		cmocka_unit_test(cycles_have_a_period_by_the_clock),
		cmocka_unit_test(an_error_quotes_the_given_text),
		cmocka_unit_test(a_tracepoint_has_one_name_with_and_without_its_prefix),
		cmocka_unit_test(a_library_is_found_by_name_without_a_path),
		cmocka_unit_test(a_place_in_a_file_is_found_by_symbol_and_offset),
		cmocka_unit_test(a_place_without_an_instruction_is_refused),
		cmocka_unit_test(frames_up_to_the_scheduler_are_left_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
