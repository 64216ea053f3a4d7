/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of code without symbols. */
#include "test.h"

#include <string.h>

#include "profile/unnamed.h"

#define HEX    "9f2c00ff9f2c00ff"
#define MODULE "libz.so.1.2.13 [build " HEX "]"

static const u8 build_id[] = { 0x9f, 0x2c, 0x00, 0xff, 0x9f, 0x2c, 0x00, 0xff };

static bool parses(const char *name, const char *module, enum frame_kind kind, struct unnamed *out)
{
	const struct frame f = { name, module, .kind = kind };

	return unnamed_parse(&f, out);
}

static void assert_read_back(struct unnamed u, const char *text)
{
	auto_str struct str name = { 0 }, module = { 0 };
	struct unnamed back;

	unnamed_name(&name, "libz.so.1.2.13", &u);
	module_with_build(&module, "libz.so.1.2.13", build_id, sizeof(build_id));
	assert_string_equal(name.at, text);
	assert_string_equal(module.at, MODULE);
	assert_true(parses(name.at, module.at, FRAME_NATIVE, &back));
	assert_int_equal(back.kind, u.kind);
	assert_int_equal(back.start, u.start);
	assert_int_equal(back.end, u.end);
	assert_string_equal(back.build_id, HEX);
}

static void a_name_and_a_module_hold_address_and_build_id(void **state)
{
	assert_read_back((struct unnamed){ UNNAMED_FUNCTION, .start = 0x4970 },
			 "[libz.so.1.2.13] function at 0x4970");
	assert_read_back((struct unnamed){ UNNAMED_RANGE, .start = 0x4000, .end = 0x5000 },
			 "[libz.so.1.2.13] code at 0x4000-0x4fff");
	assert_read_back((struct unnamed){ UNNAMED_ADDRESS, .start = 0x4970 },
			 "[libz.so.1.2.13]+0x4970");
}

static void groups_have_no_address(void **state)
{
	struct unnamed u;

	assert_true(parses("[libjvm.so: GC]", "libjvm.so", FRAME_JVM, &u));
	assert_int_equal(u.kind, UNNAMED_GROUP);
	assert_true(parses("[libz.so.1.2.13 below malloc]", MODULE, FRAME_NATIVE, &u));
	assert_int_equal(u.kind, UNNAMED_GROUP);
}

static void names_of_functions_are_not_taken_for_it(void **state)
{
	static const char *const names[] = {
		"deflate",
		"[libz.so.1.2.13] deflate+?",
		"[libz.so.1.2.13]",
		"[libz.so.1.2.13] function at 0x",
		"[libz.so.1.2.13] function at 0x4970x",
		"[libz.so.1.2.13] function at 0x11112222333344445",
		"[libz.so.1.2.13] code at 0x4000",
		"[libz.so.1.2.13] code at 0x4000-0x3fff",
		"[libz.so.1.2.13] code at 0x0-0xffffffffffffffff",
		"[libz.so.1.3] function at 0x4970",
	};
	struct unnamed u;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_false(parses(names[i], MODULE, FRAME_NATIVE, &u));
	assert_false(parses("[libz.so.1.2.13] function at 0x1", MODULE, FRAME_GROUP, &u));
	assert_false(parses("[generated code]", "", FRAME_UNKNOWN, &u));
	assert_false(parses("[vdso]+0x1", "[vdso]", FRAME_NATIVE, &u));
}

static void only_a_build_id_at_the_end_is_one(void **state)
{
	assert_int_equal(module_file_len(MODULE), strlen("libz.so.1.2.13"));
	assert_int_equal(module_file_len("a [build 01]b"), strlen("a [build 01]b"));
	assert_int_equal(module_file_len("a [build 0g]"), strlen("a [build 0g]"));
	assert_int_equal(module_file_len("a [build 012]"), strlen("a [build 012]"));
	assert_int_equal(module_file_len("a [build ]"), strlen("a [build ]"));
	assert_int_equal(module_file_len("a [build x [build 01]"), strlen("a [build x"));
}

static node_id add(struct profile *p, node_id parent, const char *name, const char *module)
{
	return profile_child(p, parent, frames_intern(p->frames, FRAME_NATIVE, name, module));
}

static void a_stack_counts_once_for_each_file_that_lacks_symbols(void **state)
{
	auto_profile struct profile *p = profile_new();
	u32 type = profile_add_type(p, "cpu", "samples");
	labels_id labels = profile_intern_labels(p, &(struct labels){ 0 });
	unnamed_files files = { 0 };

	node_id main = add(p, 0, "main", "app");
	node_id z = add(p, main, "[libz.so.1.2.13] function at 0x10", MODULE);
	node_id x = add(p, z, "[libx.so] function at 0x10", "libx.so [build 0102]");
	node_id z_again = add(p, x, "[libz.so.1.2.13] function at 0x20", MODULE);
	node_id other =
		add(p, main, "[libz.so.1.2.13] function at 0x10", "libz.so.1.2.13 [build 0304]");
	profile_add(p, main, labels, type, 101);
	profile_add(p, z, labels, type, 2);
	profile_add(p, z_again, labels, type, 5);
	profile_add(p, other, labels, type, 3);
	unnamed_files_find(p, &files);

	assert_int_equal(files.nr, 3);
	assert_string_equal(files.at[0].name, "libz.so.1.2.13");
	assert_string_equal(files.at[0].build_id, HEX);
	assert_int_equal(files.at[0].weight, 7);
	assert_string_equal(files.at[1].name, "libx.so");
	assert_int_equal(files.at[1].weight, 5);
	assert_string_equal(files.at[2].build_id, "0304");
	assert_int_equal(files.at[2].weight, 3);
	unnamed_files_fini(&files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_and_a_module_hold_address_and_build_id),
		cmocka_unit_test(groups_have_no_address),
		cmocka_unit_test(names_of_functions_are_not_taken_for_it),
		cmocka_unit_test(only_a_build_id_at_the_end_is_one),
		cmocka_unit_test(a_stack_counts_once_for_each_file_that_lacks_symbols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
