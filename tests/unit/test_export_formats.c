/* SPDX-License-Identifier: Apache-2.0 */
/* A profile written in a format and read back has the same stacks with the same weights. */
#include "formats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "export/export.h"
#include "export/read.h"
#include "profile/tree.h"

#define NR_PROFILES 20

static u32 next(u32 *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static struct profile *random_profile(u32 seed)
{
	static const char *const names[] = { "main",   "a/b.C.run", "f<int, char>(x)", "\xc3\xa9",
					     "</x>&'", "[kernel]",  "_start",          "\"q\\u\"" };
	struct profile *p = profile_new();
	u32 nr_types = next(&seed) % 3 + 1;

	profile_add_type(p, "cpu", "samples");
	if (nr_types > 1)
		profile_add_type(p, "alloc", "bytes");
	if (nr_types > 2)
		profile_add_type(p, "offcpu", "ns");
	profile_note(p, "lost", "samples lost", next(&seed) % 100);
	for (u32 i = next(&seed) % 200; i > 0; i--) {
		node_id node = 0;
		for (u32 depth = next(&seed) % 10; depth > 0; depth--) {
			const char *name = names[next(&seed) % ARRAY_SIZE(names)];
			const char *module = next(&seed) % 3 ? "" : "/lib/libc.so.6";
			node = profile_child(p, node,
					     frames_intern(p->frames, next(&seed) % NR_FRAME_KINDS,
							   name, module));
		}
		struct labels labels = { .pid = next(&seed) % 3, .tid = next(&seed) % 4 };
		for (enum label i = 0; i < NR_LABELS; i++)
			labels.text[i] = next(&seed) & 1 ? label_names[i].key : "";
		if (*labels.tags)
			labels.tags = "bytes:512 kB, handler=/a%2C b=c, n:-7";
		profile_add(p, node, profile_intern_labels(p, &labels), next(&seed) % nr_types,
			    next(&seed) % 1000);
	}
	return p;
}

static int read_bytes(const void *bytes, size_t len, struct profile *p, struct str *why)
{
	FILE *f = fmemopen((void *)bytes, len, "r");
	int err = profile_read(f, p, why);

	fclose(f);
	return err;
}

static struct profile *read_back(const struct profile *p, const char *format)
{
	struct profile *back = profile_new();
	struct str bytes = written(p, format), why = { 0 };

	if (read_bytes(bytes.at, bytes.len, back, &why))
		fail_msg("%s: %s", format, why.at);
	str_fini(&bytes);
	str_fini(&why);
	return back;
}

/* Lists every stack with kind, module, labels and type as sorted text. */
static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_stack_text(const struct profile *p, const struct weight *w, struct str *s)
{
	const struct labels *l = &p->labels.at[w->labels];

	str_addf(s, "%s/%s %u %u", p->types.at[w->type].name, p->types.at[w->type].unit, l->pid,
		 l->tid);
	for (enum label i = 0; i < NR_LABELS; i++)
		str_addf(s, " '%s'", l->text[i]);
	for (node_id n = w->node; n; n = p->nodes.at[n].parent) {
		const struct frame *f = frames_get(p->frames, p->nodes.at[n].frame);
		str_addf(s, ";%s|%s|%d", f->name, f->module, f->kind);
	}
	str_addf(s, " %llu\n", (unsigned long long)w->value);
}

static char *all_stacks(const struct profile *p)
{
	VEC(char *) lines = { 0 };
	struct str all = { 0 };

	str_add(&all, "");
	vec_each(w, &p->weights) {
		struct str line = { 0 };
		if (!w->value)
			continue;
		add_stack_text(p, w, &line);
		vec_push(&lines, str_take(&line));
	}
	if (lines.nr)
		qsort(lines.at, lines.nr, sizeof(lines.at[0]), by_text);
	vec_each(line, &lines) {
		str_add(&all, *line);
		free(*line);
	}
	vec_fini(&lines);
	return str_take(&all);
}

static void every_stack_comes_back_from(const char *format)
{
	for (u32 seed = 1; seed <= NR_PROFILES; seed++) {
		struct profile *p = random_profile(seed), *back = read_back(p, format);
		char *expected = all_stacks(p), *got = all_stacks(back);
		assert_string_equal(expected, got);
		if (p->weights.nr) {
			assert_int_equal(profile_find_note(p, "lost")->value,
					 profile_find_note(back, "lost")->value);
		}
		free(expected);
		free(got);
		profile_free(p);
		profile_free(back);
	}
}

static void q3_an_event_may_be_called_anything(void **state)
{
	static const char *const events[] = { "cache-misses",
					      "sched:sched_switch",
					      "pmu/event=0x3c,name=a b/",
					      "uprobe:/usr/lib/libc.so.6:malloc",
					      "java:com.acme.A.b",
					      "r1a8" };
	static const char *const formats[] = { "html", "pprof", "otlp" };

	for (size_t f = 0; f < ARRAY_SIZE(formats); f++) {
		for (size_t e = 0; e < ARRAY_SIZE(events); e++) {
			struct profile *p = profile_new();
			profile_add_type(p, events[e], "samples");
			node_id node = profile_child(p, 0, frames_intern(p->frames, 2, "main", ""));
			profile_add(p, node, profile_intern_labels(p, &(struct labels){ 0 }), 0, 5);
			struct profile *back = read_back(p, formats[f]);
			assert_string_equal(back->types.at[0].name, events[e]);
			profile_free(back);
			profile_free(p);
		}
	}
}

static void every_stack_is_read_back_from_pprof(void **state)
{
	every_stack_comes_back_from("pprof");
}

static void every_stack_is_read_back_from_otlp(void **state)
{
	every_stack_comes_back_from("otlp");
}

/* Self and total per method of the first type, which formats without kinds also keep. */
static char *all_methods(const struct profile *p)
{
	struct str all = { 0 };
	auto_tree struct tree t;
	auto_hot_methods struct hot_methods h;

	tree_make(p, 0, &t);
	hot_methods_make(p, &t, &h);
	str_addf(&all, "%llu\n", (unsigned long long)t.nodes.at[0].total);
	vec_each(m, &h.all)
		str_addf(&all, "%s %llu %llu\n", frames_get(p->frames, m->frame)->name,
			 (unsigned long long)m->self, (unsigned long long)m->total);
	return str_take(&all);
}

static void every_method_weighs_the_same_in_every_format(void **state)
{
	static const char *const all[] = { "html", "collapsed", "pprof", "otlp" };

	for (u32 seed = 1; seed <= NR_PROFILES; seed++)
		for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
			struct profile *p = random_profile(seed);
			if (!profile_total(p, 0)) {
				profile_free(p);
				continue;
			}
			struct profile *back = read_back(p, all[i]);
			char *expected = all_methods(p), *got = all_methods(back);
			assert_string_equal(expected, got);
			free(expected);
			free(got);
			profile_free(p);
			profile_free(back);
		}
}

static json_t *json_of(const struct profile *p, const char *format)
{
	struct str bytes = written(p, format);
	json_error_t error;
	json_t *root = json_loadb(bytes.at, bytes.len, 0, &error);

	if (!root)
		fail_msg("%s: line %d: %s", format, error.line, error.text);
	str_fini(&bytes);
	return root;
}

static json_int_t sum_of(const json_t *numbers)
{
	json_int_t sum = 0;
	size_t i;
	const json_t *number;

	json_array_foreach(numbers, i, number) sum += json_integer_value(number);
	return sum;
}

static size_t nr_in(const json_t *object, const char *key)
{
	return json_array_size(json_object_get(object, key));
}

static void speedscope_gets_all_weights_of_all_types(void **state)
{
	for (u32 seed = 1; seed <= NR_PROFILES; seed++) {
		struct profile *p = random_profile(seed);
		json_t *root = json_of(p, "speedscope"), *profile;
		size_t type;
		json_array_foreach(json_object_get(root, "profiles"), type, profile)
		{
			assert_int_equal(sum_of(json_object_get(profile, "weights")),
					 profile_total(p, (u32)type));
			assert_int_equal(nr_in(profile, "samples"), nr_in(profile, "weights"));
		}
		assert_int_equal(type, p->types.nr);
		json_decref(root);
		profile_free(p);
	}
}

static void firefox_gets_columns_of_one_length_and_all_weights(void **state)
{
	for (u32 seed = 1; seed <= NR_PROFILES; seed++) {
		struct profile *p = random_profile(seed);
		json_t *root = json_of(p, "firefox"), *thread, *shared, *column;
		const char *name;
		json_int_t sum = 0;
		size_t i;
		shared = json_object_get(root, "shared");
		json_object_foreach(json_object_get(shared, "frameTable"), name, column)
			assert_true(json_is_integer(column) ||
				    json_array_size(column) == frames_nr(p->frames));
		assert_int_equal(nr_in(json_object_get(shared, "stackTable"), "prefix"),
				 p->nodes.nr - 1);
		json_array_foreach(json_object_get(root, "threads"), i, thread)
		{
			json_t *samples = json_object_get(thread, "samples");
			sum += sum_of(json_object_get(samples, "weight"));
			assert_int_equal(nr_in(samples, "stack"), nr_in(samples, "timeDeltas"));
		}
		assert_int_equal(sum, profile_total(p, 0));
		json_decref(root);
		profile_free(p);
	}
}

/* Two threads in turn, one weight per thread, slot of 20 ms and state. */
static struct profile *timed_profile(void)
{
	static const char *const slots[] = { "11", "2", "5", "5", "0" };
	struct profile *p = profile_new();

	profile_add_type(p, "cpu", "samples");
	p->slot_ns = 20000000;
	node_id node = profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "main", ""));
	for (size_t i = 0; i < 2 * ARRAY_SIZE(slots); i++) {
		struct labels l = { .pid = 7,
				    .tid = 7 + i % 2,
				    .thread = i % 2 ? "t2" : "t1",
				    .state = i / 2 % 2 ? "sleeping" : "",
				    .stack = i / 2 % 3 ? "cut_rows" : "",
				    .time = slots[i / 2] };
		profile_add(p, node, profile_intern_labels(p, &l), 0, 1);
	}
	return p;
}

static void firefox_gets_a_thread_once_with_its_samples_sorted_by_time(void **state)
{
	static const double wanted_ms[] = { 0, 40, 100, 110, 220 };
	struct profile *p = timed_profile();
	json_t *root = json_of(p, "firefox"), *thread;
	size_t i;

	assert_int_equal(nr_in(root, "threads"), 2);
	json_array_foreach(json_object_get(root, "threads"), i, thread)
	{
		json_t *deltas = json_object_get(json_object_get(thread, "samples"), "timeDeltas");
		double ms = 0;
		assert_int_equal(json_array_size(deltas), ARRAY_SIZE(wanted_ms));
		for (size_t row = 0; row < ARRAY_SIZE(wanted_ms); row++) {
			ms += json_number_value(json_array_get(deltas, row));
			assert_true(ms > wanted_ms[row] - 0.01 && ms < wanted_ms[row] + 0.01);
		}
	}
	json_decref(root);
	profile_free(p);
}

static void every_format_writes_a_profile_without_value_types(void **state)
{
	for (const struct format *f = formats; f->name; f++) {
		struct profile *p = profile_new();
		struct str bytes = written(p, f->name);
		str_fini(&bytes);
		profile_free(p);
	}
}

/* Without resources, scopes and profiles: a dictionary with one text. */
static void a_file_without_profiles_counts_no_samples(void **state)
{
	static const char otlp[] = "\x12\x09\x2a\x00\x2a\x05hello";
	struct profile *p = profile_new();
	struct str why = { 0 };

	assert_int_equal(read_bytes(otlp, sizeof(otlp) - 1, p, &why), 0);
	assert_int_equal(p->types.nr, 1);
	struct profile *back = read_back(p, "pprof");
	assert_string_equal(back->types.at[0].unit, "samples");
	str_fini(&why);
	profile_free(back);
	profile_free(p);
}

static void cpu_time_is_the_same_after_reading_back(void **state)
{
	struct profile *p = profile_new();

	profile_add_type(p, "cpu", "samples");
	p->rate_hz = 100;
	node_id node = profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "main", ""));
	profile_add(p, node, profile_intern_labels(p, &(struct labels){ 0 }), 0, 7);
	for (int round = 0; round < 3; round++) {
		struct profile *back = read_back(p, "pprof");
		assert_int_equal(back->types.nr, 2);
		assert_int_equal(profile_total(back, profile_find_type(back, "cpu", "samples")), 7);
		assert_int_equal(profile_total(back, profile_find_type(back, "cpu", "ns")),
				 70000000);
		profile_free(p);
		p = back;
	}
	profile_free(p);
}

static struct profile *profile_of_one(const char *name, const char *unit, u64 value)
{
	struct profile *p = profile_new();

	profile_add_type(p, name, unit);
	node_id node = profile_child(p, 0, frames_intern(p->frames, FRAME_NATIVE, "main", ""));
	profile_add(p, node, profile_intern_labels(p, &(struct labels){ 0 }), 0, value);
	return p;
}

/* More than 2^53 ns, as in a day of a few hundred CPUs, could not be read back. */
static void cpu_time_too_large_to_read_back_is_not_derived(void **state)
{
	struct profile *p = profile_of_one("cpu", "samples", 1ull << 40);

	p->rate_hz = 99;
	struct profile *back = read_back(p, "pprof");
	assert_int_equal(back->types.nr, 1);
	assert_int_equal(profile_total(back, 0), 1ull << 40);
	profile_free(back);
	profile_free(p);
}

static void firefox_gets_time_in_its_own_unit(void **state)
{
	struct profile *p = profile_of_one("offcpu", "ns", 1234567);
	json_t *root = json_of(p, "firefox");
	json_t *thread = json_array_get(json_object_get(root, "threads"), 0);
	json_t *samples = json_object_get(thread, "samples");

	assert_string_equal(json_string_value(json_object_get(samples, "weightType")),
			    "tracing-ms");
	double ms = json_number_value(json_array_get(json_object_get(samples, "weight"), 0));
	assert_true(ms > 1.2345669 && ms < 1.2345671);
	json_decref(root);
	profile_free(p);
}

static void the_facts_of_a_recording_are_read_back(void **state)
{
	static const char *const all[] = { "html", "pprof", "otlp" };
	struct profile *p = random_profile(7);

	free(p->title);
	free(p->host);
	p->title = xstrdup("a title: with colon");
	p->host = xstrdup("node-7");
	p->start_wall_ns = 1790000000123456789ull;
	p->duration_ns = 30000000000ull;
	p->rate_hz = 100;
	p->slot_ns = 20000000;
	profile_note(p, "stacks cut: no row", "of 7: no row", 12);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct profile *back = read_back(p, all[i]);
		const struct note *cut = profile_find_note(back, "stacks cut: no row");
		assert_non_null(cut);
		assert_string_equal(cut->text, "of 7: no row");
		assert_int_equal(cut->value, 12);
		assert_int_equal(back->slot_ns, p->slot_ns);
		assert_string_equal(back->title, p->title);
		assert_string_equal(back->host, p->host);
		assert_int_equal(back->start_wall_ns, p->start_wall_ns);
		assert_int_equal(back->duration_ns, p->duration_ns);
		assert_true(back->rate_hz > 99.99 && back->rate_hz < 100.01);
		assert_int_equal(profile_total(back, 0), profile_total(p, 0));
		profile_free(back);
	}
	profile_free(p);
}

static void assert_refused(const void *bytes, size_t len, const char *expected)
{
	struct profile *p = profile_new();
	struct str why = { 0 };

	assert_int_equal(read_bytes(bytes, len, p, &why), -EINVAL);
	if (!strstr(why.at, expected))
		fail_msg("'%s', not '%s'", why.at, expected);
	if (strchr(why.at, '\n'))
		fail_msg("more than one line");
	str_fini(&why);
	profile_free(p);
}

static void a_truncated_file_is_refused_at_any_length(void **state)
{
	static const char *const all[] = { "pprof", "otlp" };
	struct profile *p = random_profile(11);

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct str bytes = written(p, all[i]);
		for (size_t len = 40; len < bytes.len; len += 13) {
			struct profile *back = profile_new();
			struct str why = { 0 };
			if (!read_bytes(bytes.at, len, back, &why))
				fail_msg("%s cut at %zu of %zu was read", all[i], len, bytes.len);
			assert_non_null(why.at);
			str_fini(&why);
			profile_free(back);
		}
		str_fini(&bytes);
	}
	profile_free(p);
}

/* A method at two lines and in two tiers, and a method whose file is unknown. */
static struct profile *profile_with_lines(void)
{
	struct profile *p = profile_new();
	struct source_line a = { "A.java", 7 }, b = { "A.java", 11 }, c = { "", 3 };

	profile_add_type(p, "cpu", "samples");
	labels_id labels = profile_intern_labels(
		p, &(struct labels){ .pid = 1, .tid = 2, .comm = "java", .thread = "t" });
	frames_keep_lines(p->frames);
	node_id n7 = profile_child(p, 0, frames_intern_line(p->frames, FRAME_C2, "A.a", "", a));
	node_id n11 = profile_child(p, 0, frames_intern_line(p->frames, FRAME_C1, "A.a", "", b));
	node_id n3 = profile_child(p, n7, frames_intern_line(p->frames, FRAME_C2, "B.b", "", c));
	profile_add(p, n7, labels, 0, 2);
	profile_add(p, n11, labels, 0, 3);
	profile_add(p, n3, labels, 0, 5);
	return p;
}

static void read_with_lines(const char *format, bool keeps_lines)
{
	struct profile *p = profile_with_lines(), *back = profile_new();
	struct str bytes = written(p, format), why = { 0 };

	if (keeps_lines)
		frames_keep_lines(back->frames);
	assert_int_equal(read_bytes(bytes.at, bytes.len, back, &why), 0);
	assert_int_equal(back->nodes.nr, 1 + 3);
	assert_int_equal(profile_total(back, 0), 10);
	for (node_id n = 1; n < back->nodes.nr; n++) {
		const struct frame *f = frames_get(back->frames, back->nodes.at[n].frame);
		bool is_b = f->name[0] == 'B';
		u32 line = is_b ? 3 : f->kind == FRAME_C2 ? 7 : 11;
		auto_free char *place = xasprintf("%s:%u", is_b ? "B.b" : "A.a", line);
		assert_int_equal(f->line, keeps_lines ? line : 0);
		assert_string_equal(f->file, keeps_lines && !is_b ? "A.java" : "");
		if (keeps_lines)
			assert_string_equal(f->name, place);
		else
			assert_null(strchr(f->name, ':'));
	}
	profile_free(back);
	profile_free(p);
	str_fini(&bytes);
	str_fini(&why);
}

static void lines_are_read_back_if_wanted(void **state)
{
	static const char *const names[] = { "html", "pprof", "otlp" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		read_with_lines(names[i], true);
		read_with_lines(names[i], false);
	}
}

static void a_flipped_bit_gives_one_line_or_a_profile(void **state)
{
	static const char *const all[] = { "html", "collapsed", "pprof", "otlp" };
	struct profile *p = random_profile(11);

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct str bytes = written(p, all[i]);
		/* Of a page only the data, which are at its end. */
		size_t start = bytes.len > 3000 ? bytes.len - 3000 : 0;
		for (size_t at = start; at < bytes.len; at += 3) {
			struct profile *back = profile_new();
			struct str why = { 0 };
			bytes.at[at] ^= (char)(1 << at % 8);
			int err = read_bytes(bytes.at, bytes.len, back, &why);
			assert_true(err || why.len ? why.at && !strchr(why.at, '\n') : true);
			bytes.at[at] ^= (char)(1 << at % 8);
			str_fini(&why);
			profile_free(back);
		}
		str_fini(&bytes);
	}
	profile_free(p);
}

static void files_of_other_kinds_are_named(void **state)
{
	assert_refused("FLR\0\0\2\0\1", 8, "JFR");
	assert_refused("PERFILE2\0\0", 10, "perf script");
	assert_refused("\x1f\x8b\x08\0\0\0\0\0\0\3garbage", 17, "damaged");
	assert_refused("\x1f\x8b\x08\0\0\0\0\0\0\3", 10, "cut off");
	assert_refused("\x0a\x03\x08\x01\x10\xff", 6, "damaged");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(q3_an_event_may_be_called_anything),
		cmocka_unit_test(every_stack_is_read_back_from_pprof),
		cmocka_unit_test(every_stack_is_read_back_from_otlp),
		cmocka_unit_test(every_method_weighs_the_same_in_every_format),
		cmocka_unit_test(speedscope_gets_all_weights_of_all_types),
		cmocka_unit_test(firefox_gets_columns_of_one_length_and_all_weights),
		cmocka_unit_test(firefox_gets_a_thread_once_with_its_samples_sorted_by_time),
		cmocka_unit_test(every_format_writes_a_profile_without_value_types),
		cmocka_unit_test(a_file_without_profiles_counts_no_samples),
		cmocka_unit_test(cpu_time_is_the_same_after_reading_back),
		cmocka_unit_test(cpu_time_too_large_to_read_back_is_not_derived),
		cmocka_unit_test(firefox_gets_time_in_its_own_unit),
		cmocka_unit_test(the_facts_of_a_recording_are_read_back),
		cmocka_unit_test(a_truncated_file_is_refused_at_any_length),
		cmocka_unit_test(a_flipped_bit_gives_one_line_or_a_profile),
		cmocka_unit_test(lines_are_read_back_if_wanted),
		cmocka_unit_test(files_of_other_kinds_are_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
