/* SPDX-License-Identifier: Apache-2.0 */
/* Several files read into one profile: their types and the facts of their recordings. */
#include "formats.h"

#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "export/export.h"
#include "export/read.h"

#define SECOND 1000000000ull

struct recording {
	u64 start_s, duration_s;
	double rate_hz;
	u64 samples, lost;
};

static struct profile *profile_of(const struct recording *r)
{
	struct profile *p = profile_new();

	profile_add_type(p, "cpu", "samples");
	profile_add_type(p, "alloc", "bytes");
	p->start_wall_ns = r->start_s * SECOND;
	p->duration_ns = r->duration_s * SECOND;
	p->rate_hz = r->rate_hz;
	profile_note(p, "samples", "samples taken", r->samples);
	profile_note(p, "lost", "samples lost", r->lost);
	node_id node = profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "main", ""));
	labels_id java = profile_intern_labels(p, &(struct labels){ .pid = 7, .comm = "java" });
	labels_id other = profile_intern_labels(p, &(struct labels){ .pid = 8, .comm = "sh" });
	profile_add(p, node, java, 0, r->samples);
	profile_add(p, node, other, 1,
		    4096); /* of another process: a resource of its own in OTLP */
	return p;
}

static void read_into(struct profile *p, const struct str *bytes)
{
	auto_str struct str why = { 0 };
	FILE *f = fmemopen(bytes->at, bytes->len, "r");

	if (profile_read(f, p, &why))
		fail_msg("%s", why.at);
	fclose(f);
}

static void read_text(struct profile *p, const char *text)
{
	struct str bytes = { .at = (char *)text, .len = strlen(text) };

	read_into(p, &bytes);
}

static struct profile *merged(const char *format, const struct recording *all, size_t nr)
{
	struct profile *both = profile_new();

	for (size_t i = 0; i < nr; i++) {
		struct profile *p = profile_of(&all[i]);
		auto_str struct str bytes = written(p, format);
		read_into(both, &bytes);
		profile_free(p);
	}
	return both;
}

static const char *const kept_by[] = { "html", "pprof", "otlp" };

static void the_numbers_of_notes_are_added_up(void **state)
{
	static const struct recording all[] = { { 0, 60, 100, 1009, 907 }, { 0, 1, 100, 1013, 0 } };

	for (size_t i = 0; i < ARRAY_SIZE(kept_by); i++) {
		struct profile *p = merged(kept_by[i], all, 2);
		assert_int_equal(profile_find_note(p, "lost")->value, 907);
		assert_int_equal(profile_find_note(p, "samples")->value, 2022);
		assert_string_equal(profile_find_note(p, "lost")->text, "samples lost");
		assert_int_equal(p->notes.nr, 2);
		profile_free(p);
	}
}

static void the_time_spans_from_the_earliest_start_to_the_latest_end(void **state)
{
	static const struct recording all[] = { { 1100, 10, 100, 2, 0 },
						{ 1000, 50, 100, 3, 0 },
						{ 1020, 5, 100, 5, 0 } };

	for (size_t i = 0; i < ARRAY_SIZE(kept_by); i++) {
		struct profile *p = merged(kept_by[i], all, 3);
		assert_int_equal(p->start_wall_ns, 1000 * SECOND);
		assert_int_equal(p->duration_ns, 110 * SECOND);
		profile_free(p);
	}
}

static void without_a_start_the_longest_recording_counts(void **state)
{
	static const struct recording all[] = { { 0, 60, 100, 2, 0 }, { 1000, 1, 100, 3, 0 } };

	for (size_t i = 0; i < ARRAY_SIZE(kept_by); i++) {
		struct profile *p = merged(kept_by[i], all, 2);
		assert_int_equal(p->start_wall_ns, 1000 * SECOND);
		assert_int_equal(p->duration_ns, 60 * SECOND);
		profile_free(p);
	}
}

static void a_rate_is_kept_if_all_samples_share_it(void **state)
{
	static const struct recording same[] = { { 0, 1, 99, 2, 0 }, { 0, 1, 99, 3, 0 } };
	static const struct recording other[] = { { 0, 1, 99, 2, 0 }, { 0, 1, 49, 3, 0 } };
	static const struct recording none[] = { { 0, 1, 99, 2, 0 }, { 0, 1, 0, 0, 0 } };

	for (size_t i = 0; i < ARRAY_SIZE(kept_by); i++) {
		struct profile *a = merged(kept_by[i], same, 2), *b = merged(kept_by[i], other, 2);
		struct profile *c = merged(kept_by[i], none, 2);
		assert_true(a->rate_hz > 98.99 && a->rate_hz < 99.01);
		assert_true(b->rate_hz == 0);
		assert_true(c->rate_hz > 98.99 && c->rate_hz < 99.01);
		profile_free(a);
		profile_free(b);
		profile_free(c);
	}
}

static void samples_of_two_rates_give_no_cpu_time(void **state)
{
	static const struct recording all[] = { { 0, 1, 99, 2, 0 }, { 0, 1, 49, 3, 0 } };
	struct profile *p = merged("html", all, 2), *back = profile_new();
	auto_str struct str bytes = written(p, "pprof");

	read_into(back, &bytes);
	assert_int_equal(back->types.nr, 2);
	assert_int_equal(profile_total(back, 0), 5);
	profile_free(p);
	profile_free(back);
}

static u32 type_at(struct profile *p, const char *name, const char *unit)
{
	u32 nr = (u32)p->types.nr, type = profile_find_type(p, name, unit);

	if (type == nr)
		fail_msg("there is no %s/%s", name, unit);
	return type;
}

static void text_is_not_added_to_bytes(void **state)
{
	struct profile *p = profile_new();

	profile_add_type(p, "alloc", "bytes");
	read_text(p, "a;b 3\n");
	read_text(p, "a;b 4\n");
	assert_int_equal(profile_total(p, 0), 0);
	assert_int_equal(profile_total(p, type_at(p, "samples", "samples")), 7);
	profile_free(p);
}

static void text_is_added_to_samples_of_anything(void **state)
{
	struct profile *p = profile_new();

	profile_add_type(p, "cpu", "samples");
	read_text(p, "a;b 3\n");
	assert_int_equal(profile_total(p, 0), 3);
	assert_int_equal(p->types.nr, 1);
	profile_free(p);
}

static void text_joins_no_side_of_a_comparison(void **state)
{
	struct profile *p = profile_new();

	profile_add_type(p, "samples after", "samples");
	profile_add_type(p, "samples before", "samples");
	p->types.at[0].role = VALUE_AFTER;
	p->types.at[1].role = VALUE_BEFORE;
	read_text(p, "a;b 3\n");
	assert_int_equal(profile_total(p, 0) + profile_total(p, 1), 0);
	assert_int_equal(profile_total(p, type_at(p, "samples", "samples")), 3);
	profile_free(p);
}

static struct str timed_at(const char *time, const char *thread, u64 start_ns, u64 slot_ns)
{
	struct profile *p = profile_of(&(struct recording){ .duration_s = 1 });
	struct labels labels = { .tid = 7, .thread = thread, .time = time };
	node_id node = profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "main", ""));

	p->start_wall_ns = start_ns;
	p->slot_ns = slot_ns;
	profile_add(p, node, profile_intern_labels(p, &labels), 0, 3);
	struct str bytes = written(p, "html");
	profile_free(p);
	return bytes;
}

/* One sample in slot 5. */
static struct str timed(const char *thread, u64 start_ns, u64 slot_ns)
{
	return timed_at(slot_ns ? "5" : "", thread, start_ns, slot_ns);
}

static const char *slot_of(const struct profile *p, const char *thread)
{
	vec_each(w, &p->weights)
		if (w->type == 0 && !strcmp(p->labels.at[w->labels].thread, thread))
			return p->labels.at[w->labels].time;
	fail_msg("%s has no sample", thread);
	return NULL;
}

/* Reads both and frees them. */
static struct profile *both_of(struct str a, struct str b)
{
	struct profile *p = profile_new();

	read_into(p, &a);
	read_into(p, &b);
	assert_int_equal(profile_total(p, 0), 6);
	assert_int_equal(p->start_wall_ns, 10 * SECOND);
	str_fini(&a);
	str_fini(&b);
	return p;
}

#define SLOT 10000000

static void slots_of_all_files_count_from_the_earliest_start(void **state)
{
	struct str early = timed("a", 10 * SECOND, SLOT), late = timed("b", 12 * SECOND, SLOT);
	struct profile *p = both_of(early, late);

	assert_string_equal(slot_of(p, "a"), "5");
	assert_string_equal(slot_of(p, "b"), "205");
	assert_int_equal(p->slot_ns, SLOT);
	assert_int_equal(p->duration_ns, 3 * SECOND);
	profile_free(p);
	p = both_of(timed("b", 12 * SECOND, SLOT), timed("a", 10 * SECOND, SLOT));
	assert_string_equal(slot_of(p, "a"), "5");
	assert_string_equal(slot_of(p, "b"), "205");
	profile_free(p);
}

static void slots_have_the_width_of_the_first_file(void **state)
{
	struct profile *p =
		both_of(timed("a", 10 * SECOND, SLOT), timed("b", 11 * SECOND, 2 * SLOT));

	assert_string_equal(slot_of(p, "b"), "110");
	profile_free(p);
}

static void a_wait_keeps_all_its_slots(void **state)
{
	struct profile *p = both_of(timed_at("5-14", "a", 10 * SECOND, SLOT),
				    timed_at("5-14", "b", 12 * SECOND, SLOT));

	assert_string_equal(slot_of(p, "a"), "5-14");
	assert_string_equal(slot_of(p, "b"), "205-214");
	profile_free(p);
	p = both_of(timed_at("5-14", "a", 10 * SECOND, SLOT),
		    timed_at("5-14", "b", 11 * SECOND, 2 * SLOT));
	assert_string_equal(slot_of(p, "b"), "110-129");
	profile_free(p);
}

static void slots_move_when_a_file_without_time_began_earlier(void **state)
{
	struct profile *p = both_of(timed("a", 10 * SECOND, 0), timed("b", 11 * SECOND, SLOT));

	assert_string_equal(slot_of(p, "a"), "");
	assert_string_equal(slot_of(p, "b"), "105");
	profile_free(p);
	p = both_of(timed("b", 11 * SECOND, SLOT), timed("a", 10 * SECOND, 0));
	assert_string_equal(slot_of(p, "b"), "105");
	profile_free(p);
}

/* Files with a timeline are merged by way of another profile. */
static void a_merge_with_time_keeps_what_frames_have(void **state)
{
	struct profile *p = profile_new();
	auto_str struct str bytes = timed("a", 10 * SECOND, SLOT);

	frames_keep_lines(p->frames);
	frames_keep_signatures(p->frames);
	read_into(p, &bytes);
	read_into(p, &bytes);
	assert_int_equal(profile_total(p, 0), 6);
	assert_true(frames_keeps_lines(p->frames));
	assert_true(frames_keeps_signatures(p->frames));
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_numbers_of_notes_are_added_up),
		cmocka_unit_test(the_time_spans_from_the_earliest_start_to_the_latest_end),
		cmocka_unit_test(without_a_start_the_longest_recording_counts),
		cmocka_unit_test(a_rate_is_kept_if_all_samples_share_it),
		cmocka_unit_test(samples_of_two_rates_give_no_cpu_time),
		cmocka_unit_test(text_is_not_added_to_bytes),
		cmocka_unit_test(text_is_added_to_samples_of_anything),
		cmocka_unit_test(text_joins_no_side_of_a_comparison),
		cmocka_unit_test(slots_of_all_files_count_from_the_earliest_start),
		cmocka_unit_test(slots_have_the_width_of_the_first_file),
		cmocka_unit_test(a_wait_keeps_all_its_slots),
		cmocka_unit_test(slots_move_when_a_file_without_time_began_earlier),
		cmocka_unit_test(a_merge_with_time_keeps_what_frames_have),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
