/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of functions without a symbol, in the libc of this process. */
#include "test.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "sym/stripped.h"

#define SEARCHED_BYTES (1u << 20) /* of libc's code behind qsort */

struct world {
	struct process p;
	struct frames *frames;
	struct symbolizer *s;
	u64 exported, nameless[2]; /* functions of libc: qsort, and others */
	frame_list out;
};

static void add(struct world *w, enum raw_kind kind, u64 pc)
{
	const struct raw_frame frame = { .at = pc, .kind = kind, .is_leaf = true };
	const struct raw_stack stack = { .user = &frame, .nr_user = 1 };
	unnamed_list unnamed = { 0 };

	symbolize(w->s, &w->p, &stack, &w->out, &unnamed);
	vec_fini(&unnamed);
}

static const char *name_at(const struct world *w, size_t i)
{
	return frames_get(w->frames, w->out.at[i])->name;
}

/* Fills in `nameless`; returns how many there are. */
static size_t find_nameless(struct world *w)
{
	size_t nr = 0;
	frame_id first = 0;

	for (u64 pc = w->exported; pc < w->exported + SEARCHED_BYTES && nr < 2; pc += 16) {
		w->out.nr = 0;
		add(w, RAW_PC, pc);
		frame_id frame = w->out.at[0];
		if (symbolizer_is_named(w->s, frame) || (nr && frame == first))
			continue;
		first = frame;
		w->nameless[nr++] = pc;
	}
	w->out.nr = 0;
	return nr;
}

static int make(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	void *libc = dlopen("libc.so.6", RTLD_LAZY);

	w->p.id = (struct process_id){ getpid(), 1 };
	assert_int_equal(mappings_read(getpid(), true, &w->p.mappings), 0);
	w->frames = frames_new();
	w->s = symbolizer_new(w->frames, NULL, NULL);
	w->exported = libc ? (u64)(uintptr_t)dlsym(libc, "qsort") : 0;
	*state = w;
	return 0;
}

static int drop(void **state)
{
	struct world *w = *state;

	vec_fini(&w->out);
	mappings_fini(&w->p.mappings);
	symbolizer_free(w->s);
	frames_free(w->frames);
	free(w);
	return 0;
}

static struct world *stripped_world(void **state)
{
	struct world *w = *state;

	if (!w->exported || find_nameless(w) < 2)
		skip_because("this libc has symbols");
	return w;
}

static void functions_below_an_exported_one_have_its_name(void **state)
{
	struct world *w = stripped_world(state);

	add(w, RAW_PC, w->nameless[0]);
	add(w, RAW_PC, w->nameless[1]);
	add(w, RAW_PC, w->exported);
	add(w, RAW_PC, w->nameless[1]);
	stripped_group(w->s, w->frames, "GC", &w->out);
	assert_string_equal(name_at(w, 0), "[libc.so.6 below qsort]");
	assert_int_equal(w->out.at[0], w->out.at[1]);
	assert_true(symbolizer_is_stripped(w->s, w->out.at[0]));
	assert_false(symbolizer_is_named(w->s, w->out.at[0]));
	assert_string_equal(name_at(w, 2), "qsort");
	assert_string_equal(name_at(w, 3), "[libc.so.6: GC]");
}

static void an_exported_function_beyond_other_code_is_no_entry(void **state)
{
	struct world *w = stripped_world(state);

	add(w, RAW_PC, w->nameless[0]);
	add(w, RAW_PC, (u64)(uintptr_t)make);
	add(w, RAW_PC, w->exported);
	stripped_group(w->s, w->frames, "VM Thread", &w->out);
	assert_string_equal(name_at(w, 0), "[libc.so.6: VM Thread]");
}

static void without_a_role_and_an_exported_function_the_offset_stays(void **state)
{
	struct world *w = stripped_world(state);

	add(w, RAW_PC, w->nameless[0]);
	frame_id before = w->out.at[0];
	stripped_group(w->s, w->frames, NULL, &w->out);
	assert_int_equal(w->out.at[0], before);
	assert_false(symbolizer_is_stripped(w->s, before));
}

static void offsets_stay_on_request(void **state)
{
	struct world *w = stripped_world(state);

	symbolizer_keep_addresses(w->s);
	add(w, RAW_PC, w->nameless[0]);
	frame_id before = w->out.at[0];
	stripped_group(w->s, w->frames, "GC", &w->out);
	assert_int_equal(w->out.at[0], before);
}

static void assert_role(const struct world *w, const char *comm, const char *role)
{
	const char *found = stripped_role(w->frames, &w->out, comm);

	if (role)
		assert_string_equal(found, role);
	else
		assert_null(found);
}

static void the_role_is_that_of_the_thread(void **state)
{
	struct world *w = *state;

	assert_role(w, "C1 CompilerThre", "C1 compiler");
	assert_role(w, "C2 Comp..Thread", "C2 compiler"); /* JDK 26 */
	assert_role(w, "GC Thread#0", "GC");
	assert_role(w, "GC task thread#", "GC");
	assert_role(w, "VM Thread", "VM Thread");
	assert_role(w, "http-8080", NULL);
	add(w, RAW_INTERPRETER, 0x1000);
	assert_role(w, "http-8080", "Java thread");
	assert_role(w, "GC Thread#0", "Java thread"); /* a Java thread may have any name */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)
		TEST(functions_below_an_exported_one_have_its_name),
		TEST(an_exported_function_beyond_other_code_is_no_entry),
		TEST(without_a_role_and_an_exported_function_the_offset_stays),
		TEST(offsets_stay_on_request),
		TEST(the_role_is_that_of_the_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
