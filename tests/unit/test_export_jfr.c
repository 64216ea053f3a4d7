/* SPDX-License-Identifier: Apache-2.0 */
/* A profile that is written as a JFR recording and read back has the same stacks and weights. */
#include "formats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/auto.h"
#include "export/export.h"
#include "export/interchange/jfr.h"
#include "export/read.h"
#include "export/writers/jfr_parts.h"
#include "profile/frames/java_signature.h"

#define NR_PROFILES 30

static u32 next(u32 *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

enum {
	CPU,
	WALL,
	WALL_SAMPLES,
	ALLOC,
	ALLOC_SAMPLES,
	LOCK,
	LOCK_SAMPLES,
	OFFCPU,
	MISSES,
	NR_TYPES,
};

static void add_types(struct profile *p)
{
	profile_add_type(p, "cpu", "samples");
	profile_add_type(p, "wall", "ns");
	profile_add_type(p, "wall-samples", "samples");
	profile_add_type(p, "alloc", "bytes");
	profile_add_type(p, "alloc-samples", "samples");
	profile_add_type(p, "lock", "ns");
	profile_add_type(p, "lock-samples", "samples");
	profile_add_type(p, "offcpu", "ns");
	profile_add_type(p, "cache-misses", "events");
}

static node_id random_stack(struct profile *p, u32 *seed)
{
	static const char *const names[] = {
		"a.B.run",      "a.b.C$$Lambda.m", "main", "f<int, char>(x)",
		"\xc3\xa9.x.y", "_start",          ".",    "user/eval.f"
	};
	static const char *const classes[] = {
		"byte[]", "a.B[][]", "a.B", "[x]", "int", "java.util.concurrent.locks.ReentrantLock"
	};
	node_id node = 0;

	for (u32 depth = next(seed) % 9 + 1; depth > 0; depth--)
		node = profile_child(p, node,
				     frames_intern(p->frames, next(seed) % NR_FRAME_KINDS,
						   names[next(seed) % ARRAY_SIZE(names)], ""));
	if (next(seed) % 2)
		node = profile_child(p, node,
				     frames_intern(p->frames, FRAME_CLASS,
						   classes[next(seed) % ARRAY_SIZE(classes)], ""));
	return node;
}

static void add_weight(struct profile *p, node_id node, labels_id labels, u32 type, u32 *seed)
{
	u64 count = next(seed) % 20 + 1;

	profile_add(p, node, labels, type, next(seed) * 1000ull + 1);
	if (type == WALL || type == ALLOC || type == LOCK)
		profile_add(p, node, labels, type + 1, count);
}

static struct profile *random_profile(u32 seed)
{
	static const char *const threads[] = { "", "main", "http-1" };
	struct profile *p = profile_new();

	add_types(p);
	p->start_wall_ns = 1700000000123456789;
	p->duration_ns = 10000000000;
	profile_note(p, "lost", "samples lost", seed);
	for (u32 i = next(&seed) % 100 + 1; i > 0; i--) {
		struct labels labels = { .pid = next(&seed) % 3, .tid = next(&seed) % 4 };
		labels.comm = labels.pid ? "java" : "";
		labels.thread = threads[next(&seed) % ARRAY_SIZE(threads)];
		labels_id id = profile_intern_labels(p, &labels);
		node_id node = random_stack(p, &seed);
		profile_add(p, node, id, CPU, next(&seed) % 50 + 1);
		add_weight(p, node, id, WALL, &seed);
		add_weight(p, node, id, ALLOC, &seed);
		add_weight(p, node, id, LOCK, &seed);
		add_weight(p, node, id, OFFCPU, &seed);
		add_weight(p, node, id, MISSES, &seed);
	}
	return p;
}

static struct profile *read_into(const struct profile *p, struct profile *back)
{
	struct str bytes = written(p, "jfr"), why = { 0 };
	FILE *f = fmemopen(bytes.at, bytes.len, "r");

	if (profile_read(f, back, &why))
		fail_msg("%s", why.at);
	fclose(f);
	str_fini(&bytes);
	str_fini(&why);
	return back;
}

static struct profile *read_back(const struct profile *p)
{
	return read_into(p, profile_new());
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lines of type, thread, stack with kinds, and weight, sorted. Slots of time are added up. */
static char *all_stacks(const struct profile *p)
{
	VEC(char *) lines = { 0 };
	struct str all = { 0 };

	str_add(&all, "");
	vec_each(w, &p->weights) {
		const struct labels *l = &p->labels.at[w->labels];
		struct str line = { 0 };
		if (!w->value)
			continue;
		str_addf(&line, "%s/%s %u %u %s %s", p->types.at[w->type].name,
			 p->types.at[w->type].unit, l->pid, l->tid, l->comm, l->thread);
		for (node_id n = w->node; n; n = p->nodes.at[n].parent) {
			const struct frame *f = frames_get(p->frames, p->nodes.at[n].frame);
			str_addf(&line, ";%s|%s|%d", f->name, f->module, f->kind);
		}
		str_addf(&line, " %llu\n", (unsigned long long)w->value);
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

static void every_stack_comes_back(void **state)
{
	for (u32 seed = 1; seed <= NR_PROFILES; seed++) {
		struct profile *p = random_profile(seed), *back = read_back(p);
		char *expected = all_stacks(p), *got = all_stacks(back);
		assert_string_equal(expected, got);
		assert_int_equal(profile_find_note(back, "lost")->value, seed);
		assert_int_equal(back->start_wall_ns, p->start_wall_ns);
		assert_int_equal(back->duration_ns, p->duration_ns);
		free(expected);
		free(got);
		profile_free(p);
		profile_free(back);
	}
}

static struct profile *profile_of(enum frame_kind kind, const char *name, const char *type,
				  const char *unit, u64 value)
{
	struct profile *p = profile_new();

	profile_add_type(p, type, unit);
	node_id node = profile_child(p, 0, frames_intern(p->frames, kind, name, ""));
	profile_add(p, node, profile_intern_labels(p, &(struct labels){ 0 }), 0, value);
	return p;
}

static void the_first_type_stays_the_first(void **state)
{
	struct profile *p = profile_of(FRAME_C2, "a.B.c", "offcpu", "ns", 7);

	profile_add_type(p, "cpu", "samples");
	profile_add(p, 1, 0, 1, 3);
	p->rate_hz = 99;
	struct profile *back = read_back(p);
	assert_string_equal(back->types.at[0].name, "offcpu");
	assert_int_equal((int)back->rate_hz, 99);
	profile_free(back);
	profile_free(p);
}

/* Reading a file again adds to weights that exist. */
static void a_recording_read_twice_counts_twice(void **state)
{
	struct profile *p = profile_of(FRAME_C2, "a.B.c", "cpu", "samples", 7),
		       *back = read_back(p);

	read_into(p, back);
	assert_int_equal(profile_total(back, 0), 14);
	profile_free(back);
	profile_free(p);
}

/* record --loop writes a part without samples if the process was idle. */
static void a_recording_without_samples_keeps_its_event(void **state)
{
	struct profile *idle = profile_of(FRAME_C2, "a.B.c", "pmu/event=1/", "events", 0),
		       *busy = profile_of(FRAME_C2, "a.B.c", "pmu/event=1/", "events", 7),
		       *back = read_back(idle);

	assert_int_equal(back->types.nr, 1);
	assert_string_equal(back->types.at[0].name, "pmu/event=1/");
	assert_string_equal(back->types.at[0].unit, "events");
	read_into(busy, back);
	read_into(idle, back);
	assert_int_equal(back->types.nr, 1);
	assert_int_equal(profile_total(back, 0), 7);
	profile_free(back);
	profile_free(busy);
	profile_free(idle);
}

/* A wait of several slots has three weights, and its sample stands with one of them. */
static void the_parts_of_a_long_wait_are_one_event(void **state)
{
	struct profile *p = profile_of(FRAME_C2, "a.B.c", "lock", "ns", 0);
	static const char *const slots[] = { "3", "4-9", "9" };

	p->slot_ns = 10000000;
	p->duration_ns = 1000000000;
	profile_add_type(p, "lock-samples", "samples");
	for (u32 i = 0; i < ARRAY_SIZE(slots); i++) {
		labels_id id = profile_intern_labels(p, &(struct labels){ .time = slots[i] });
		profile_add(p, 1, id, 0, 1000 + i);
		profile_add(p, 1, id, 1, i == 1);
	}
	struct profile *back = read_back(p);
	assert_int_equal(profile_total(back, 0), 3003);
	assert_int_equal(profile_total(back, 1), 1);
	profile_free(back);
	profile_free(p);
}

/* With a comparison for each pair of slots it takes many minutes. */
static void many_slots_of_one_stack_are_written_in_little_time(void **state)
{
	struct profile *p = profile_of(FRAME_C2, "a.B.c", "wall", "ns", 0);
	struct timespec begin, end;
	u32 nr = 100003;

	p->slot_ns = 10000000;
	p->duration_ns = nr * p->slot_ns;
	profile_add_type(p, "wall-samples", "samples");
	for (u32 i = 0; i < nr; i++) {
		char slot[16];
		snprintf(slot, sizeof(slot), "%u", i);
		labels_id id = profile_intern_labels(p, &(struct labels){ .time = slot });
		profile_add(p, 1, id, 0, 1000);
		profile_add(p, 1, id, 1, 1);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	struct str bytes = written(p, "jfr");
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	assert_true(end.tv_sec - begin.tv_sec < 30);
	str_fini(&bytes);
	profile_free(p);
}

static void assert_thread_comes_back(const char *name, const char *wanted)
{
	struct profile *p = profile_of(FRAME_C2, "a.B.c", "cpu", "samples", 0);
	const struct labels who = { .pid = 7, .tid = 8, .comm = name, .thread = name };

	profile_add(p, 1, profile_intern_labels(p, &who), 0, 5);
	struct profile *back = read_back(p);
	const struct labels *l = &back->labels.at[back->weights.at[0].labels];
	assert_string_equal(l->thread, wanted);
	assert_string_equal(l->comm, wanted);
	profile_free(back);
	profile_free(p);
}

/* The JDK writes a character beyond U+FFFF as two, which UTF-8 does not have. */
static void names_of_threads_become_clean_and_short(void **state)
{
#define LOST "\xef\xbf\xbd"
	char *name = xcalloc(1, 70001), *wanted = xcalloc(1, 257);

	memset(name, 'n', 70000);
	memset(wanted, 'n', 256);
	assert_thread_comes_back(name, wanted);
	assert_thread_comes_back("a\xed\xa0\xbd\xed\xb8\x80\x1b[0m",
				 "a" LOST LOST LOST LOST LOST LOST LOST "[0m");
	free(name);
	free(wanted);
}

/* Readers take a class whose name begins with a bracket for an array. */
static void an_unknown_class_is_a_frame(void **state)
{
	struct profile *p = profile_of(FRAME_C2, "a.B.c", "lock", "ns", 0);
	node_id leaf = profile_child(p, 1, frames_intern(p->frames, FRAME_CLASS, "[monitor]", ""));
	profile_add(p, leaf, 0, 0, 9);
	struct profile *back = read_back(p);
	assert_int_equal(profile_total(back, 0), 9);
	struct jfr_pools pools;
	u64 nr_bytes;
	jfr_pools_init(&pools, p);
	assert_int_equal(jfr_write_events(p, &pools, NULL, &nr_bytes), 0);
	vec_each(class, &pools.classes)
		assert_string_not_equal(pools.symbols.all.at[class->name - 1], "[monitor]");
	jfr_pools_fini(&pools);
	profile_free(back);
	profile_free(p);
}

static void a_comparison_is_refused(void **state)
{
	struct profile *p = profile_of(FRAME_C2, "a.B.c", "cpu", "samples", 7);
	char *bytes;
	size_t len;
	FILE *f = open_memstream(&bytes, &len);

	profile_add_type(p, "cpu", "samples");
	p->types.at[0].role = VALUE_AFTER;
	p->types.at[1].role = VALUE_BEFORE;
	assert_int_equal(format_by_name("jfr")->write(p, f), -EDOM);
	fclose(f);
	assert_int_equal(len, 0);
	free(bytes);
	profile_free(p);
}

static void more_samples_than_a_recording_may_have_are_refused(void **state)
{
	struct profile *p = profile_of(FRAME_C2, "a.B.c", "cpu", "samples", 1ull << 40);
	char *bytes;
	size_t len;
	FILE *f = open_memstream(&bytes, &len);

	assert_int_equal(format_by_name("jfr")->write(p, f), -E2BIG);
	fclose(f);
	assert_int_equal(len, 0);
	free(bytes);
	profile_free(p);
}

/* Lines and signatures are fields of the recording: names have them if the reader wants them. */
static void lines_and_signatures_come_back_on_request(void **state)
{
	struct profile *p = profile_new(), *back = profile_new();

	frames_keep_lines(p->frames);
	frames_keep_lines(back->frames);
	frames_keep_signatures(back->frames);
	profile_add_type(p, "cpu", "samples");
	frame_id f = frames_intern_line(p->frames, FRAME_INTERPRETED,
					"a.B.c(int[],java.lang.String)void", "",
					(struct source_line){ "B.java", 31 });
	profile_add(p, profile_child(p, 0, f), profile_intern_labels(p, &(struct labels){ 0 }), 0,
		    5);
	read_into(p, back);
	assert_string_equal(frames_get(back->frames, back->nodes.at[1].frame)->name,
			    "a.B.c(int[],java.lang.String)void:31");
	profile_free(back);
	back = read_back(p);
	assert_string_equal(frames_get(back->frames, back->nodes.at[1].frame)->name, "a.B.c");
	profile_free(back);
	profile_free(p);
}

static void a_signature_reads_like_the_source_and_back(void **state)
{
	static const char *const pairs[][2] = {
		{ "()V", "()void" },
		{ "(I[[JLjava/lang/String;Z)[B", "(int,long[][],java.lang.String,boolean)byte[]" },
		{ "(La/B$C;)La/B;", "(a.B$C)a.B" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		struct str shown = { 0 }, name = { 0 }, hidden = { 0 };
		java_signature_show(pairs[i][0], &shown);
		assert_string_equal(shown.at, pairs[i][1]);
		str_addf(&name, "a.B.c%s", shown.at);
		assert_int_equal(java_signature_hide(name.at, &hidden), 5);
		assert_string_equal(hidden.at, pairs[i][0]);
		str_fini(&shown);
		str_fini(&name);
		str_fini(&hidden);
	}
}

static void a_damaged_signature_is_none(void **state)
{
	static const char *const descriptors[] = { "",     "V",       "(",  "(I",
						   "(Q)V", "(La/B)V", "()", "()VV" };
	static const char *const names[] = { "a.b",       "f(int)",        "f<int>(x, y)",  "a.b()",
					     "(int)void", "a.b(int,)void", "a.b(int]])void" };
	struct str out = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(descriptors); i++)
		java_signature_show(descriptors[i], &out);
	assert_int_equal(out.len, 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(java_signature_hide(names[i], &out), strlen(names[i]));
	assert_int_equal(out.len, 0);
	str_fini(&out);
}

static void only_a_descriptor_of_an_array_is_converted(void **state)
{
	static const char *const pairs[][2] = { { "byte[]", "[B" },
						{ "a.B[][]", "[[La.B;" },
						{ "[kernel]", "[kernel]" },
						{ "a;[]", "a;[]" },
						{ "[]", "[]" } };

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		struct str there = { 0 }, back = { 0 };
		jfr_add_descriptor(&there, pairs[i][0]);
		assert_string_equal(there.at, pairs[i][1]);
		jfr_add_class_name(&back, there.at);
		assert_string_equal(back.at, pairs[i][0]);
		str_fini(&there);
		str_fini(&back);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_stack_comes_back),
		cmocka_unit_test(the_first_type_stays_the_first),
		cmocka_unit_test(a_recording_read_twice_counts_twice),
		cmocka_unit_test(a_recording_without_samples_keeps_its_event),
		cmocka_unit_test(the_parts_of_a_long_wait_are_one_event),
		cmocka_unit_test(many_slots_of_one_stack_are_written_in_little_time),
		cmocka_unit_test(names_of_threads_become_clean_and_short),
		cmocka_unit_test(an_unknown_class_is_a_frame),
		cmocka_unit_test(a_comparison_is_refused),
		cmocka_unit_test(more_samples_than_a_recording_may_have_are_refused),
		cmocka_unit_test(lines_and_signatures_come_back_on_request),
		cmocka_unit_test(a_signature_reads_like_the_source_and_back),
		cmocka_unit_test(a_damaged_signature_is_none),
		cmocka_unit_test(only_a_descriptor_of_an_array_is_converted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
