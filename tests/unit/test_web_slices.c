/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker makes of files of slices: time ranges. */
#include "tasks.h"

#include "base/time.h"
#include "export/slices/slice_writer.h"

#define HOUR 1795500000000000000ull

/* Two slices of 10 s: 3 ms of `name`, then 5 ms, in a service of that name. */
static struct str slices_of(const char *name, u64 begin_ns)
{
	struct slice_writer *w = slice_writer_new();
	struct str bytes = { 0 };
	bool begins;

	for (u64 i = 0; i < 2; i++) {
		auto_profile struct profile *p = profile_new();
		const struct labels labels = {
			.pid = 7, .tid = 7, .comm = "java", .service = name
		};
		u64 at = begin_ns + i * 10 * NS_PER_SEC;
		profile_add(p, profile_child(p, 0, frames_intern(p->frames, FRAME_C2, name, "")),
			    profile_intern_labels(p, &labels), profile_add_type(p, "cpu", "ns"),
			    3 + 2 * i);
		assert_int_equal(slice_writer_add(w, p, at, at + 10 * NS_PER_SEC, &bytes, &begins),
				 0);
	}
	slice_writer_free(w);
	return bytes;
}

static struct more two_slice_files(void)
{
	return (struct more){ .files[WEB_PLACE_SLICES] = { slices_of("shop", HOUR),
							   slices_of("mail", HOUR) } };
}

static void free_files(struct more *more)
{
	for (int i = 0; i < 4; i++)
		str_fini(&more->files[WEB_PLACE_SLICES][i]);
}

static void a_range_of_all_files_is_written(void **state)
{
	struct web_params params = in_format("collapsed");
	struct more more = two_slice_files();
	auto_str struct str out = { 0 };

	params.from_wall_ns = HOUR;
	params.to_wall_ns = HOUR + 20 * NS_PER_SEC;
	assert_int_equal(run(WEB_RANGE, text_file(""), -1, &params, &more, &out), WEB_RESULT_OK);
	assert_non_null(strstr(out.at, "shop 8\n"));
	assert_non_null(strstr(out.at, "mail 8\n"));
	params.to_wall_ns = HOUR + 10 * NS_PER_SEC;
	strcpy(params.service, "shop");
	assert_int_equal(run(WEB_RANGE, text_file(""), -1, &params, &more, &out), WEB_RESULT_OK);
	assert_non_null(strstr(out.at, "shop 3\n"));
	assert_null(strstr(out.at, "mail"));
	params.from_wall_ns = HOUR - 10 * NS_PER_SEC;
	params.to_wall_ns = HOUR;
	assert_int_equal(run(WEB_RANGE, text_file(""), -1, &params, &more, &out),
			 WEB_RESULT_REFUSED);
	assert_string_equal(out.at, "There are no samples in this time.");
	free_files(&more);
}

static void a_damaged_file_of_slices_is_left_out(void **state)
{
	struct web_params params = in_format("html");
	struct more more = two_slice_files();
	auto_str struct str page = { 0 };

	params.from_wall_ns = HOUR;
	params.to_wall_ns = HOUR + 20 * NS_PER_SEC;
	memset(more.files[WEB_PLACE_SLICES][0].at, 'x', more.files[WEB_PLACE_SLICES][0].len);
	assert_int_equal(run(WEB_RANGE, text_file(""), -1, &params, &more, &page), WEB_RESULT_OK);
	auto_profile struct profile *p = profile_of(&page);
	assert_int_equal(profile_total(p, 0), 8);
	assert_true(p->notes.nr > 0);
	free_files(&more);
}

static void an_unreadable_file_of_slices_is_left_out(void **state)
{
	static const int errs[] = { -EIO, -EACCES, -EPERM };
	struct web_params params = in_format("html");
	struct more more = two_slice_files();
	auto_str struct str out = { 0 };

	params.from_wall_ns = HOUR;
	params.to_wall_ns = HOUR + 20 * NS_PER_SEC;
	for (size_t i = 0; i < ARRAY_SIZE(errs); i++) {
		more.slices_errs[0] = errs[i];
		assert_int_equal(run(WEB_RANGE, text_file(""), -1, &params, &more, &out),
				 WEB_RESULT_OK);
		auto_profile struct profile *p = profile_of(&out);
		assert_int_equal(profile_total(p, 0), 8);
		assert_int_equal(profile_find_note(p, NOTE_INCOMPLETE "slices")->value, 1);
	}
	more.slices_errs[1] = -EIO;
	assert_int_equal(run(WEB_RANGE, text_file(""), -1, &params, &more, &out),
			 WEB_RESULT_REFUSED);
	assert_string_equal(out.at, "The files of this time are damaged or cannot be read.");
	more.slices_errs[0] = -EMFILE;
	assert_int_equal(run(WEB_RANGE, text_file(""), -1, &params, &more, &out), -EMFILE);
	free_files(&more);
}

/* `nr` slices with 5 ns of cpu and `waits` ns of offcpu each. */
static struct str slices_with_waits(u64 nr, u64 waits)
{
	struct slice_writer *w = slice_writer_new();
	auto_profile struct profile *p = profile_new();
	node_id node = profile_child(p, 0, frames_intern(p->frames, FRAME_C2, "run", ""));
	labels_id labels = profile_intern_labels(p, &(struct labels){ .pid = 7, .tid = 7 });
	struct str bytes = { 0 };
	bool begins;

	profile_add(p, node, labels, profile_add_type(p, "offcpu", "ns"), waits);
	profile_add(p, node, labels, profile_add_type(p, "cpu", "ns"), 5);
	for (u64 i = 0; i < nr; i++) {
		u64 at = HOUR + i * 10 * NS_PER_SEC;
		assert_int_equal(slice_writer_add(w, p, at, at + 10 * NS_PER_SEC, &bytes, &begins),
				 0);
	}
	slice_writer_free(w);
	return bytes;
}

static void a_type_that_adds_up_to_too_much_is_left_out_alone(void **state)
{
	struct web_params params = in_format("html");
	struct more more = { .files[WEB_PLACE_SLICES] = { slices_with_waits(3, 1ull << 52) } };
	auto_str struct str page = { 0 };

	params.from_wall_ns = HOUR;
	params.to_wall_ns = HOUR + 30 * NS_PER_SEC;
	assert_int_equal(run(WEB_RANGE, text_file(""), -1, &params, &more, &page), WEB_RESULT_OK);
	auto_profile struct profile *p = profile_of(&page);
	assert_int_equal(p->types.nr, 1);
	assert_string_equal(p->types.at[0].name, "cpu");
	assert_int_equal(profile_total(p, 0), 15);
	assert_non_null(profile_find_note(p, NOTE_INCOMPLETE "large-offcpu-ns"));
	assert_null(profile_find_note(p, NOTE_INCOMPLETE "slices"));

	strcpy(params.event, "offcpu");
	assert_int_equal(run(WEB_RANGE, text_file(""), -1, &params, &more, &page),
			 WEB_RESULT_REFUSED);
	assert_string_equal(page.at,
			    "The values add up to more than 2^53 - 1; choose a shorter time.");
	params.to_wall_ns -= 20 * NS_PER_SEC;
	assert_int_equal(run(WEB_RANGE, text_file(""), -1, &params, &more, &page), WEB_RESULT_OK);
	free_files(&more);
}

static void a_range_that_is_too_large_to_add_up_is_refused(void **state)
{
	enum {
		SLICES = 2100
	};
	struct web_params params = in_format("html");
	struct more more = { .files[WEB_PLACE_SLICES] = {
				     slices_with_waits(SLICES, (1ull << 53) - 1) } };
	auto_str struct str page = { 0 };

	params.from_wall_ns = HOUR;
	params.to_wall_ns = HOUR + SLICES * 10 * NS_PER_SEC;
	assert_int_equal(run(WEB_RANGE, text_file(""), -1, &params, &more, &page),
			 WEB_RESULT_REFUSED);
	assert_string_equal(page.at, "The time range cannot be read: the weights add up to more "
				     "than 2^64 - 1; choose a shorter time.");
	free_files(&more);
}

/* Two processes at 19 Hz; the recorder counted the samples of both. */
static void the_samples_of_a_process_are_counted_from_its_cpu_time(void **state)
{
	struct slice_writer *w = slice_writer_new();
	auto_profile struct profile *p = profile_new();
	node_id node = profile_child(p, 0, frames_intern(p->frames, FRAME_C2, "run", ""));
	u32 cpu = profile_add_type(p, "cpu", "ns");
	struct web_params params = in_format("sflm"), none = { .nr_inputs = 1 };
	struct more more = { 0 };
	auto_str struct str body = { 0 }, summary = { 0 };
	bool begins;

	p->rate_hz = 19;
	for (u32 pid = 7; pid <= 8; pid++)
		profile_add(p, node, profile_intern_labels(p, &(struct labels){ .pid = pid }), cpu,
			    NS_PER_SEC / 19 * (pid == 7 ? 5 : 2263));
	profile_note(p, "samples", "samples taken", 2268);
	assert_int_equal(slice_writer_add(w, p, HOUR, HOUR + 10 * NS_PER_SEC,
					  &more.files[WEB_PLACE_SLICES][0], &begins),
			 0);
	slice_writer_free(w);
	params.from_wall_ns = HOUR;
	params.to_wall_ns = HOUR + 10 * NS_PER_SEC;
	params.pid = 7;
	assert_int_equal(run(WEB_RANGE, text_file(""), -1, &params, &more, &body), WEB_RESULT_OK);
	assert_int_equal(
		run(WEB_SUMMARY, memory_file(body.at, body.len), -1, &none, NULL, &summary),
		WEB_RESULT_OK);
	assert_non_null(strstr(summary.at, "\"samples\":5,"));
	free_files(&more);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_range_of_all_files_is_written),
		cmocka_unit_test(a_damaged_file_of_slices_is_left_out),
		cmocka_unit_test(an_unreadable_file_of_slices_is_left_out),
		cmocka_unit_test(a_type_that_adds_up_to_too_much_is_left_out_alone),
		cmocka_unit_test(a_range_that_is_too_large_to_add_up_is_refused),
		cmocka_unit_test(the_samples_of_a_process_are_counted_from_its_cpu_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
