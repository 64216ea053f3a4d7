/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of native code, and which of them are kept. */
#include "test.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "proc/open_request.h"
#include "sym/symbolize.h"

__attribute__((noinline)) int a_function_with_this_name(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x;
}

static int never_start(void *ctx, int sock, u64 *number)
{
	return -EAGAIN;
}

static void never_end(void *ctx, u64 number)
{
}

/* The name of a_function_with_this_name in this process. */
static const char *own_name(struct symbolizer *s, const struct frames *frames, struct process *p)
{
	struct raw_frame leaf = { .at = (u64)(uintptr_t)a_function_with_this_name,
				  .kind = RAW_PC,
				  .is_leaf = true };
	const struct raw_stack stack = { .user = &leaf, .nr_user = 1 };
	unnamed_list unnamed = { 0 };
	frame_list out = { 0 };

	symbolize(s, p, &stack, &out, &unnamed);
	assert_int_equal(out.nr, 1);
	const char *name = frames_get(frames, out.at[0])->name;
	vec_fini(&out);
	vec_fini(&unnamed);
	return name;
}

static void a_file_that_could_not_be_opened_for_a_moment_gets_names(void **state)
{
	const struct open_requests_ops ops = { never_start, never_end, NULL };
	struct process p = { .id = { getpid(), PROC_TICK_NS } };
	struct frames *frames = frames_new();
	struct symbolizer *s = symbolizer_new(frames, NULL, NULL);
	const char *name;

	assert_int_equal(a_function_with_this_name(3), 3);
	assert_int_equal(mappings_read(getpid(), true, &p.mappings), 0);
	assert_int_equal(open_requests_begin(&ops), -EAGAIN); /* every order gets -EBUSY */
	assert_string_not_equal(own_name(s, frames, &p), "a_function_with_this_name");
	open_requests_end();
	u64 end_ns = time_mono_ns() + 60 * NS_PER_SEC;
	do {
		usleep(50000);
		name = own_name(s, frames, &p);
	} while (strcmp(name, "a_function_with_this_name") && time_mono_ns() < end_ns);
	assert_string_equal(name, "a_function_with_this_name");
	mappings_fini(&p.mappings);
	symbolizer_free(s);
	frames_free(frames);
}

static void the_placeholder_of_an_unknown_method_counts_as_unnamed(void **state)
{
	struct process p = { .id = { getpid(), PROC_TICK_NS } };
	struct frames *frames = frames_new();
	struct symbolizer *s = symbolizer_new(frames, NULL, NULL);
	struct raw_frame leaf = { .at = 0x1000, .kind = RAW_INTERPRETER, .is_leaf = true };
	const struct raw_stack stack = { .user = &leaf, .nr_user = 1 };
	unnamed_list unnamed = { 0 };
	frame_list out = { 0 };

	symbolize(s, &p, &stack, &out, &unnamed);
	assert_int_equal(out.nr, 1);
	assert_string_equal(frames_get(frames, out.at[0])->name, "Interpreter");
	assert_false(symbolizer_is_named(s, out.at[0]));
	vec_fini(&out);
	vec_fini(&unnamed);
	mappings_fini(&p.mappings);
	symbolizer_free(s);
	frames_free(frames);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_could_not_be_opened_for_a_moment_gets_names),
		cmocka_unit_test(the_placeholder_of_an_unknown_method_counts_as_unnamed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
