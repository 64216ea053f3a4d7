/* SPDX-License-Identifier: Apache-2.0 */
/* The text of sampled lines, from folders of sources. */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/str.h"
#include "export/source_text.h"

struct world {
	char folder[32];
	struct profile *p;
	node_id at;
};

static void world_run(const struct world *w, const char *command)
{
	auto_free char *line = xasprintf("cd %s && %s", w->folder, command);

	assert_int_equal(system(line), 0);
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	strcpy(w->folder, "/tmp/sysflame-test.XXXXXX");
	assert_non_null(mkdtemp(w->folder));
	w->p = profile_new();
	frames_keep_lines(w->p->frames);
	profile_add_type(w->p, "cpu", "samples");
	world_run(w,
		  "mkdir -p src/com/acme && printf 'one\\n\\t two <b>\\n' >src/com/acme/Shop.java");
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	world_run(w, "rm -rf src outside");
	assert_int_equal(rmdir(w->folder), 0);
	profile_free(w->p);
	free(w);
	return 0;
}

/* A line with one sample; returns the text that it gets, or NULL. The text belongs to the profile.
 */
static const char *text_of(struct world *w, const char *name, const char *file, u32 line)
{
	auto_free char *folders = xasprintf("%s/src", w->folder);
	auto_free char *key = xasprintf(SOURCE_NOTE "%s:%u", name, line);
	const struct source_line source = { file, line };
	struct source_texts texts;

	w->at = profile_child(w->p, 0,
			      frames_intern_line(w->p->frames, FRAME_C2, name, "", source));
	profile_add(w->p, w->at, 0, 0, 1);
	assert_int_equal(source_texts_add(w->p, folders, &texts), 0);
	const struct note *n = profile_find_note(w->p, key);
	assert_int_equal(texts.nr_found, n ? 1 : 0);
	return n ? n->text : NULL;
}

static void a_line_gets_its_text_from_the_folder_of_its_package(void **state)
{
	assert_string_equal(text_of(*state, "com.acme.Shop.run", "Shop.java", 2), "two <b>");
}

static void a_file_without_such_a_line_gives_no_text(void **state)
{
	assert_null(text_of(*state, "com.acme.Shop.run", "Shop.java", 3));
}

static void a_file_in_the_folder_itself_is_found(void **state)
{
	world_run(*state, "echo here >src/main.c");
	assert_string_equal(text_of(*state, "main", "main.c", 1), "here");
}

static void a_link_that_leaves_the_folder_is_not_followed(void **state)
{
	world_run(*state, "echo secret >outside && ln -s ../outside src/Leak.java");
	assert_null(text_of(*state, "Leak.run", "Leak.java", 1));
}

static void a_name_with_a_path_is_not_opened(void **state)
{
	world_run(*state,
		  "mkdir -p outside && echo secret >outside.java && mv outside.java outside/");
	assert_null(text_of(*state, "x.y.Z.run", "../outside/outside.java", 1));
}

static void a_file_that_is_no_source_is_not_opened(void **state)
{
	world_run(*state, "echo secret >src/shadow");
	assert_null(text_of(*state, "main", "shadow", 1));
}

static void a_missing_folder_is_an_error(void **state)
{
	const struct world *w = *state;
	struct source_texts texts;

	assert_int_equal(source_texts_add(w->p, "/nowhere/sources", &texts), -ENOENT);
}

static void control_characters_of_a_source_are_replaced(void **state)
{
	world_run(*state, "printf 'a\\033[1mb\\n' >src/Odd.java");
	const char *text = text_of(*state, "Odd.run", "Odd.java", 1);
	assert_non_null(text);
	assert_null(strchr(text, '\033'));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_line_gets_its_text_from_the_folder_of_its_package),
		TEST(a_file_without_such_a_line_gives_no_text),
		TEST(a_file_in_the_folder_itself_is_found),
		TEST(a_link_that_leaves_the_folder_is_not_followed),
		TEST(a_name_with_a_path_is_not_opened),
		TEST(a_file_that_is_no_source_is_not_opened),
		TEST(a_missing_folder_is_an_error),
		TEST(control_characters_of_a_source_are_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
