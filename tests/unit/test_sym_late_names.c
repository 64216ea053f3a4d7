/* SPDX-License-Identifier: Apache-2.0 */
/* Names for functions of a profile, from debug files of their build. */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "sym/files/late_names.h"

/* Two functions of 64 bytes, and 64 bytes of code behind each. */
static const char source[] = "\t.text\n\t.skip 256, 0x90\n"
			     "first:\n\t.skip 64, 0x90\n\t.size first,64\n\t.type first,@function\n"
			     "\t.skip 64, 0x90\n"
			     "_ZN4shop6BasketEv:\n\t.skip 64, 0x90\n"
			     "\t.size _ZN4shop6BasketEv,64\n\t.type _ZN4shop6BasketEv,@function\n"
			     "\t.skip 64, 0x90\n\t.section .note.GNU-stack,\"\",@progbits\n";

static char build_id[BUILD_ID_HEX_MAX + 1];
static u64 first;

static int enter_folder(void **state)
{
	static char folder[64];
	char line[128];
	unsigned long long vaddr = 0;

	snprintf(folder, sizeof(folder), "/tmp/sysflame-late.XXXXXX");
	if (!mkdtemp(folder) || chdir(folder))
		return -1;
	*state = folder;
	FILE *f = fopen("x.s", "we");
	fputs(source, f);
	fclose(f);
	if (system("gcc -shared -nostdlib -Wl,--build-id=sha1 -o x.so x.s && "
		   "{ readelf -n x.so | sed -n 's/.*Build ID: //p'; nm x.so | grep first; } "
		   ">facts"))
		return -1;
	auto_fclose FILE *facts = fopen("facts", "re");
	if (!fgets(line, sizeof(line), facts) || sscanf(line, "%64[0-9a-f]", build_id) != 1 ||
	    !fgets(line, sizeof(line), facts) || sscanf(line, "%llx", &vaddr) != 1)
		return -1;
	first = vaddr;
	return 0;
}

static int leave_folder(void **state)
{
	auto_free char *command = xasprintf("rm -rf %s", (char *)*state);

	return chdir("/") || system(command);
}

/* Puts x.so where the debug file of a build is searched. */
static void install(const char *id)
{
	auto_free char *command =
		xasprintf("mkdir -p d/.build-id/%.2s && cp x.so d/.build-id/%.2s/%s"
			  ".debug",
			  id, id, id + 2);

	assert_int_equal(system(command), 0);
}

static node_id add(struct profile *p, node_id parent, struct unnamed u, const char *id)
{
	auto_str struct str name = { 0 };
	auto_free char *module = xasprintf("x.so [build %s]", id);

	unnamed_name(&name, "x.so", &u);
	return profile_child(p, parent, frames_intern(p->frames, FRAME_NATIVE, name.at, module));
}

static node_id add_function(struct profile *p, node_id parent, u64 start)
{
	return add(p, parent, (struct unnamed){ UNNAMED_FUNCTION, .start = start }, build_id);
}

static void weigh(struct profile *p, node_id node)
{
	u32 type = profile_find_type(p, "cpu", "samples");

	profile_add(p, node, profile_intern_labels(p, &(struct labels){ 0 }), type, 7);
}

static int give(struct profile *p)
{
	const char *const folders[] = { "missing", "d" };
	const struct late_sources from = { .folders = folders, .nr_folders = 2 };
	late_files files = { 0 };

	late_names_give(p, &from, &files);
	assert_int_equal(files.nr, 1);
	assert_string_equal(files.at[0].name, "x.so");
	int err = files.at[0].err;
	late_files_fini(&files);
	return err;
}

static const struct frame *frame_at(const struct profile *p, node_id node)
{
	return frames_get(p->frames, p->nodes.at[node].frame);
}

static void functions_get_the_names_of_their_build(void **state)
{
	auto_profile struct profile *p = profile_new();

	install(build_id);
	weigh(p, add_function(p, add_function(p, 0, first), first + 128));
	assert_int_equal(give(p), 0);
	assert_string_equal(frame_at(p, 1)->name, "first");
	assert_string_equal(frame_at(p, 1)->module, "x.so");
	assert_string_equal(frame_at(p, 2)->name, "shop::Basket");
}

static void the_cache_of_elfutils_is_searched(void **state)
{
	auto_profile struct profile *p = profile_new();
	auto_free char *command =
		xasprintf("mkdir -p d/%s && cp x.so d/%s/debuginfo", build_id, build_id);

	assert_int_equal(system(command), 0);
	weigh(p, add_function(p, 0, first));
	assert_int_equal(give(p), 0);
	assert_string_equal(frame_at(p, 1)->name, "first");
}

static void addresses_of_one_function_become_one_frame(void **state)
{
	auto_profile struct profile *p = profile_new();

	install(build_id);
	weigh(p, add(p, 0, (struct unnamed){ UNNAMED_ADDRESS, .start = first + 1 }, build_id));
	weigh(p, add(p, 0, (struct unnamed){ UNNAMED_ADDRESS, .start = first + 63 }, build_id));
	assert_int_equal(give(p), 0);
	assert_int_equal(p->nodes.nr, 2);
	assert_int_equal(profile_total(p, 0), 14);
}

static void code_that_no_symbol_covers_keeps_its_name(void **state)
{
	auto_profile struct profile *p = profile_new();

	install(build_id);
	weigh(p, add(p, 0, (struct unnamed){ UNNAMED_RANGE, .start = first, .end = first + 64 },
		     build_id));
	weigh(p, add(p, 0, (struct unnamed){ UNNAMED_RANGE, .start = first, .end = first + 65 },
		     build_id));
	weigh(p, add_function(p, 0, first + 80));
	assert_int_equal(give(p), 0);
	assert_string_equal(frame_at(p, 1)->name, "first");
	assert_non_null(strstr(frame_at(p, 2)->name, "code at"));
	assert_non_null(strstr(frame_at(p, 3)->name, "function at"));
}

static void a_file_of_another_build_is_not_used(void **state)
{
	auto_profile struct profile *p = profile_new();

	install("00112233445566778899");
	weigh(p, add(p, 0, (struct unnamed){ UNNAMED_FUNCTION, .start = first },
		     "00112233445566778899"));
	assert_int_equal(give(p), -ESTALE);
	assert_non_null(strstr(frame_at(p, 1)->name, "function at"));
}

static void a_build_without_a_debug_file_is_reported(void **state)
{
	auto_profile struct profile *p = profile_new();

	weigh(p, add_function(p, 0, first));
	assert_int_equal(give(p), -ENOENT);
}

static void assert_cache(const char *path)
{
	auto_str struct str found = { 0 };

	debuginfod_cache_add(&found);
	assert_string_equal(found.at, path);
}

static void the_cache_is_where_elfutils_has_it(void **state)
{
	unsetenv("DEBUGINFOD_CACHE_PATH");
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", "home", 1);
	assert_cache("home/.cache/debuginfod_client");
	setenv("XDG_CACHE_HOME", "/xdg", 1);
	assert_cache("/xdg/debuginfod_client");
	assert_int_equal(system("mkdir -p home/.debuginfod_client_cache"), 0);
	assert_cache("home/.debuginfod_client_cache");
	setenv("DEBUGINFOD_CACHE_PATH", "/own", 1);
	assert_cache("/own");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)
		TEST(functions_get_the_names_of_their_build),
		TEST(the_cache_of_elfutils_is_searched),
		TEST(addresses_of_one_function_become_one_frame),
		TEST(code_that_no_symbol_covers_keeps_its_name),
		TEST(a_file_of_another_build_is_not_used),
		TEST(a_build_without_a_debug_file_is_reported),
		TEST(the_cache_is_where_elfutils_has_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
