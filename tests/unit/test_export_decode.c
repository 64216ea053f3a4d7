/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of a hostile page are refused before they cost much, or made harmless. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "export/export.h"
#include "export/format/decode.h"
#include "export/format/section.h"
#include "export/format/varint.h"

#define META "{\"types\":[{\"name\":\"cpu\",\"unit\":\"samples\"}]}"
#define LONG 65535

/* Sections by their number. */
struct body {
	struct str sections[NR_SECTIONS];
};

static struct body body_with(const char *meta)
{
	struct body b = { 0 };

	str_add(&b.sections[SECTION_META], meta);
	return b;
}

static void add_text(struct str *s, const char *text)
{
	varint_add(s, strlen(text));
	str_add(s, text);
}

static void add_name(struct body *b, const char *name)
{
	varint_add(&b->sections[SECTION_NAMES], 0);
	add_text(&b->sections[SECTION_NAMES], name);
}

static const char *long_text(char letter)
{
	static char text[LONG + 1];

	memset(text, letter, LONG);
	return text;
}

/* Decodes the body and frees it. */
static int decoded(struct body *b, struct profile *p, struct str *why)
{
	auto_str struct str all = { 0 }, bytes = { 0 };
	u64 nr = 0;

	for (int id = 0; id < NR_SECTIONS; id++) {
		if (!b->sections[id].len)
			continue;
		varint_add(&all, (u64)id);
		varint_add(&all, b->sections[id].len);
		nr++;
	}
	varint_add(&bytes, nr);
	str_add_bytes(&bytes, all.at, all.len);
	for (int id = 0; id < NR_SECTIONS; id++) {
		str_add_bytes(&bytes, b->sections[id].at ?: "", b->sections[id].len);
		str_fini(&b->sections[id]);
	}
	return body_decode((const u8 *)bytes.at, bytes.len, p, why);
}

static void assert_refused(struct body *b, const char *expected)
{
	struct profile *p = profile_new();
	auto_str struct str why = { 0 };

	assert_int_equal(decoded(b, p, &why), -EINVAL);
	if (!strstr(why.at, expected))
		fail_msg("'%s', not '%s'", why.at, expected);
	profile_free(p);
}

/* Frame "a" below the root, and again below itself, with these weights. */
static struct body two_nodes(const char *meta, u64 first, u64 second)
{
	struct body b = body_with(meta);

	varint_add(&b.sections[SECTION_NAMES], 1);
	add_name(&b, "a");
	str_add_bytes(&b.sections[SECTION_FRAMES], "\1\0\2", 3);
	str_add_bytes(&b.sections[SECTION_POP], "\0\0", 2);
	str_add_bytes(&b.sections[SECTION_CALLEE], "\0\0", 2);
	str_add_bytes(&b.sections[SECTION_FIRST], "\0\0", 2);
	varint_add(&b.sections[SECTION_SELF], 0);
	varint_add(&b.sections[SECTION_SELF], first);
	varint_add(&b.sections[SECTION_SELF], second);
	return b;
}

static void weights_that_add_up_to_2_to_the_53_are_refused(void **state)
{
	struct body b = two_nodes(META, VARINT_MAX, 1);

	assert_refused(&b, "add up to more than 2^53 - 1");
}

static void two_pages_add_up_to_no_more_than_one(void **state)
{
	struct body a = two_nodes(META, VARINT_MAX - 1, 1), b = two_nodes(META, 1, 0);
	struct profile *p = profile_new();
	auto_str struct str why = { 0 };

	assert_int_equal(decoded(&a, p, &why), 0);
	assert_int_equal(decoded(&b, p, &why), -EINVAL);
	assert_non_null(strstr(why.at, "2^53 - 1"));
	profile_free(p);
}

/* Each costs three bytes in the file and 64 KB in memory. */
static void one_long_name_in_many_modules_is_refused(void **state)
{
	struct body b = body_with(META);
	struct str *frames = &b.sections[SECTION_FRAMES];
	u64 nr = 5000;

	varint_add(&b.sections[SECTION_NAMES], nr + 1);
	add_name(&b, long_text('z'));
	varint_add(frames, nr);
	for (u64 i = 0; i < nr; i++) {
		char module[32];
		snprintf(module, sizeof(module), "%llu", (unsigned long long)i);
		add_name(&b, module);
		varint_add(frames, 0);
		varint_add(&b.sections[SECTION_MODULES], i + 2);
	}
	for (u64 i = 0; i < nr; i++)
		str_add_char(frames, FRAME_NATIVE);
	varint_add(&b.sections[SECTION_SELF], 0);
	assert_refused(&b, "names of more than 256 MB");
}

/* The numbers of threads differ, therefore all sets differ. */
static struct body labelled(u64 nr_sets, const char *text)
{
	struct body b =
		body_with("{\"types\":[{\"name\":\"cpu\",\"unit\":\"samples\"}],\"dims\":["
			  "{\"name\":\"thread\"},{\"name\":\"pod\"},{\"name\":\"state\"}]}");
	struct str *sets = &b.sections[SECTION_LABELSETS];

	varint_add(&b.sections[SECTION_NAMES], 0);
	varint_add(&b.sections[SECTION_FRAMES], 0);
	varint_add(sets, 3);
	varint_add(sets, nr_sets);
	for (u64 i = 0; i < nr_sets; i++) {
		char thread[32];
		snprintf(thread, sizeof(thread), "t-%llu", (unsigned long long)i + 1);
		add_text(sets, thread);
	}
	for (int dim = 0; dim < 2; dim++) {
		varint_add(sets, 1);
		add_text(sets, text);
	}
	varint_add(sets, nr_sets);
	for (u64 i = 0; i < nr_sets; i++)
		varint_add(sets, i);
	for (u64 i = 0; i < 2 * nr_sets; i++)
		varint_add(sets, 0);
	varint_add(&b.sections[SECTION_SELF], 0);
	return b;
}

static void a_text_shared_by_many_labels_is_stored_once(void **state)
{
	struct body b = labelled(100, long_text('y'));
	struct profile *p = profile_new();
	auto_str struct str why = { 0 };

	assert_int_equal(decoded(&b, p, &why), 0);
	assert_int_equal(p->labels.nr, 100);
	vec_each(l, &p->labels)
		assert_ptr_equal(l->pod, p->labels.at[0].state);
	profile_free(p);
}

static void too_many_labels_are_refused(void **state)
{
	struct body b = labelled(40000, long_text('y'));

	assert_refused(&b, "labels are more than 4 GB");
}

/* Each is compared with all others. */
static void too_many_types_are_refused(void **state)
{
	auto_str struct str meta = { 0 };
	struct body b;

	str_add(&meta, "{\"types\":[");
	for (int i = 0; i < 2000; i++)
		str_addf(&meta, "%s{\"name\":\"%d\",\"unit\":\"x\"}", i ? "," : "", i);
	str_add(&meta, "]}");
	b = two_nodes(meta.at, 1, 1);
	assert_refused(&b, "description is unreadable");
}

/* Text that may be printed on a terminal contains no control characters. */
static void no_text_of_a_page_has_control_characters(void **state)
{
	struct body b = two_nodes(
		"{\"title\":\"T\\u001b[31m\",\"host\":\"h\\u0007\",\"types\":[{\"name\":"
		"\"c\\u001b[2J\",\"unit\":\"u\\n\"}],\"notes\":[{\"key\":\"k\\n\",\"text\":"
		"\"t\\u001b\",\"value\":3}],\"dims\":[{\"name\":\"process\"}]}",
		1, 1);
	struct profile *p = profile_new();
	auto_str struct str why = { 0 };
	char *text;
	size_t len;

	str_add_bytes(&b.sections[SECTION_LABELSETS], "\1\1\4a\x1b[J\1\0", 9);
	str_add_bytes(&b.sections[SECTION_NODELABELS], "\1\0\1\0", 4);
	assert_int_equal(decoded(&b, p, &why), 0);
	FILE *f = open_memstream(&text, &len);
	text_write(p, f);
	fclose(f);
	for (size_t i = 0; i < len; i++)
		assert_true((u8)text[i] >= ' ' || text[i] == '\n');
	assert_null(strchr(p->types.at[0].unit, '\n'));
	assert_null(strchr(p->notes.at[0].key, '\n'));
	assert_null(strchr(p->labels.at[0].comm, '\x1b'));
	free(text);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weights_that_add_up_to_2_to_the_53_are_refused),
		cmocka_unit_test(two_pages_add_up_to_no_more_than_one),
		cmocka_unit_test(one_long_name_in_many_modules_is_refused),
		cmocka_unit_test(a_text_shared_by_many_labels_is_stored_once),
		cmocka_unit_test(too_many_labels_are_refused),
		cmocka_unit_test(too_many_types_are_refused),
		cmocka_unit_test(no_text_of_a_page_has_control_characters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
