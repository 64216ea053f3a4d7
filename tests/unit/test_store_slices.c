/* SPDX-License-Identifier: Apache-2.0 */
/* The store's slices and limits. Every listed profile stays readable after kills and full disks. */
#include "slices.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "export/slices/slice_thin.h"
#include "store/files.h"

static void slices_are_read_back_over_hours_before_and_after_sealing(void **state)
{
	enum {
		SLICES = 1000
	};
	struct place p = new_place();
	struct store *s = open_store(&p);
	struct slice_writer *w = slice_writer_new();
	u64 lost, from = START_NS + 100 * SLICE_NS, to = START_NS + 900 * SLICE_NS;

	for (u64 i = 0; i < SLICES; i++)
		assert_int_equal(add_slice(s, w, START_NS + i * SLICE_NS, 1 + i), 0);
	u64 expected = (101 + 900) * 800 / 2, size = store_size(s).slice_bytes;
	assert_int_equal(weight_of(s, from, to, &lost), expected);
	for (int i = 0; i < 10; i++)
		store_tick(s, START_NS + 2 * HOUR_NS + HOUR_NS / 2);
	assert_true(store_size(s).slice_bytes < size);
	assert_int_equal(weight_of(s, from, to, &lost), expected);
	assert_int_equal(lost, 0);
	assert_int_equal(store_size(s).oldest_slice_ns, START_NS);

	/* The clock steps back: a slice of a sealed hour. */
	slice_writer_begin(w);
	assert_int_equal(add_slice(s, w, from, 100000), 0);
	assert_int_equal(weight_of(s, from, to, &lost), expected + 100000);
	store_close(s);
	s = open_store(&p);
	store_tick(s, START_NS + 2 * HOUR_NS + HOUR_NS / 2);
	assert_int_equal(weight_of(s, from, to, &lost), expected + 100000);
	assert_int_equal(lost, 0);
	store_close(s);

	/* Without an index. */
	assert_int_equal(unlinkat(p.dir, "index.db", 0), 0);
	s = open_store(&p);
	assert_int_equal(weight_of(s, from, to, &lost), expected + 100000);
	store_close(s);
	slice_writer_free(w);
	remove_place(&p);
}

static void a_slice_that_is_none_is_refused(void **state)
{
	struct place p = new_place();
	struct store *s = open_store(&p);
	struct slice_writer *w = slice_writer_new();
	struct profile *empty = profile_new();
	auto_str struct str record = { 0 };
	u64 end = START_NS + SLICE_NS;
	bool begins;

	assert_int_equal(slice_writer_add(w, empty, START_NS, end, &record, &begins), 0);
	assert_int_equal(store_add_slice(s, record.at, record.len - 1, START_NS, end, NULL, 0),
			 -EINVAL);
	assert_int_equal(store_add_slice(s, record.at, record.len, START_NS + 1, end, NULL, 0),
			 -EINVAL);
	record.at[45] ^= 1;
	assert_int_equal(store_add_slice(s, record.at, record.len, START_NS, end, NULL, 0),
			 -EINVAL);
	u64 from = 0;
	assert_int_equal(store_open_slices(s, &from, UINT64_MAX), -ENOENT);
	store_close(s);
	slice_writer_free(w);
	profile_free(empty);
	remove_place(&p);
}

static void a_torn_tail_is_cut_off(void **state)
{
	struct place p = new_place();
	struct store *s = open_store(&p);
	struct slice_writer *w = slice_writer_new();
	auto_free char *path = xasprintf("%s/slices/20251120_12.sfls", p.path);
	struct stat st;
	u64 lost;

	for (u64 i = 0; i < 5; i++)
		assert_int_equal(add_slice(s, w, START_NS + i * SLICE_NS, 1), 0);
	store_close(s);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size - 7), 0);
	s = open_store(&p);
	assert_int_equal(weight_of(s, START_NS, START_NS + HOUR_NS, &lost), 4);
	assert_int_equal(lost, 0);
	slice_writer_begin(w);
	assert_int_equal(add_slice(s, w, START_NS + 5 * SLICE_NS, 10), 0);
	assert_int_equal(weight_of(s, START_NS, START_NS + HOUR_NS, &lost), 14);
	assert_int_equal(lost, 0);
	store_close(s);
	slice_writer_free(w);
	remove_place(&p);
}

/* Thirty days with three slices in 10 minutes: with all of them the test would take minutes. */
#define SPARSE_NS  (200 * NS_PER_SEC)
#define SPARSE_DAY (DAY_NS / SPARSE_NS)
static void retention_and_strip_over_thirty_days(void **state)
{
	const struct store_limits limits = { .keep_10s_ns = 2 * DAY_NS,
					     .keep_1min_ns = 7 * DAY_NS,
					     .keep_10min_ns = 20 * DAY_NS };
	struct place p = new_place();
	struct store *s = open_with(&p, &limits);
	struct slice_writer *w = slice_writer_new();
	u64 end = START_NS + 30 * DAY_NS, lost;
	struct store_strip strip;

	for (u64 at = START_NS; at < end; at += SPARSE_NS)
		assert_int_equal(add_slice(s, w, at + 10 * NS_PER_SEC, 5), 0);
	for (int i = 0; i < 1000; i++)
		store_tick(s, end);
	assert_true(store_size(s).oldest_slice_ns >= end - 20 * DAY_NS - HOUR_NS);
	assert_int_equal(weight_of(s, START_NS, end - 21 * DAY_NS, &lost), 0);
	assert_int_equal(weight_of(s, end - DAY_NS, end, &lost), SPARSE_DAY * 5);
	assert_int_equal(lost, 0);
	for (int day = 1; day < 15; day += 5) { /* not thinned, by minute, by 10 minutes */
		u64 from = end - day * DAY_NS;
		struct store_strip_query q = { from, from + DAY_NS, "cpu", 144 };
		assert_int_equal(store_strip(s, &q, &strip), 0);
		assert_int_equal(strip.nr_steps, 144);
		assert_int_equal(strip.step_ns, 600 * NS_PER_SEC);
		assert_int_equal(strip.series.nr, 2);
		assert_string_equal(strip.series.at[0].service, "shop");
		assert_int_equal(strip.series.at[0].total, SPARSE_DAY * 15);
		vec_each(value, &strip.all)
			assert_int_equal(*value, 3 * 20);
		assert_int_equal(strip.series.at[1].total, SPARSE_DAY * 5);
		for (int i = 0; i < 144; i++)
			assert_int_equal(strip.series.at[1].values.at[i], 3 * 5);
		store_strip_fini(&strip);
		q.event = "alloc";
		assert_int_equal(store_strip(s, &q, &strip), 0);
		assert_int_equal(strip.series.nr, 1);
		assert_int_equal(strip.series.at[0].total, SPARSE_DAY * 35);
		assert_int_equal(strip.events.nr, 2);
		assert_string_equal(strip.events.at[0], "alloc");
		store_strip_fini(&strip);
	}
	const struct store_strip_query empty = { end, end, "cpu", 10 };
	assert_int_equal(store_strip(s, &empty, &strip), -EINVAL);
	store_close(s);
	slice_writer_free(w);
	remove_place(&p);
}

/* Thins every hour that is old enough, without a worker. Returns the number of these hours. */
static u64 thin_all(struct store *s, u64 now)
{
	struct store_thinning t;
	u64 nr = 0;

	for (; store_thinning_due(s, now, &t); nr++) {
		auto_str struct str out = { 0 }, why = { 0 };
		auto_free char *bytes = NULL;
		auto_close int fd = store_thinning_open(s, &t);
		size_t len;
		assert_int_equal(file_load(fd, 1 << 30, &bytes, &len), 0);
		assert_int_equal(slices_thin((u8 *)bytes, len, t.step_ns, &out, &why), 0);
		assert_int_equal(store_thinning_end(s, &t, out.at, out.len), 0);
	}
	return nr;
}

/* Every step of the strip shows one CPU. */
static void check_steps(struct store *s, u64 from, u64 to, u32 max_steps)
{
	const struct store_strip_query q = { from, to, "cpu", max_steps };
	struct store_strip strip;

	assert_int_equal(store_strip(s, &q, &strip), 0);
	assert_true(strip.nr_steps > 1 && strip.nr_steps <= max_steps);
	assert_int_equal(strip.series.nr, 1);
	for (u64 i = 0; i + 1 < strip.nr_steps; i++)
		assert_int_equal(strip.series.at[0].values.at[i], strip.step_ns);
	store_strip_fini(&strip);
}

static void constant_use_has_no_peaks(void **state)
{
	static const u32 max_steps[] = { 341, 97, 7, 2 };
	static const u64 days[] = { 0, 2, 7 }; /* not thinned, by minute, by 10 minutes */
	const struct store_limits limits = { .keep_10s_ns = 2 * DAY_NS,
					     .keep_1min_ns = 7 * DAY_NS };
	const struct store_use use = { "cpu", "shop", SLICE_NS };
	struct place p = new_place();
	struct store *s = open_with(&p, &limits);
	struct slice_writer *w = slice_writer_new();
	u64 end = START_NS + 4 * HOUR_NS;

	for (u64 at = START_NS; at < end; at += SLICE_NS) /* slices begin a little late */
		assert_int_equal(add_record(s, w, at + 7 * NS_PER_MS, 1, &use, 1), 0);
	for (size_t i = 0; i < ARRAY_SIZE(days); i++) {
		u64 now = end + HOUR_NS + days[i] * DAY_NS;
		for (int k = 0; k < 10; k++)
			store_tick(s, now);
		assert_int_equal(thin_all(s, now), i ? 4 : 0);
		for (size_t k = 0; k < ARRAY_SIZE(max_steps); k++)
			check_steps(s, START_NS, end, max_steps[k]);
	}
	store_close(s);
	slice_writer_free(w);
	remove_place(&p);
}

/* The slices of `nr` times of 10 s are all time that is covered, however long a step is. */
static void check_covered(struct store *s, u64 to, u64 nr)
{
	static const u64 hours[] = { 1, 24, 168 };

	for (size_t i = 0; i < ARRAY_SIZE(hours); i++) {
		const struct store_strip_query q = { to - hours[i] * HOUR_NS, to, "cpu", 360 };
		struct store_strip strip;
		u64 covered = 0;
		assert_int_equal(store_strip(s, &q, &strip), 0);
		assert_int_equal(strip.covered.nr, strip.nr_steps);
		vec_each(ns, &strip.covered)
			covered += *ns;
		assert_int_equal(covered, nr * SLICE_NS);
		store_strip_fini(&strip);
	}
}

static void covered_time_is_that_of_the_slices_at_any_step(void **state)
{
	const struct store_limits limits = { .keep_10s_ns = 2 * DAY_NS,
					     .keep_1min_ns = 7 * DAY_NS };
	static const u64 days[] = { 0, 2, 7 }; /* not thinned, by minute, by 10 minutes */
	struct place p = new_place();
	struct store *s = open_with(&p, &limits);
	struct slice_writer *w = slice_writer_new();
	u64 at = START_NS + 7 * NS_PER_MS, nr = 0;

	/* 20 minutes, a gap of 20, and 10: full steps, also of thinned slices */
	for (; nr < 180; nr++, at += nr == 120 ? 20 * 60 * NS_PER_SEC + SLICE_NS : SLICE_NS)
		assert_int_equal(add_slice(s, w, at, 5), 0);
	for (size_t i = 0; i < ARRAY_SIZE(days); i++) {
		store_tick(s, START_NS + HOUR_NS + days[i] * DAY_NS);
		check_covered(s, START_NS + HOUR_NS, nr);
	}
	store_close(s);
	slice_writer_free(w);
	remove_place(&p);
}

/* A number below `max`, the same in every run. */
static u64 draw(u64 *seed, u64 max)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed % max;
}

/* Slices of a constant use, of which some are missing, short or doubled by a clock set back. */
static u64 add_random_slices(struct store *s, struct slice_writer *w, u64 *seed, u64 ppm)
{
	u64 nr = 0;

	for (u64 at = START_NS; at < START_NS + 2 * HOUR_NS; at += SLICE_NS) {
		u64 kind = draw(seed, 8);
		const struct store_use use = { "cpu", "shop", SLICE_NS / 1000000 * ppm };
		if (kind == 0) /* a long gap */
			at += draw(seed, 120) * SLICE_NS;
		for (u64 i = 0; i < (kind == 1 ? 2 : kind > 1); i++, nr++)
			assert_int_equal(add_record(s, w, at, 1, &use, ppm ? 1 : 0), 0);
	}
	return nr;
}

/* The mean of each step that has slices is the use, and mean x covered time = total. */
static void check_means(struct store *s, u64 nr, u64 ppm, u32 max_steps)
{
	const struct store_strip_query q = { START_NS, START_NS + 2 * HOUR_NS, "cpu", max_steps };
	struct store_strip strip;
	u64 covered = 0, total = 0;

	assert_int_equal(store_strip(s, &q, &strip), 0);
	for (u64 i = 0; i < strip.nr_steps; i++) {
		covered += strip.covered.at[i];
		total += strip.all.at[i];
		assert_int_equal(strip.all.at[i], strip.covered.at[i] / 1000000 * ppm);
	}
	assert_true(covered <= nr * SLICE_NS);
	assert_int_equal(total, covered / 1000000 * ppm);
	store_strip_fini(&strip);
}

/* The covered time and the gaps add up to the length of the range. */
static void check_gaps(struct store *s, u64 from, u64 to, bool has_doubles)
{
	struct store_coverage c;
	u64 missing = 0, last = from;

	assert_int_equal(store_coverage(s, from, to, &c), 0);
	vec_each(gap, &c.gaps) {
		assert_true(gap->from_ns >= last && gap->to_ns > gap->from_ns && gap->to_ns <= to);
		missing += gap->to_ns - gap->from_ns;
		last = gap->to_ns;
	}
	if (has_doubles)
		assert_true(c.covered_ns + missing >= to - from);
	else
		assert_int_equal(c.covered_ns + missing, to - from);
	store_coverage_fini(&c);
}

static void mean_times_covered_time_is_the_total(void **state)
{
	static const u32 max_steps[] = { 720, 97, 12, 1 };
	static const u64 days[] = { 0, 2, 7 }; /* not thinned, by minute, by 10 minutes */
	const struct store_limits limits = { .keep_10s_ns = 2 * DAY_NS,
					     .keep_1min_ns = 7 * DAY_NS };
	u64 seed = 20261128;

	for (u64 round = 0; round < 6; round++) {
		u64 ppm = round ? draw(&seed, 1000000) : 0; /* an idle node is covered, too */
		struct place p = new_place();
		struct store *s = open_with(&p, &limits);
		struct slice_writer *w = slice_writer_new();
		u64 nr = add_random_slices(s, w, &seed, ppm);
		check_gaps(s, START_NS, START_NS + 2 * HOUR_NS, true);
		for (size_t i = 0; i < ARRAY_SIZE(days); i++) {
			u64 now = START_NS + 3 * HOUR_NS + days[i] * DAY_NS;
			for (int k = 0; k < 6; k++)
				store_tick(s, now);
			thin_all(s, now);
			for (size_t k = 0; k < ARRAY_SIZE(max_steps); k++)
				check_means(s, nr, ppm, max_steps[k]);
		}
		store_close(s);
		slice_writer_free(w);
		remove_place(&p);
	}
}

static void a_gap_says_since_when_and_why(void **state)
{
	struct place p = new_place();
	struct store *s = open_store(&p);
	struct slice_writer *w = slice_writer_new();
	u64 from = START_NS + 12 * SLICE_NS, to = START_NS + 18 * SLICE_NS;
	struct store_coverage c;

	for (u64 i = 0; i < 30; i++)
		if (i < 10 || i >= 20)
			assert_int_equal(add_slice(s, w, START_NS + i * SLICE_NS, 1), 0);
	store_note_pause(s, START_NS + 10 * SLICE_NS - 1, "too dear");
	store_note_pause(s, START_NS + 15 * SLICE_NS, "too dear");
	store_note_pause(s, START_NS + 20 * SLICE_NS, "");
	check_gaps(s, START_NS, START_NS + 30 * SLICE_NS, false);
	check_gaps(s, START_NS - 5 * SLICE_NS, START_NS + 33 * SLICE_NS, false);
	assert_int_equal(store_coverage(s, from, to, &c), 0);
	assert_int_equal(c.covered_ns, 0);
	assert_int_equal(c.gaps.nr, 1);
	assert_int_equal(c.gaps.at[0].from_ns, from);
	assert_int_equal(c.gaps.at[0].to_ns, to);
	assert_int_equal(c.gaps.at[0].since_ns, START_NS + 10 * SLICE_NS);
	assert_string_equal(c.gaps.at[0].why, "too dear");
	store_coverage_fini(&c);

	/* Before the first slice there is no reason. */
	assert_int_equal(store_coverage(s, START_NS - HOUR_NS, START_NS, &c), 0);
	assert_int_equal(c.gaps.nr, 1);
	assert_int_equal(c.gaps.at[0].since_ns, 0);
	assert_string_equal(c.gaps.at[0].why, "");
	store_coverage_fini(&c);
	store_close(s);

	assert_int_equal(unlinkat(p.dir, "index.db", 0), 0);
	s = open_store(&p);
	assert_int_equal(store_coverage(s, from, to, &c), 0);
	assert_non_null(strstr(c.gaps.at[0].why, "the index was lost"));
	store_coverage_fini(&c);
	store_close(s);
	slice_writer_free(w);
	remove_place(&p);
}

static void totals_are_equal_before_and_after_thinning(void **state)
{
	const struct store_limits limits = { .keep_10s_ns = 2 * DAY_NS,
					     .keep_1min_ns = 7 * DAY_NS };
	struct place p = new_place();
	struct store *s = open_with(&p, &limits);
	struct slice_writer *w = slice_writer_new();
	u64 end = START_NS + 3 * HOUR_NS, lost, sums[18];

	for (u64 at = START_NS; at < end; at += SLICE_NS)
		assert_int_equal(add_slice(s, w, at, 1 + at / SLICE_NS % 97), 0);
	for (int i = 0; i < 10; i++)
		store_tick(s, end + HOUR_NS);
	for (u64 i = 0; i < 18; i++)
		sums[i] = weight_of(s, START_NS + i * 600 * NS_PER_SEC,
				    START_NS + (i + 1) * 600 * NS_PER_SEC, &lost);
	u64 size = store_size(s).slice_bytes;
	assert_int_equal(thin_all(s, end + DAY_NS), 0);
	for (u64 day = 3; day < 10; day += 5) { /* by minute, then by 10 minutes */
		assert_int_equal(thin_all(s, end + day * DAY_NS), 3);
		assert_int_equal(thin_all(s, end + day * DAY_NS), 0);
		assert_true(store_size(s).slice_bytes < size);
		size = store_size(s).slice_bytes;
		assert_int_equal(store_slices_step(s, START_NS, end),
				 (day < 7 ? 60 : 600) * NS_PER_SEC);
		for (u64 i = 0; i < 18; i++)
			assert_int_equal(weight_of(s, START_NS + i * 600 * NS_PER_SEC,
						   START_NS + (i + 1) * 600 * NS_PER_SEC, &lost),
					 sums[i]);
		assert_int_equal(lost, 0);
	}
	/* The second half of a slice of 10 minutes is not one of its own. */
	assert_int_equal(
		weight_of(s, START_NS + 300 * NS_PER_SEC, START_NS + 600 * NS_PER_SEC, &lost), 0);
	store_close(s);
	slice_writer_free(w);
	remove_place(&p);
}

static void an_hour_that_changed_meanwhile_is_not_replaced(void **state)
{
	const struct store_limits limits = { .keep_10s_ns = 2 * DAY_NS };
	struct place p = new_place();
	struct store *s = open_with(&p, &limits);
	struct slice_writer *w = slice_writer_new();
	struct store_thinning t;
	u64 lost, now = START_NS + 3 * DAY_NS;

	assert_int_equal(add_slice(s, w, START_NS, 5), 0);
	store_tick(s, now);
	assert_true(store_thinning_due(s, now, &t));
	close(store_thinning_open(s, &t));
	slice_writer_begin(w);
	assert_int_equal(add_slice(s, w, START_NS + SLICE_NS, 7), 0);
	assert_int_equal(store_thinning_end(s, &t, "x", 1), -ESTALE);
	assert_int_equal(weight_of(s, START_NS, START_NS + HOUR_NS, &lost), 12);
	store_tick(s, now);
	assert_int_equal(thin_all(s, now), 1);
	assert_int_equal(weight_of(s, START_NS, START_NS + HOUR_NS, &lost), 12);
	store_close(s);
	slice_writer_free(w);
	remove_place(&p);
}

/* Root reads every file: the test goes on as nobody. */
static void an_hour_that_cannot_be_read_holds_up_no_other(void **state)
{
	const struct store_limits limits = { .keep_10s_ns = 2 * DAY_NS };
	struct place p = new_place();
	struct store *s = open_with(&p, &limits);
	struct slice_writer *w = slice_writer_new();
	auto_free char *folder = xasprintf("%s/slices", p.path);
	auto_free char *file = xasprintf("%s/20251120_12.sfls", folder);
	auto_free char *next = xasprintf("%s/20251120_13.sfls", folder);
	u64 now = START_NS + 3 * DAY_NS;
	struct store_thinning t;
	bool is_root = !geteuid();

	for (u64 hour = 0; hour < 2; hour++)
		assert_int_equal(add_slice(s, w, START_NS + hour * HOUR_NS, 5), 0);
	assert_int_equal(chmod(file, 0), 0);
	assert_int_equal(chmod(next, 0666), 0);
	assert_int_equal(chmod(folder, 0777), 0);
	assert_int_equal(is_root ? seteuid(65534) : 0, 0);
	for (int i = 0; i < 2; i++)
		store_tick(s, now);
	assert_true(store_thinning_due(s, now, &t));
	assert_int_equal(store_thinning_open(s, &t), -EACCES);
	assert_int_equal(store_thinning_end(s, &t, NULL, 0), 0);
	assert_true(store_thinning_due(s, now, &t));
	assert_int_equal(t.hour, START_NS / HOUR_NS + 1);
	auto_close int fd = store_thinning_open(s, &t);
	assert_true(fd >= 0);
	assert_int_equal(is_root ? seteuid(0) : 0, 0);
	store_close(s);
	slice_writer_free(w);
	remove_place(&p);
}

/* Adds profiles, parts and slices until it is killed; reports each success as a byte. */
static void write_until_killed(const struct place *p, int out)
{
	struct store *s = open_store(p);
	struct slice_writer *w = slice_writer_new();
	u64 begin = START_NS + (store_new_id(s) % 50) * SLICE_NS * 1000;

	for (u64 i = 0;; i++) {
		add_profile(s, "a whole profile");
		u64 id = store_new_id(s);
		store_add_part(s, id, "a part", 6);
		store_add_part(s, id, "a part", 6);
		store_join_parts(s, id, 0, 2, "two parts", 9);
		if (i % 4)
			store_drop_parts(s, id);
		for (int k = 0; k < 3; k++, begin += SLICE_NS)
			if (add_slice(s, w, begin, 1) || write(out, "s", 1) != 1)
				_exit(1);
		store_tick(s, begin + (i % 2) * HOUR_NS);
	}
}

static void check_all(struct store *s, u64 nr_slices_done)
{
	struct stored_list list;
	u64 ids[256], lost;

	assert_int_equal(store_list(s, "", 0, 1000000, &list), 0);
	vec_each(f, &list.list)
		assert_content(store_open_file(s, f->id), "a whole profile");
	stored_list_fini(&list);
	size_t nr = store_orphans(s, ids, 256);
	for (size_t i = 0; i < nr; i++) {
		auto_free char *first = content_of(store_open_part(s, ids[i], 0));
		assert_true(!strcmp(first, "a part") || !strcmp(first, "two parts"));
	}
	assert_true(weight_of(s, 0, UINT64_MAX, &lost) >= nr_slices_done);
	assert_int_equal(lost, 0);
}

static void a_kill_at_any_moment_loses_no_finished_write(void **state)
{
	struct place p = new_place();
	u32 seed = 41;
	u64 done = 0;

	for (int round = 0; round < 25; round++) {
		int pipes[2];
		char bytes[4096];
		ssize_t got;
		assert_int_equal(pipe(pipes), 0);
		pid_t child = fork();
		assert_true(child >= 0);
		if (!child)
			write_until_killed(&p, pipes[1]);
		close(pipes[1]);
		if (round % 2) { /* after a write, however busy the machine is; else anywhere */
			assert_int_equal(read(pipes[0], bytes, 1), 1);
			done++;
		}
		seed = seed * 1664525 + 1013904223;
		usleep(20000 + (seed >> 8) % 120000);
		kill(child, SIGKILL);
		while ((got = read(pipes[0], bytes, sizeof(bytes))) > 0)
			done += (u64)got;
		close(pipes[0]);
		int status;
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		struct store *s = open_store(&p);
		check_all(s, done);
		store_close(s);
	}
	assert_true(done > 0);
	remove_place(&p);
}

static void fill_disk(const struct place *p)
{
	char zeros[1 << 16] = { 0 };
	auto_close int fd = openat(p->dir, "filler", O_WRONLY | O_CREAT, 0600);

	for (size_t nr = sizeof(zeros); nr; nr /= 2)
		while (write(fd, zeros, nr) > 0)
			;
}

/* On a disk of 4 MB. Skips the test if it cannot be mounted. */
static struct place new_small_place(void)
{
	struct place p = new_place();

	if (geteuid() || unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("test_store", p.path, "tmpfs", 0, "size=4m")) {
		remove_place(&p);
		skip_because("mounting a small file system takes root");
	}
	close(p.dir);
	p.dir = open(p.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return p;
}

static void remove_small_place(struct place *p)
{
	close(p->dir);
	assert_int_equal(umount(p->path), 0);
	assert_int_equal(rmdir(p->path), 0);
}

static void check_refusing(struct store *s, struct slice_writer *w, u64 begin, int err)
{
	static char bytes[1 << 20];
	struct stored facts = facts_of(store_new_id(s));
	u64 nr = nr_listed(s, "");

	assert_int_equal(store_add(s, &facts, bytes, sizeof(bytes)), err);
	assert_int_equal(store_add_part(s, facts.id, bytes, sizeof(bytes)), err);
	int got = 0;
	for (u64 i = 0; i < 1000 && !got; i++)
		got = add_slice(s, w, begin + i * SLICE_NS, 1);
	assert_int_equal(got, err);
	assert_int_equal(nr_listed(s, ""), nr);
	store_tick(s, START_NS + 10 * HOUR_NS);
}

static void a_full_or_read_only_disk_loses_nothing_that_is_listed(void **state)
{
	struct place p = new_small_place();
	struct slice_writer *w = slice_writer_new();
	u64 lost;

	struct store *s = open_store(&p);
	u64 id = add_profile(s, "kept");
	assert_int_equal(add_slice(s, w, START_NS, 1), 0);
	fill_disk(&p);
	check_refusing(s, w, START_NS + SLICE_NS, -ENOSPC);
	assert_content(store_open_file(s, id), "kept");
	assert_true(weight_of(s, START_NS, START_NS + DAY_NS, &lost) >= 1);
	assert_int_equal(lost, 0);
	unlinkat(p.dir, "filler", 0);
	slice_writer_begin(w);
	assert_int_equal(add_slice(s, w, START_NS + 3 * HOUR_NS, 7), 0);
	add_profile(s, "again");
	store_close(s);

	s = open_store(&p);
	assert_int_equal(nr_listed(s, ""), 2);
	assert_int_equal(weight_of(s, START_NS + 3 * HOUR_NS, START_NS + 4 * HOUR_NS, &lost), 7);
	store_close(s);
	assert_int_equal(mount(NULL, p.path, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
	auto_str struct str why = { 0 };
	assert_int_equal(store_open(p.dir, &no_limits, &s, &why), -EROFS);
	assert_string_equal(why.at, "cannot use the store's directory: Read-only file system");
	remove_small_place(&p);
	slice_writer_free(w);
}

/* Small files: their blocks are no room for the journal of the index. */
static void profiles_can_be_deleted_on_a_full_disk(void **state)
{
	const struct store_limits limits = { .max_disk_bytes = 1 };
	struct place p = new_small_place();
	struct store *s = open_store(&p);
	struct stored failed = facts_of(store_new_id(s));
	u64 ids[4], nr = 0, undo;

	failed.state = STORED_FAILED;
	assert_int_equal(store_add(s, &failed, NULL, 0), 0);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		ids[i] = add_profile(s, "small");
	assert_int_equal(store_pin(s, ids[3], true), 0);
	store_close(s);
	s = open_with(&p, &limits); /* a limit that was lowered: it refuses new pins only */
	assert_int_equal(store_pin(s, ids[2], true), -EDQUOT);
	fill_disk(&p);
	assert_int_equal(store_rename(s, ids[0], "full"), -ENOSPC);
	assert_int_equal(store_delete(s, 1000), -ENOENT);
	assert_int_equal(store_delete(s, failed.id), 0);
	assert_int_equal(store_delete(s, ids[0]), 0);
	assert_int_equal(store_delete(s, ids[0]), -ENOENT);
	assert_int_equal(store_rename(s, ids[0], "gone"), -ENOENT);
	assert_int_equal(store_restore(s, ids[0]), -ENOENT);
	assert_int_equal(nr_listed(s, ""), 3);
	assert_int_equal(store_size(s).nr_profiles, 3);
	fill_disk(&p);
	store_tick(s, START_NS); /* the limit takes the oldest */
	assert_int_equal(nr_listed(s, ""), 2);
	fill_disk(&p);
	assert_int_equal(store_delete_all(s, &nr, &undo), 0);
	assert_int_equal(nr, 1);
	assert_int_equal(undo, 0);
	assert_int_equal(nr_listed(s, ""), 1);
	assert_content(store_open_file(s, ids[3]), "small");

	unlinkat(p.dir, "filler", 0);
	store_tick(s, START_NS);
	store_close(s);
	s = open_store(&p);
	assert_int_equal(nr_listed(s, ""), 1);
	store_close(s);
	remove_small_place(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_are_read_back_over_hours_before_and_after_sealing),
		cmocka_unit_test(a_slice_that_is_none_is_refused),
		cmocka_unit_test(a_torn_tail_is_cut_off),
		cmocka_unit_test(retention_and_strip_over_thirty_days),
		cmocka_unit_test(constant_use_has_no_peaks),
		cmocka_unit_test(covered_time_is_that_of_the_slices_at_any_step),
		cmocka_unit_test(mean_times_covered_time_is_the_total),
		cmocka_unit_test(a_gap_says_since_when_and_why),
		cmocka_unit_test(totals_are_equal_before_and_after_thinning),
		cmocka_unit_test(an_hour_that_changed_meanwhile_is_not_replaced),
		cmocka_unit_test(an_hour_that_cannot_be_read_holds_up_no_other),
		cmocka_unit_test(a_kill_at_any_moment_loses_no_finished_write),
		cmocka_unit_test(a_full_or_read_only_disk_loses_nothing_that_is_listed),
		cmocka_unit_test(profiles_can_be_deleted_on_a_full_disk),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
