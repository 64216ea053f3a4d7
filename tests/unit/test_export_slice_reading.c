/* SPDX-License-Identifier: Apache-2.0 */
/* Reading slices of continuous profiling: names, and the notes of chosen label sets, times. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/time.h"
#include "export/slices/slice_reader.h"
#include "export/slices/slice_record.h"
#include "export/slices/slice_writer.h"

#define SLICE_NS (10 * NS_PER_SEC)
#define START_NS (1763640000 * NS_PER_SEC) /* a full hour */

static void add_sample(struct profile *p, const char *comm, u32 pid, u64 value)
{
	node_id node = profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "main", ""));
	const struct labels labels = { .pid = pid, .comm = comm };

	profile_add(p, node, profile_intern_labels(p, &labels), 0, value);
}

static struct profile *profile_of_cpu(void)
{
	struct profile *p = profile_new();

	profile_add_type(p, "cpu", "ns");
	p->rate_hz = NS_PER_SEC - 1; /* a sample stands for 1 ns */
	return p;
}

static struct profile *read_slices(const struct str *file, const struct slice_query *q)
{
	struct profile *p = profile_new();
	auto_str struct str why = { 0 };

	if (slices_read((const u8 *)file->at, file->len, q, p, &why))
		fail_msg("%s", why.at);
	return p;
}

/* Two slices, each with 3 ns of a program of that name, on a host whose name is no text. */
static struct str slices_of(const char *comm)
{
	struct slice_writer *w = slice_writer_new();
	auto_profile struct profile *p = profile_of_cpu();
	struct str file = { 0 };
	bool begins;

	free(p->host);
	p->host = xstrdup("\001node");
	add_sample(p, comm, 7, 3);
	for (u64 at = START_NS; at < START_NS + 2 * SLICE_NS; at += SLICE_NS)
		assert_int_equal(slice_writer_add(w, p, at, at + SLICE_NS, &file, &begins), 0);
	slice_writer_free(w);
	return file;
}

static void assert_comm(const struct str *file, const char *comm)
{
	const struct slice_query all = { .to_wall_ns = UINT64_MAX };
	auto_profile struct profile *p = read_slices(file, &all);

	assert_null(profile_find_note(p, "slices_lost"));
	assert_int_equal(profile_total(p, 0), 6);
	vec_each(w, &p->weights)
		assert_string_equal(p->labels.at[w->labels].comm, comm);
	assert_string_equal(p->host, "\uFFFDnode");
}

/* The kernel cuts names after 15 bytes. */
static void names_that_are_no_text_are_written_as_text(void **state)
{
	auto_str struct str cut = slices_of("Pr\u00fcfungs-Ausf\303"), tab = slices_of("\tx");

	assert_comm(&cut, "Pr\u00fcfungs-Ausf\uFFFD");
	assert_comm(&tab, "\uFFFDx");
}

static void names_that_an_earlier_writer_did_not_clean_are_read(void **state)
{
	auto_str struct str file = slices_of("a_b");
	struct slice_head head;

	assert_int_equal(slice_head_read((u8 *)file.at, file.len, &head), 0);
	*(char *)memmem(file.at, file.len, "a_b", 3) = '\303';
	slice_head_write(&head, (u8 *)file.at);
	assert_comm(&file, "\uFFFD_b");
}

static void assert_note(const struct profile *p, const char *key, const char *text)
{
	const struct note *n = profile_find_note(p, key);

	assert_string_equal(n ? n->text : "", text);
}

static void chosen_label_sets_have_notes_of_their_own(void **state)
{
	const struct slice_query all = { .to_wall_ns = UINT64_MAX },
				 chosen[] = { { .to_wall_ns = UINT64_MAX, .pid = 7 },
					      { .to_wall_ns = UINT64_MAX, .comm = "java" } };
	struct slice_writer *w = slice_writer_new();
	auto_profile struct profile *p = profile_of_cpu();
	auto_str struct str file = { 0 };
	bool begins;

	add_sample(p, "java", 7, 3);
	add_sample(p, "c", 8, 5);
	profile_note(p, "samples", "samples taken", 8);
	profile_note(p, NOTE_INCOMPLETE "8-1", "stacks of c-8 lack callers", 5);
	profile_note(p, "lost_ring_cpu", "samples lost", 2);
	assert_int_equal(slice_writer_add(w, p, START_NS, START_NS + 1, &file, &begins), 0);
	slice_writer_free(w);
	for (size_t i = 0; i < ARRAY_SIZE(chosen); i++) {
		auto_profile struct profile *read = read_slices(&file, &chosen[i]);
		assert_int_equal(profile_total(read, 0), 3);
		assert_int_equal(read->notes.nr, 3);
		assert_note(read, "samples", "samples taken");
		assert_int_equal(profile_find_note(read, "samples")->value, 3);
		assert_note(read, "node_samples", "samples taken (on the whole node)");
		assert_note(read, "node_lost_ring_cpu", "samples lost (on the whole node)");
	}
	auto_profile struct profile *read = read_slices(&file, &all);
	assert_int_equal(read->notes.nr, 3);
	assert_note(read, "lost_ring_cpu", "samples lost");
}

static void a_range_ends_where_it_was_cut(void **state)
{
	const struct slice_query q = { .from_wall_ns = START_NS,
				       .to_wall_ns = START_NS + 2 * SLICE_NS };
	struct slice_writer *w = slice_writer_new();
	auto_profile struct profile *p = profile_of_cpu(), *read = profile_new();
	auto_str struct str file = { 0 }, why = { 0 };
	bool begins;

	add_sample(p, "c", 7, 3);
	for (u64 at = START_NS; at < START_NS + 3 * SLICE_NS; at += SLICE_NS)
		assert_int_equal(slice_writer_add(w, p, at + 2 * NS_PER_MS,
						  at + SLICE_NS + 2 * NS_PER_MS, &file, &begins),
				 0);
	slice_writer_free(w);
	read->slot_ns = SLICE_NS;
	assert_int_equal(slices_read((u8 *)file.at, file.len, &q, read, &why), 0);
	assert_int_equal(profile_total(read, 0), 6);
	assert_int_equal(read->start_wall_ns, START_NS);
	assert_int_equal(read->duration_ns, 2 * SLICE_NS);
	vec_each(weight, &read->weights)
		assert_in_range(atoi(read->labels.at[weight->labels].time), 0, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_that_are_no_text_are_written_as_text),
		cmocka_unit_test(names_that_an_earlier_writer_did_not_clean_are_read),
		cmocka_unit_test(chosen_label_sets_have_notes_of_their_own),
		cmocka_unit_test(a_range_ends_where_it_was_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
