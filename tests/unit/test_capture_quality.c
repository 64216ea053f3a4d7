/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "capture/kernel/counters.h"
#include "capture/samples/quality.h"
#include "stat.h"

#define NOBODY 5000000 /* PIDs from here on exist on no node */

struct line {
	pid_t pid;
	u64 nr, nr_cut;
	char text[300];
};

struct world {
	struct jvm_registry *jvms;
	struct processes *processes;
	struct quality *quality;
	VEC(struct line) lines;
};

static struct world new_world(void)
{
	struct world w = { .jvms = jvm_registry_new(), .processes = processes_new() };

	w.quality = quality_new(w.jvms);
	return w;
}

static void end(struct world *w)
{
	vec_fini(&w->lines);
	quality_free(w->quality);
	processes_free(w->processes);
	jvm_registry_free(w->jvms);
}

static void count(struct world *w, pid_t pid, u32 stop, int nr)
{
	struct process *p = processes_get(w->processes, (struct process_id){ pid, 1 }, "work\ner");

	while (nr--)
		quality_count(w->quality, p, stop, 0);
}

static void take_line(const struct incomplete *i, void *ctx)
{
	struct world *w = ctx;
	struct line line = { i->pid, i->nr, i->nr_cut, "" };

	snprintf(line.text, sizeof(line.text), "%s", i->text);
	vec_push(&w->lines, line);
}

static size_t report(struct world *w)
{
	w->lines.nr = 0;
	quality_each(w->quality, take_line, w);
	return w->lines.nr;
}

static void a_process_is_reported_if_20_stacks_and_over_5_percent_are_cut(void **state)
{
	struct world w = new_world();

	count(&w, NOBODY, STAT_NO_ROW, 19);
	assert_int_equal(report(&w), 0);
	count(&w, NOBODY, STAT_NO_ROW, 1);
	assert_int_equal(report(&w), 1);
	assert_int_equal(w.lines.at[0].nr, 20);
	assert_int_equal(w.lines.at[0].nr_cut, 20);
	count(&w, NOBODY, STAT_ROOT, 379);
	assert_int_equal(report(&w), 1);
	count(&w, NOBODY, STAT_ROOT, 1);
	assert_int_equal(report(&w), 0);
	end(&w);
}

/*
 * BPF keeps only a part of the stacks of a process without tables. Deep first stacks are thus cut.
 */
static void the_first_stacks_of_a_process_are_no_reason_for_a_report(void **state)
{
	struct world w = new_world();

	count(&w, NOBODY, STAT_STACK_SHORT, 2);
	count(&w, NOBODY, STAT_ROOT, 22);
	assert_int_equal(report(&w), 0);
	end(&w);
}

static void the_sentence_has_the_main_reason_and_its_remedy(void **state)
{
	struct world w = new_world();

	count(&w, NOBODY, STAT_DEPTH, 10);
	count(&w, NOBODY, STAT_RETURN_ADDRESS, 30);
	assert_int_equal(report(&w), 1);
	assert_string_equal(w.lines.at[0].text,
			    "stacks of work\xef\xbf\xbd"
			    "er-5000000 lack callers (100.0 % of 40): no return "
			    "address above a compiled frame; report it, with the version of the "
			    "JDK");
	end(&w);
}

static void the_process_with_most_cut_stacks_comes_first(void **state)
{
	struct world w = new_world();

	count(&w, NOBODY, STAT_LOOP, 30);
	count(&w, NOBODY + 1, STAT_LOOP, 50);
	count(&w, NOBODY + 2, STAT_LOOP, 40);
	assert_int_equal(report(&w), 3);
	assert_int_equal(w.lines.at[0].pid, NOBODY + 1);
	assert_int_equal(w.lines.at[1].pid, NOBODY + 2);
	assert_int_equal(w.lines.at[2].pid, NOBODY);
	end(&w);
}

/* Like the compilers of a build: none has enough stacks. */
static void many_processes_with_few_stacks_each_are_reported_together(void **state)
{
	struct world w = new_world();

	for (int i = 0; i < 100; i++)
		count(&w, NOBODY + i, STAT_UNREADABLE, 3);
	assert_int_equal(report(&w), 1);
	assert_int_equal(w.lines.at[0].pid, 0);
	assert_int_equal(w.lines.at[0].nr_cut, 300);
	assert_non_null(strstr(w.lines.at[0].text, "stacks of all processes lack callers"));
	end(&w);
}

static void a_full_table_drops_only_processes_with_complete_stacks(void **state)
{
	struct world w = new_world();

	count(&w, NOBODY, STAT_LOOP, 1000);
	for (int i = 1; i < 3 * QUALITY_MAX; i++)
		count(&w, NOBODY + i, STAT_ROOT, 1);
	assert_int_equal(report(&w), 1);
	assert_int_equal(w.lines.at[0].pid, NOBODY);
	assert_int_equal(w.lines.at[0].nr_cut, 1000);
	end(&w);
}

static void samples_without_a_user_stack_do_not_count(void **state)
{
	struct world w = new_world();

	count(&w, NOBODY, STAT_NO_USER, 1000);
	count(&w, NOBODY, STAT_LOOP, 19);
	assert_int_equal(report(&w), 0);
	end(&w);
}

/* These are lost beside any rate: by programs that start or map much, or by waits. */
static void a_lower_rate_is_no_remedy_for_lost_reports(void **state)
{
	static const u32 losses[] = { STAT_MAPPING_LOST, STAT_EVENT_LOST, STAT_WAIT_LOST,
				      STAT_LEAK_UNTRACKED, STAT_NO_SCRATCH };

	for (size_t i = 0; i < ARRAY_SIZE(losses); i++)
		assert_null(strstr(counter_of(losses[i])->remedy, "-F"));
	assert_non_null(strstr(counter_of(STAT_BUSY)->remedy, "-F"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_reported_if_20_stacks_and_over_5_percent_are_cut),
		cmocka_unit_test(the_first_stacks_of_a_process_are_no_reason_for_a_report),
		cmocka_unit_test(the_sentence_has_the_main_reason_and_its_remedy),
		cmocka_unit_test(the_process_with_most_cut_stacks_comes_first),
		cmocka_unit_test(many_processes_with_few_stacks_each_are_reported_together),
		cmocka_unit_test(a_full_table_drops_only_processes_with_complete_stacks),
		cmocka_unit_test(samples_without_a_user_stack_do_not_count),
		cmocka_unit_test(a_lower_rate_is_no_remedy_for_lost_reports),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
