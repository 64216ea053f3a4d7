/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of audit lists and of triggers, which anybody may have made. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/str.h"
#include "fleet/wire/entry.h"

#define NODE "sysflame.v1.audit.node."

static void an_entry_survives_publishing(void **state)
{
	auto_str struct str line = { 0 };
	struct entry e;

	entry_add(&line, 1764000000123, "anna", "fleet: record \"zone=a\": grün");
	assert_int_equal(entry_parse(line.at, line.len, &e), 0);
	assert_true(e.at_ms == 1764000000123);
	assert_string_equal(e.node, "");
	assert_string_equal(e.who, "anna");
	assert_string_equal(e.what, "fleet: record \"zone=a\": grün");
	entry_fini(&e);
}

static void texts_cannot_forge_a_second_entry(void **state)
{
	auto_str struct str line = { 0 };
	struct entry e;

	entry_add(&line, 7, "an\tna\n", "x\n8\totto\tfleet: record");
	assert_null(strchr(line.at, '\n'));
	assert_int_equal(entry_parse(line.at, line.len, &e), 0);
	assert_true(e.at_ms == 7);
	assert_null(strchr(e.who, '\t'));
	assert_null(strchr(e.what, '\t'));
	entry_fini(&e);

	assert_int_equal(entry_parse("7\tanna\t\x1b[2Jx\xff\ty", 15, &e), 0);
	assert_true(utf8_is_clean(e.what, ENTRY_WHAT_MAX));
	entry_fini(&e);
}

static void the_longest_line_fits_into_a_message(void **state)
{
	auto_str struct str line = { 0 };
	char text[5000];
	struct entry e;

	memset(text, 1, sizeof(text) - 1); /* each becomes three bytes */
	text[sizeof(text) - 1] = '\0';
	entry_add(&line, UINT64_MAX, text, text);
	assert_true(line.len <= ENTRY_MAX);
	assert_int_equal(entry_parse(line.at, line.len, &e), -EINVAL); /* the time */

	memset(text, 'x', sizeof(text) - 1);
	memcpy(text, "7\ta\t", 4);
	assert_int_equal(entry_parse(text, strlen(text), &e), 0);
	assert_int_equal(strlen(e.what), ENTRY_WHAT_MAX);
	entry_fini(&e);
}

static void a_malformed_line_is_no_entry(void **state)
{
	static const char *const lines[] = {
		"",         "\t",        "7",        "7\t",
		"7\tanna",  "\tanna\tx", "-7\ta\tb", " 7\ta\tb",
		"+7\ta\tb", "0x7\ta\tb", "7 \ta\tb", "1234567890123456\ta\tb",
	};
	struct entry e;

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_int_equal(entry_parse(lines[i], strlen(lines[i]), &e), -EINVAL);
	assert_int_equal(entry_parse("7\ta\0\tb", 6, &e), -EINVAL);
	assert_int_equal(entry_parse("7\ta\tbc", 3, &e), -EINVAL); /* only so many bytes */
}

static void the_subject_names_who_published_it(void **state)
{
	static const char *const foreign[] = {
		"",
		NODE,
		NODE "n.1",
		NODE "*",
		NODE "n\n",
		"sysflame.v1.audit.other.n1",
		"sysflame.v1.audit.person.otto",
		"sysflame.v1.audit.trigger.",
		"sysflame.v1.seen.n1",
	};
	struct entry e;

	assert_int_equal(entry_parse_stored(NODE "n1", "7\tanna\tx", 8, &e), 0);
	assert_string_equal(e.node, "n1");
	assert_string_equal(e.who, "anna");
	entry_fini(&e);
	assert_int_equal(entry_parse_stored("sysflame.v1.audit.trigger.n1", "7\tSlow\tx", 8, &e),
			 0);
	assert_string_equal(e.node, "n1");
	assert_string_equal(e.who, "Slow");
	entry_fini(&e);
	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
		assert_int_equal(entry_parse_stored(foreign[i], "7\tanna\tx", 8, &e), -EINVAL);
	assert_int_equal(entry_parse_stored(NODE "n1", "nonsense", 8, &e), -EINVAL);
}

static void add(struct entries *all, const char *node, const char *line)
{
	struct entry e;

	assert_int_equal(entry_parse(line, strlen(line), &e), 0);
	copy_text(e.node, sizeof(e.node), node);
	vec_push(&all->list, e);
}

static void what_a_list_and_the_stream_have_is_there_once(void **state)
{
	struct entries all = { 0 };

	entries_sort(&all, 1000);
	assert_int_equal(all.list.nr, 0);
	add(&all, "n1", "5\tanna\tx");
	add(&all, "n2", "5\tanna\tx");
	add(&all, "n1", "9\tanna\tx");
	add(&all, "n1", "5\tanna\tx");
	add(&all, "n1", "5\totto\tx");
	add(&all, "n1", "5\tanna\ty");
	entries_sort(&all, 1000);
	assert_int_equal(all.list.nr, 5);
	assert_true(all.list.at[0].at_ms == 9);
	for (size_t i = 1; i < all.list.nr; i++)
		assert_true(all.list.at[i].at_ms == 5);
	assert_string_equal(all.list.at[4].node, "n2");
	entries_fini(&all);
}

static void an_entry_of_the_future_is_not_the_first(void **state)
{
	struct entries all = { 0 };

	add(&all, "n1", "999999999999999\tanna\tx");
	add(&all, "n2", "301001\tanna\tx");
	add(&all, "n3", "301000\tanna\tx"); /* a clock may be wrong by 300 s */
	add(&all, "n4", "5\tanna\tx");
	entries_sort(&all, 1000);
	assert_string_equal(all.list.at[0].node, "n3");
	assert_string_equal(all.list.at[1].node, "n4");
	assert_string_equal(all.list.at[3].node, "n2");
	entries_fini(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_survives_publishing),
		cmocka_unit_test(texts_cannot_forge_a_second_entry),
		cmocka_unit_test(the_longest_line_fits_into_a_message),
		cmocka_unit_test(a_malformed_line_is_no_entry),
		cmocka_unit_test(the_subject_names_who_published_it),
		cmocka_unit_test(what_a_list_and_the_stream_have_is_there_once),
		cmocka_unit_test(an_entry_of_the_future_is_not_the_first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
