/* SPDX-License-Identifier: Apache-2.0 */
/* The work of the web's workers on good, damaged and hostile files, and with hostile parameters. */
#include "formats.h"
#include "tasks.h"

#include <jansson.h>

#include "base/time.h"
#include "export/format/envelope.h"

#define HOUR 1795500000000000000ull

static void expect_refusal(enum web_task task, const char *input, const struct web_params *params,
			   const char *sentence)
{
	auto_str struct str out = { 0 };

	assert_int_equal(run(task, text_file(input), text_file(input), params, NULL, &out),
			 WEB_RESULT_REFUSED);
	if (!strstr(out.at, sentence))
		fail_msg("%s", out.at);
}

static void several_profiles_are_merged(void **state)
{
	const struct web_params params = { .nr_inputs = 3, .format = "collapsed" };
	struct more more = { .files[WEB_PLACE_PROFILE] = { [1] = { "a;b 3", 5 }, { "c 5", 3 } } };
	auto_str struct str out = { 0 };

	assert_int_equal(run(WEB_CONVERT, text_file("a;b 2\n"), -1, &params, &more, &out),
			 WEB_RESULT_OK);
	assert_non_null(strstr(out.at, "a;b 5\n"));
	assert_non_null(strstr(out.at, "c 5\n"));
}

static void a_missing_profile_is_an_error(void **state)
{
	const struct web_params params = { .nr_inputs = 2, .format = "collapsed" };
	auto_str struct str out = { 0 };
	struct more none = { 0 };

	assert_int_equal(run(WEB_CONVERT, text_file("a 2"), -1, &params, &none, &out), -ENOENT);
}

static void every_format_is_written(void **state)
{
	for (const struct format *f = formats; f->name; f++) {
		const struct web_params params = in_format(f->name);
		auto_str struct str out = { 0 };
		assert_int_equal(run(WEB_CONVERT, text_file("main;x 7"), -1, &params, NULL, &out),
				 WEB_RESULT_OK);
		assert_true(out.len > 0);
	}
	/* Downloads are also named by extensions. */
	const struct web_params json = in_format("json");
	auto_str struct str out = { 0 };
	assert_int_equal(run(WEB_CONVERT, text_file("main;x 7"), -1, &json, NULL, &out),
			 WEB_RESULT_OK);
	assert_non_null(strstr(out.at, "speedscope"));
}

static void an_import_is_read_again(void **state)
{
	const struct web_params import = { .title = "from a file" }, text = in_format("collapsed");
	auto_str struct str raw = { 0 }, out = { 0 };

	assert_int_equal(run(WEB_IMPORT, text_file("main;x 7"), -1, &import, NULL, &raw),
			 WEB_RESULT_OK);
	assert_true(envelope_is((u8 *)raw.at, raw.len));
	assert_int_equal(run(WEB_CONVERT, memory_file(raw.at, raw.len), -1, &text, NULL, &out),
			 WEB_RESULT_OK);
	assert_non_null(strstr(out.at, "main;x 7\n"));
}

static void what_is_no_profile_is_refused(void **state)
{
	const struct web_params params = in_format("html");

	expect_refusal(WEB_IMPORT, "<!doctype html><script>alert(1)</script>", &params,
		       "The profile cannot be read: this page contains no profile of sysflame or "
		       "async-profiler");
	expect_refusal(WEB_IMPORT, "", &params, "it has no samples");
	expect_refusal(WEB_CONVERT, "PERFILE2", &params, "raw data of perf");
	expect_refusal(WEB_SUMMARY, "PERFILE2", &params, "raw data of perf");
	expect_refusal(WEB_DIFF, "PERFILE2", &params, "raw data of perf");
}

/* Each cut and each changed byte gives a result or a sentence. */
static void damage_is_refused(void **state)
{
	const struct web_params import = { 0 }, params = in_format("collapsed");
	auto_str struct str raw = { 0 }, out = { 0 };

	assert_int_equal(run(WEB_IMPORT, text_file("main;x 7\nmain;y 5"), -1, &import, NULL, &raw),
			 WEB_RESULT_OK);
	for (size_t len = 1; len < raw.len; len++)
		assert_in_range(run(WEB_CONVERT, memory_file(raw.at, len), -1, &params, NULL, &out),
				WEB_RESULT_OK, WEB_RESULT_REFUSED);
	assert_int_equal(
		run(WEB_CONVERT, memory_file(raw.at, raw.len - 1), -1, &params, NULL, &out),
		WEB_RESULT_REFUSED);
	for (size_t i = 0; i < raw.len; i++) {
		raw.at[i] ^= 0x41;
		assert_in_range(
			run(WEB_CONVERT, memory_file(raw.at, raw.len), -1, &params, NULL, &out),
			WEB_RESULT_OK, WEB_RESULT_REFUSED);
		raw.at[i] ^= 0x41;
	}
}

static void a_page_gets_title_and_transforms(void **state)
{
	struct web_params params = in_format("html");
	auto_str struct str page = { 0 };

	strcpy(params.title, "<b>two</b>");
	strcpy(params.transforms, "remove x\ndrop y\n");
	assert_int_equal(run(WEB_CONVERT, text_file("main;x 7"), -1, &params, NULL, &page),
			 WEB_RESULT_OK);
	assert_non_null(strstr(page.at, "&lt;b&gt;two&lt;/b&gt; - sysflame"));
	auto_profile struct profile *p = profile_of(&page);
	assert_int_equal(profile_total(p, 0), 7);
	assert_non_null(strstr(p->view, "remove"));
	assert_non_null(strstr(p->view, "drop"));
}

static void transforms_change_other_formats(void **state)
{
	struct web_params params = in_format("collapsed");
	auto_str struct str out = { 0 };

	strcpy(params.transforms, "remove x");
	assert_int_equal(run(WEB_CONVERT, text_file("main;x 7\nmain;y 5"), -1, &params, NULL, &out),
			 WEB_RESULT_OK);
	assert_null(strstr(out.at, "x 7"));
	assert_non_null(strstr(out.at, "main;y 5"));
	strcpy(params.transforms, "remove x\nfly away\n");
	expect_refusal(WEB_CONVERT, "a 1", &params, "The transform \"fly away\" is invalid");
	strcpy(params.transforms, "remove /(/");
	expect_refusal(WEB_CONVERT, "a 1", &params, "The transform \"remove /(/\" is invalid");
}

static void two_profiles_are_compared(void **state)
{
	const struct web_params params = in_format("html");
	auto_str struct str page = { 0 }, out = { 0 };

	assert_int_equal(
		run(WEB_DIFF, text_file("a;b 70"), text_file("a;c 30"), &params, NULL, &page),
		WEB_RESULT_OK);
	/* The comparison is a profile like others, and its total is that of the second. */
	assert_int_equal(run(WEB_SUMMARY, memory_file(page.at, page.len), -1, &params, NULL, &out),
			 WEB_RESULT_OK);
	json_t *json = json_loads(out.at, 0, NULL);
	assert_int_equal(json_integer_value(json_object_get(json, "total")), 30);
	json_decref(json);
}

static int of_event(const char *name, const char *unit)
{
	auto_profile struct profile *p = profile_new();
	auto_str struct str text = { 0 };
	frame_id frame = frames_intern(p->frames, FRAME_NATIVE, "f", "");

	profile_add(p, profile_child(p, 0, frame), 0, profile_add_type(p, name, unit), 5);
	text = written(p, "html");
	return memory_file(text.at, text.len);
}

static void assert_not_compared(int before, int after, const char *why)
{
	const struct web_params params = in_format("html");
	auto_str struct str out = { 0 };

	assert_int_equal(run(WEB_DIFF, before, after, &params, NULL, &out), WEB_RESULT_REFUSED);
	assert_non_null(strstr(out.at, "The two cannot be compared: "));
	assert_non_null(strstr(out.at, why));
}

static void profiles_without_a_common_event_are_not_compared(void **state)
{
	assert_not_compared(of_event("cpu", "ns"), of_event("alloc", "bytes"), "different things");
	assert_not_compared(of_event("cpu", "ns"), of_event("cycles", "cycles"),
			    "cycles are no time: record the same event for both");
}

static double share(const json_t *json, const char *kind)
{
	return json_number_value(json_object_get(json_object_get(json, "kinds"), kind));
}

static struct profile *of_all_kinds(void)
{
	static const struct {
		enum frame_kind kind;
		const char *name;
		u64 value;
	} leaves[] = {
		{ FRAME_C2, "Map.get", 400 },    { FRAME_INTERPRETED, "Map.put", 100 },
		{ FRAME_NATIVE, "memcpy", 200 }, { FRAME_KERNEL, "copy_page", 200 },
		{ FRAME_JVM, "G1ParScan", 50 },  { FRAME_UNKNOWN, "\"</script>", 50 },
	};
	struct profile *p = profile_new();

	profile_add_type(p, "cpu", "ns");
	profile_add_type(p, "cpu-samples", "samples");
	for (size_t i = 0; i < ARRAY_SIZE(leaves); i++) {
		node_id n = profile_child(
			p, 0, frames_intern(p->frames, leaves[i].kind, leaves[i].name, ""));
		/* An object's class is no code: its caller counts. */
		if (i == 0)
			n = profile_child(p, n, frames_intern(p->frames, FRAME_CLASS, "C", ""));
		profile_add(p, n, profile_intern_labels(p, &(struct labels){ 0 }), 0,
			    leaves[i].value);
	}
	profile_note(p, "samples", "samples taken", 41);
	profile_note(p, "lost", "samples lost", 7);
	profile_note(p, NOTE_INCOMPLETE "7-1", "stacks of a-7 lack callers (9.5 % of 200): why",
		     19);
	profile_note(p, NOTE_INCOMPLETE "7-2", "stacks of a-7 lack callers (4.6 % of 500): why",
		     23);
	profile_note(p, NOTE_INCOMPLETE "refused-8-1", "JVM without the agent (b-8): why", 1);
	p->start_wall_ns = HOUR;
	p->duration_ns = 30 * NS_PER_SEC;
	p->rate_hz = 99;
	free(p->host);
	p->host = xstrdup("node-1");
	return p;
}

static void a_summary_says_where_the_time_went(void **state)
{
	auto_profile struct profile *p = of_all_kinds();
	struct str page = written(p, "html");
	const struct web_params params = { 0 };
	auto_str struct str out = { 0 };

	assert_int_equal(run(WEB_SUMMARY, memory_file(page.at, page.len), -1, &params, NULL, &out),
			 WEB_RESULT_OK);
	str_fini(&page);
	json_t *json = json_loads(out.at, 0, NULL), *top = json_object_get(json, "top");
	assert_non_null(json);
	assert_float_equal(share(json, "java"), 0.5, 1e-9);
	assert_float_equal(share(json, "native"), 0.2, 1e-9);
	assert_float_equal(share(json, "kernel"), 0.2, 1e-9);
	assert_float_equal(share(json, "jvm"), 0.05, 1e-9);
	assert_float_equal(share(json, "other"), 0.05, 1e-9);
	assert_int_equal(json_array_size(top), 5);
	assert_string_equal(json_string_value(json_object_get(json_array_get(top, 0), "name")),
			    "C");
	assert_int_equal(json_integer_value(json_object_get(json, "samples")), 41);
	assert_int_equal(json_integer_value(json_object_get(json, "lost")), 7);
	assert_int_equal(json_integer_value(json_object_get(json, "start_ms")), HOUR / NS_PER_MS);
	assert_int_equal(json_integer_value(json_object_get(json, "duration_ms")), 30000);
	assert_int_equal(json_integer_value(json_object_get(json, "rate_hz")), 99);
	assert_string_equal(json_string_value(json_object_get(json, "events")), "cpu");
	assert_string_equal(json_string_value(json_object_get(json, "host")), "node-1");
	const json_t *alerts = json_object_get(json, "alerts");
	assert_int_equal(json_array_size(alerts), 2);
	assert_string_equal(json_string_value(json_array_get(alerts, 0)),
			    "42 stacks of a-7 lack callers: why");
	assert_string_equal(json_string_value(json_array_get(alerts, 1)),
			    "1 JVM without the agent (b-8): why");
	json_decref(json);
}

static void parameters_that_no_web_process_sends_are_refused(void **state)
{
	struct web_params good = { .nr_inputs = 1, .format = "collapsed", .to_wall_ns = 1 };
	static const int fds[] = { -1, -1 };
	struct web_params bad[6] = { good, good, good, good, good, good };
	void *bytes;
	size_t nr;

	memset(bad[0].format, 'x', sizeof(bad[0].format));
	memset(bad[1].title, 'x', sizeof(bad[1].title));
	memset(bad[2].transforms, 'x', sizeof(bad[2].transforms));
	memset(bad[3].service, 'x', sizeof(bad[3].service));
	memset(bad[4].comm, 'x', sizeof(bad[4].comm));
	bad[5].nr_inputs = UINT32_MAX;
	for (enum web_task task = 0; task < WEB_TASKS; task++)
		if (task != WEB_SUMMARY)
			assert_int_equal(worker_run_here(web_tasks[task], fds, &good,
							 sizeof(good) - 1, RESULT_MAX, NULL, NULL,
							 &bytes, &nr),
					 -EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(worker_run_here(web_tasks[WEB_CONVERT], fds, &bad[i],
						 sizeof(bad[i]), RESULT_MAX, NULL, NULL, &bytes,
						 &nr),
				 -EINVAL);
	good.from_wall_ns = 2;
	assert_int_equal(worker_run_here(web_tasks[WEB_RANGE], fds, &good, sizeof(good), RESULT_MAX,
					 NULL, NULL, &bytes, &nr),
			 -EINVAL);
	strcpy(good.format, "../etc");
	expect_refusal(WEB_CONVERT, "a 1", &good, "There is no format of the name \"../etc\".");
}

static void a_result_has_a_limit(void **state)
{
	const struct web_params params = in_format("html");
	auto_close int fd = text_file("a 1");
	void *bytes;
	size_t nr;

	assert_int_equal(worker_run_here(web_tasks[WEB_CONVERT], &fd, &params, sizeof(params), 1000,
					 NULL, NULL, &bytes, &nr),
			 -EFBIG);
}

/* The seccomp filter of a worker permits all that the tasks call. */
static void a_worker_without_rights_does_each_task(void **state)
{
	struct web_params params = in_format("html");
	struct workers *w;

	params.to_wall_ns = params.step_ns = 1;
	assert_int_equal(web_workers_new(&w), 0);
	for (enum web_task task = 0; task < WEB_TASKS; task++) {
		const struct work_order order = {
			.task = task,
			.fds = { text_file("main;x 7"), text_file("main;y 7") },
			.params = &params,
			.len = sizeof(params),
			.max = RESULT_MAX,
			.run = web_tasks[task],
		};
		auto_free void *bytes = NULL;
		size_t nr = 0;
		struct work *k = work_start(w, &order);
		workers_set_patience(w, 60 * NS_PER_SEC);
		assert_int_equal(work_result(k, &bytes, &nr), 0);
		work_free(k);
		/* A minute without slices has no requests. */
		assert_true(nr > (task != WEB_PUSH));
		assert_int_equal(*(u8 *)bytes, task == WEB_RANGE || task == WEB_THIN
						       ? WEB_RESULT_REFUSED
						       : WEB_RESULT_OK);
	}
	workers_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(several_profiles_are_merged),
		cmocka_unit_test(a_missing_profile_is_an_error),
		cmocka_unit_test(every_format_is_written),
		cmocka_unit_test(an_import_is_read_again),
		cmocka_unit_test(what_is_no_profile_is_refused),
		cmocka_unit_test(damage_is_refused),
		cmocka_unit_test(a_page_gets_title_and_transforms),
		cmocka_unit_test(transforms_change_other_formats),
		cmocka_unit_test(two_profiles_are_compared),
		cmocka_unit_test(profiles_without_a_common_event_are_not_compared),
		cmocka_unit_test(a_summary_says_where_the_time_went),
		cmocka_unit_test(parameters_that_no_web_process_sends_are_refused),
		cmocka_unit_test(a_result_has_a_limit),
		cmocka_unit_test(a_worker_without_rights_does_each_task),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
