/* SPDX-License-Identifier: Apache-2.0 */
/* Weights that last several slots of time, in formats that show time. */
#include "formats.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/auto.h"
#include "base/time.h"
#include "export/export.h"
#include "export/read.h"

/* A profile of `nr` threads, each with one weight in these slots of 10 ms. */
static struct profile *profile_of(const char *time, u32 nr, u64 value)
{
	struct profile *p = profile_new();
	node_id node = profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "main", ""));

	profile_add_type(p, "wall", "ns");
	p->slot_ns = 10 * NS_PER_MS;
	p->rate_hz = 99;
	p->duration_ns = 60 * NS_PER_SEC;
	for (u32 i = 1; i <= nr; i++) {
		const struct labels labels = {
			.pid = 1, .tid = i, .comm = "c", .thread = "t", .time = time
		};
		profile_add(p, node, profile_intern_labels(p, &labels), 0, value);
	}
	return p;
}

static struct profile *read_back(const struct profile *p, const char *format)
{
	struct profile *back = profile_new();
	auto_str struct str bytes = written(p, format), why = { 0 };
	FILE *f = fmemopen(bytes.at, bytes.len, "r");

	if (profile_read(f, back, &why))
		fail_msg("%s: %s", format, why.at);
	fclose(f);
	return back;
}

static json_t *firefox_of(const struct profile *p)
{
	auto_str struct str bytes = written(p, "firefox");
	json_error_t error;
	json_t *root = json_loadb(bytes.at, bytes.len, 0, &error);

	assert_non_null(root);
	return root;
}

static void firefox_gets_a_wait_in_each_of_its_slots(void **state)
{
	struct profile *p = profile_of("3-7", 1, 46 * NS_PER_MS);
	json_t *root = firefox_of(p);
	json_t *thread = json_array_get(json_object_get(root, "threads"), 0);
	json_t *samples = json_object_get(thread, "samples");
	double ms = 0, sum = 0;

	assert_int_equal(json_integer_value(json_object_get(samples, "length")), 5);
	for (size_t i = 0; i < 5; i++) {
		json_t *delta = json_array_get(json_object_get(samples, "timeDeltas"), i);
		json_t *weight = json_array_get(json_object_get(samples, "weight"), i);
		ms += json_number_value(delta);
		sum += json_number_value(weight);
		assert_true(ms > (double)(10 * (3 + i)) - 0.01);
		assert_true(ms < (double)(10 * (3 + i)) + 0.01);
		assert_true(json_number_value(weight) > 9.19 && json_number_value(weight) < 9.21);
	}
	assert_true(sum > 45.9999 && sum < 46.0001);
	json_decref(root);
	profile_free(p);
}

/* 1,000 threads that wait for 60 s are 6 million slots. */
static void firefox_gets_long_waits_in_coarser_slots(void **state)
{
	struct profile *p = profile_of("0-5999", 1000, 60 * NS_PER_SEC);
	auto_str struct str bytes = written(p, "firefox");

	assert_true(bytes.len < 200u << 20);
	assert_true(bytes.len > 10u << 20);
	profile_free(p);
}

static void a_wait_keeps_its_slots_in_files(void **state)
{
	static const char *const all[] = { "html", "pprof", "otlp" };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct profile *p = profile_of("3-7", 2, 46), *back = read_back(p, all[i]);
		assert_int_equal(profile_total(back, 0), 92);
		assert_int_equal(back->slot_ns, p->slot_ns);
		vec_each(w, &back->weights)
			assert_string_equal(back->labels.at[w->labels].time, "3-7");
		profile_free(back);
		profile_free(p);
	}
}

/* A recording without cpu has no CPU time, not even a type with 0. */
static void pprof_derives_no_cpu_time_without_samples_of_cpu(void **state)
{
	static const char *const names[] = { "lock", "cpu" }, *const units[] = { "ns", "samples" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct profile *p = profile_of("0", 1, 5), *back;
		bool has_cpu = false;

		free(p->types.at[0].name);
		free(p->types.at[0].unit);
		p->types.at[0].name = xstrdup(names[i]);
		p->types.at[0].unit = xstrdup(units[i]);
		back = read_back(p, "pprof");
		vec_each(t, &back->types)
			has_cpu |= !strcmp(t->name, "cpu") && !strcmp(t->unit, "ns");
		assert_int_equal(has_cpu, i == 1);
		profile_free(back);
		profile_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(firefox_gets_a_wait_in_each_of_its_slots),
		cmocka_unit_test(firefox_gets_long_waits_in_coarser_slots),
		cmocka_unit_test(a_wait_keeps_its_slots_in_files),
		cmocka_unit_test(pprof_derives_no_cpu_time_without_samples_of_cpu),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
