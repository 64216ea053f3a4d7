/* SPDX-License-Identifier: Apache-2.0 */
/* Names that must not leave the recorder. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "daemon/recorder/redaction.h"

static struct redaction *with(const char *patterns)
{
	struct redaction *r = redaction_new();
	auto_str struct str why = { 0 };

	assert_int_equal(redaction_set(r, &patterns, 1, &why), 0);
	return r;
}

static void add(struct profile *p, const char *thread, const char *leaf, u64 value)
{
	const struct labels l = { .pid = 7, .tid = 8, .comm = "java", .thread = thread };
	u32 type = profile_find_type(p, "cpu", "ns");
	node_id at =
		profile_child(p, 0, frames_intern(p->frames, FRAME_C2, "com.acme.Main.run", ""));

	at = profile_child(p, at, frames_intern(p->frames, FRAME_NATIVE, leaf, "libacme.so"));
	profile_add(p, at, profile_intern_labels(p, &l), type, value);
}

static bool has_text(const struct profile *p, const char *text)
{
	for (frame_id f = 0; f < frames_nr(p->frames); f++)
		if (strstr(frames_get(p->frames, f)->name, text) ||
		    strstr(frames_get(p->frames, f)->module, text))
			return true;
	vec_each(l, &p->labels)
		for (int i = 0; i < NR_LABELS; i++)
			if (strstr(l->text[i], text))
				return true;
	vec_each(n, &p->notes)
		if (strstr(n->text, text))
			return true;
	return strstr(p->title, text) || strstr(p->target, text);
}

static void a_name_with_a_match_is_replaced_as_a_whole(void **state)
{
	struct redaction *r = with("/customer-\\d+/\nsecret");

	assert_string_equal(redaction_text(r, "worker customer-4711 of shop"), REDACTED);
	assert_string_equal(redaction_text(r, "top secret"), REDACTED);
	assert_string_equal(redaction_text(r, "customer-x"), "customer-x");
	assert_string_equal(redaction_text(r, ""), "");
	redaction_free(r);
}

static void stacks_that_become_equal_are_joined_and_sums_stay(void **state)
{
	struct redaction *r = with("/tenant_\\w+/");
	auto_profile struct profile *p = profile_new();

	add(p, "tenant_a", "tenant_a_work", 17);
	add(p, "tenant_b", "tenant_b_work", 6);
	add(p, "main", "rest", 1);
	redaction_profile(r, p);
	assert_false(has_text(p, "tenant_"));
	assert_int_equal(profile_total(p, 0), 24);
	assert_int_equal(p->weights.nr, 2);
	assert_true(has_text(p, "rest"));
	redaction_free(r);
}

static void modules_notes_title_and_target_are_redacted(void **state)
{
	struct redaction *r = with("acme");
	auto_profile struct profile *p = profile_new();

	add(p, "main", "work", 17);
	profile_note(p, "incomplete-1", "20 stacks of acme-billing are cut", 20);
	free(p->title);
	p->title = xstrdup("acme in July");
	redaction_profile(r, p);
	assert_false(has_text(p, "acme"));
	assert_true(has_text(p, "work"));
	assert_int_equal(profile_total(p, 0), 17);
	redaction_free(r);
}

static void what_cannot_be_decided_in_time_is_redacted(void **state)
{
	struct redaction *r = with("/^(a+)+$/");
	char name[4096];

	memset(name, 'a', sizeof(name));
	strcpy(name + sizeof(name) - 2, "!");
	assert_string_equal(redaction_text(r, name), REDACTED);
	redaction_free(r);
}

static void wrong_patterns_are_refused_and_change_nothing(void **state)
{
	static const char *const wrong[] = { "/(/" };
	struct redaction *r = with("secret");
	auto_str struct str why = { 0 };

	assert_int_equal(redaction_set(r, wrong, 1, &why), -EINVAL);
	assert_true(why.len > 0);
	assert_string_equal(redaction_text(r, "secret"), REDACTED);
	assert_int_equal(redaction_check("", &why), -EINVAL);
	redaction_free(r);
}

static void values_of_tags_are_replaced_and_the_other_tags_stay(void **state)
{
	static const char *const cases[][3] = {
		{ "/tenant_\\w+/", "http.route=/a, user=tenant_anna",
		  "http.route=/a, user=" REDACTED },
		{ "user", "http.route=/a, user=anna", REDACTED "=anna, http.route=/a" },
		{ "user=anna", "http.route=/a, user=anna", "http.route=/a, user=" REDACTED },
		{ "x%y", "a=x%25y, b=z", "a=" REDACTED ", b=z" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct redaction *r = with(cases[i][0]);
		auto_profile struct profile *p = profile_new();
		const struct labels l = { .comm = "c", .tags = cases[i][1] };
		profile_add(p, profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "f", "")),
			    profile_intern_labels(p, &l), profile_find_type(p, "cpu", "ns"), 1);
		redaction_profile(r, p);
		assert_string_equal(p->labels.at[p->weights.at[0].labels].tags, cases[i][2]);
		redaction_free(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_of_tags_are_replaced_and_the_other_tags_stay),
		cmocka_unit_test(a_name_with_a_match_is_replaced_as_a_whole),
		cmocka_unit_test(stacks_that_become_equal_are_joined_and_sums_stay),
		cmocka_unit_test(modules_notes_title_and_target_are_redacted),
		cmocka_unit_test(what_cannot_be_decided_in_time_is_redacted),
		cmocka_unit_test(wrong_patterns_are_refused_and_change_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
