/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and walker together, on live processes with known calls. */
#include "capture/unwind/modules.h"
#include "capture/unwind/walker.h"
#include "proc/mem.h"
#include "proc/status.h"
#include "stat.h"
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct tables_sizes sizes = { .nr_words = 1 << 20, .nr_ranges = 4096, .nr_jvms = 2 };

static __attribute__((noinline)) int recurse(int depth)
{
	if (!depth)
		return raise(SIGSTOP);
	int r = recurse(depth - 1);
	__asm__ volatile("" : "+r"(r)); /* no tail call */
	return r;
}

static void on_signal(int signal)
{
	recurse(3);
}

/* Starts a child that stops itself 37 calls deep; with `by_signal` in a signal handler. */
static pid_t start_child(bool by_signal)
{
	pid_t pid = fork();

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		signal(SIGUSR1, on_signal);
		by_signal ? raise(SIGUSR1) : recurse(37);
		_exit(0);
	}
	int status;
	waitpid(pid, &status, 0);
	if (by_signal) { /* ptrace reports SIGUSR1 itself first */
		ptrace(PTRACE_CONT, pid, 0, SIGUSR1);
		waitpid(pid, &status, 0);
	}
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static struct tables *tables_of(pid_t pid)
{
	struct mappings mappings = { 0 };
	struct proc_status status;
	struct tables *t;

	assert_int_equal(proc_status_read(pid, &status), 0);
	assert_int_equal(mappings_read(pid, true, &mappings), 0);
	assert_int_equal(tables_new(&sizes, NULL, &t), 0);
	assert_int_equal(
		tables_set_process(t, (struct process_id){ pid, status.start_ns }, 0, &mappings),
		0);
	mappings_fini(&mappings);
	return t;
}

static void walk(const struct tables *t, pid_t pid, struct walked *out)
{
	struct thread_regs from;

	assert_int_equal(thread_regs_read(pid, &from), 0);
	assert_int_equal(walker_walk(t, pid, &from, 0, out), 0);
}

/* The number of occurrences of the most frequent return address. */
static size_t deepest(const struct walked *w)
{
	size_t most = 0;

	vec_each(a, &w->frames) {
		size_t nr = 0;
		vec_each(b, &w->frames)
			nr += a->pc == b->pc;
		most = nr > most ? nr : most;
	}
	return most;
}

static void a_recursion_of_known_depth_is_walked_to_the_root(void **state)
{
	pid_t pid = start_child(false);
	struct tables *t = tables_of(pid);
	struct walked w = { 0 };

	walk(t, pid, &w);
	assert_true(w.is_complete);
	assert_int_equal(deepest(&w), 37);
	walked_fini(&w);
	tables_free(t);
	end_child(pid);
}

/* Of three frames the pc is no return address: the innermost, the trampoline, the interrupted. */
static void a_walk_continues_from_a_signal_handler_into_the_interrupted_code(void **state)
{
	pid_t pid = start_child(true);
	struct tables *t = tables_of(pid);
	struct walked w = { 0 };
	size_t nr_leaves = 0;

	walk(t, pid, &w);
	vec_each(f, &w.frames)
		nr_leaves += (f->frame.info & USER_FRAME_LEAF) != 0;
	assert_true(w.is_complete);
	assert_int_equal(nr_leaves, 3);
	walked_fini(&w);
	tables_free(t);
	end_child(pid);
}

static __attribute__((noinline)) int recurse_wide(int depth)
{
	volatile char room[1024];

	room[0] = 1;
	return depth ? recurse_wide(depth - 1) + room[0] : raise(SIGSTOP);
}

/* A copy of the first bytes of a stopped child's stack, as BPF makes it; `kept` has room. */
static void keep_stack(pid_t pid, u64 bytes, struct unwalked *kept)
{
	struct thread_regs from;
	struct mem *mem;

	assert_int_equal(thread_regs_read(pid, &from), 0);
	*kept = (struct unwalked){
		.tls = from.tls,
		.stack_bytes = bytes,
	};
	memcpy(kept->regs, &from.regs, sizeof(kept->regs));
	assert_int_equal(mem_open((struct process_id){ pid, 0 }, &mem), 0);
	assert_int_equal(mem_read(mem, from.regs.sp, kept->stack, bytes), 0);
	mem_free(mem);
}

static void a_stack_larger_than_what_was_kept_of_it_is_cut_for_that_reason(void **state)
{
	struct unwalked *kept = malloc(sizeof(*kept) + UNWALKED_STACK_BYTES);
	pid_t pid = fork();
	struct walked w = { 0 };
	int status;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		recurse_wide(30);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	struct tables *t = tables_of(pid);
	keep_stack(pid, UNWALKED_STACK_BYTES, kept);
	walker_walk_kept(t, pid, kept, &w);
	assert_int_equal(w.reason, STAT_STACK_SHORT);
	assert_in_range(w.frames.nr, 10, 20);
	kept->stack_bytes = 4096; /* the following pages could not be read */
	walker_walk_kept(t, pid, kept, &w);
	assert_int_equal(w.reason, STAT_UNREADABLE);
	walked_fini(&w);
	tables_free(t);
	free(kept);
	end_child(pid);
}

/* The reason for the end of a kept stack with a pc in a code heap that has that segment map. */
static u32 walk_beside_segment_map(u64 sp, u64 tls, const u8 *segmap)
{
	const struct hotspot_layout layout = {
		.nr_heaps = 1,
		.heaps = { { 0x10000, 0x20000, (u64)(uintptr_t)segmap, 7, 0 } },
		.bounds_start = 0x10000,
		.bounds_end = 0x20000,
	};
	struct unwalked *kept = calloc(1, sizeof(*kept) + 64);
	struct tables *t = tables_of(getpid());
	struct walked w = { 0 };

	assert_int_equal(tables_set_jvm(t, getpid(), &layout), 0);
	kept->regs[0] = 0x10080;
	kept->regs[1] = sp;
	kept->tls = tls;
	kept->stack_bytes = 64;
	walker_walk_kept(t, getpid(), kept, &w);
	walked_fini(&w);
	tables_free(t);
	free(kept);
	return w.reason;
}

static void memory_above_the_stack_of_a_thread_is_read(void **state)
{
	u8 segmap[512];
	u64 at = (u64)(uintptr_t)segmap;

	memset(segmap, 0xff, sizeof(segmap));
	assert_int_equal(walk_beside_segment_map(at - 8192, at - 4096, segmap), STAT_NO_BLOB);
	assert_int_equal(walk_beside_segment_map(at + 4096, at - 4096, segmap), STAT_NO_BLOB);
}

static void the_rest_of_a_kept_stack_is_not_read(void **state)
{
	u8 segmap[512];
	u64 at = (u64)(uintptr_t)segmap;

	memset(segmap, 0xff, sizeof(segmap));
	assert_int_equal(walk_beside_segment_map(at - 8192, at + 4096, segmap),
			 STAT_SEGMAP_UNREADABLE);
	assert_int_equal(walk_beside_segment_map(at - 8192, 0x1000, segmap),
			 STAT_SEGMAP_UNREADABLE);
}

static void two_processes_share_the_rows_of_a_file(void **state)
{
	pid_t a = start_child(false), b = start_child(false);
	struct tables *t = tables_of(a);
	struct tables_usage before = tables_usage(t);
	struct mappings mappings = { 0 };

	assert_int_equal(mappings_read(b, true, &mappings), 0);
	assert_int_equal(tables_set_process(t, (struct process_id){ b, 1 }, 0, &mappings), 0);
	assert_int_equal(tables_usage(t).nr_rows, before.nr_rows);
	assert_int_equal(tables_usage(t).nr_processes, 2);
	tables_remove_process(t, (struct process_id){ b, 1 });
	assert_int_equal(tables_usage(t).nr_ranges, before.nr_ranges);
	mappings_fini(&mappings);
	tables_free(t);
	end_child(a);
	end_child(b);
}

/*
 * A process of a container has ended: its files can no longer be opened, but this test's files have
 * the same paths.
 */
static void a_file_out_of_reach_is_retried_with_the_next_process(void **state)
{
	union unwind_word *words = calloc(sizes.nr_words, sizeof(*words));
	struct modules *all = modules_new(words, sizes.nr_words, NULL);
	struct mappings mappings = { 0 };
	struct unwind_range range;
	struct module *mod;
	pid_t gone = fork();

	if (!gone)
		_exit(0);
	waitpid(gone, NULL, 0);
	assert_int_equal(mappings_read(getpid(), true, &mappings), 0);
	const struct mapping *ours = mappings_find(&mappings, (u64)(uintptr_t)recurse);
	struct mapping theirs = *ours;
	theirs.path = "/usr/bin/env";
	assert_int_equal(modules_range(all, gone, &theirs, &mod, &range), 0);
	assert_int_equal(range.kind, RANGE_NO_ROWS);
	assert_int_equal(modules_range(all, getpid(), ours, &mod, &range), 0);
	assert_int_equal(range.kind, RANGE_ROWS);
	module_put(mod);
	mappings_fini(&mappings);
	modules_free(all);
	free(words);
}

static void a_full_table_evicts_another_process(void **state)
{
	struct tables_sizes small = sizes;
	struct mappings mappings = { 0 };
	struct tables *t;

	assert_int_equal(mappings_read(getpid(), true, &mappings), 0);
	small.nr_ranges = 2 * (u32)mappings.nr + 1;
	assert_int_equal(tables_new(&small, NULL, &t), 0);
	assert_int_equal(tables_set_process(t, (struct process_id){ 1000, 1 }, 0, &mappings), 0);
	assert_int_equal(tables_set_process(t, (struct process_id){ 1001, 1 }, 0, &mappings), 0);
	assert_int_equal(tables_set_process(t, (struct process_id){ 1002, 1 }, 0, &mappings), 0);
	assert_false(tables_has_process(t, (struct process_id){ 1000, 1 }));
	assert_true(tables_has_process(t, (struct process_id){ 1001, 1 }));
	assert_true(tables_has_process(t, (struct process_id){ 1002, 1 }));
	assert_int_equal(tables_usage(t).nr_evicted, 1);
	mappings_fini(&mappings);
	tables_free(t);
}

/* The usage of a table with room by `all`. */
static struct tables_usage usage_of(const struct mappings *all)
{
	struct tables *t;

	assert_int_equal(tables_new(&sizes, NULL, &t), 0);
	assert_int_equal(tables_set_process(t, (struct process_id){ getpid(), 1 }, 0, all), 0);
	struct tables_usage usage = tables_usage(t);
	tables_free(t);
	return usage;
}

static void a_recently_sampled_process_keeps_its_rows_in_a_full_table(void **state)
{
	struct mappings mappings = { 0 };
	struct tables *t;

	assert_int_equal(mappings_read(getpid(), true, &mappings), 0);
	const struct mapping *ours = mappings_find(&mappings, (u64)(uintptr_t)recurse);
	const struct mapping *libc = mappings_find(&mappings, (u64)(uintptr_t)printf);
	struct mappings first = { .at = (struct mapping *)ours, .nr = 1 },
			second = { .at = (struct mapping *)libc, .nr = 1 };
	struct tables_sizes full = sizes;
	full.nr_words = usage_of(&first).nr_rows + 8;
	assert_int_equal(tables_new(&full, NULL, &t), 0);
	assert_int_equal(tables_set_process(t, (struct process_id){ 1000, 1 }, 0, &first), 0);
	u32 nr_rows = tables_usage(t).nr_rows;
	for (int i = 0; i < 2; i++) { /* the second time without building the rows */
		u64 build_ns = tables_usage(t).build_ns;
		assert_int_equal(
			tables_set_process(t, (struct process_id){ 1001 + i, 1 }, 0, &second), 0);
		assert_int_equal(tables_range(t, tables_proc(t, 1001 + i)->first_range)->kind,
				 RANGE_NO_ROWS);
		assert_true(i == 0 || tables_usage(t).build_ns == build_ns);
	}
	assert_true(tables_has_process(t, (struct process_id){ 1000, 1 }));
	assert_int_equal(tables_usage(t).nr_rows, nr_rows);
	mappings_fini(&mappings);
	tables_free(t);
}

static void a_process_that_takes_most_of_the_ranges_is_refused(void **state)
{
	struct tables_sizes tiny = sizes;
	struct mappings mappings = { 0 };
	struct tables *t;

	assert_int_equal(mappings_read(getpid(), true, &mappings), 0);
	tiny.nr_ranges = (u32)mappings.nr;
	assert_int_equal(tables_new(&tiny, NULL, &t), 0);
	assert_int_equal(tables_set_process(t, (struct process_id){ getpid(), 1 }, 0, &mappings),
			 -ENOSPC);
	assert_false(tables_has_process(t, (struct process_id){ getpid(), 1 }));
	mappings_fini(&mappings);
	tables_free(t);
}

static void code_heaps_replace_the_mappings_in_them(void **state)
{
	const struct tables_sizes few = { .nr_words = 100, .nr_ranges = 16, .nr_jvms = 1 };
	struct mapping at[] = {
		{ .start = 0x1000, .end = 0x3000, .executable = true, .path = "" },
		{ .start = 0x5000, .end = 0x6000, .executable = true, .path = "" }
	};
	struct mappings mappings = { at, 2, 2 };
	struct hotspot_layout layout = { .nr_heaps = 1,
					 .heaps = { { 0x0, 0x4000, 0x9000, 7, 0 } } };
	struct tables *t;

	assert_int_equal(tables_new(&few, NULL, &t), 0);
	assert_int_equal(tables_set_process(t, (struct process_id){ 7, 1 }, 0, &mappings), 0);
	assert_int_equal(tables_set_jvm(t, 7, &layout), 0);
	const struct unwind_proc *p = tables_proc(t, 7);
	assert_int_equal(p->nr_ranges, 2);
	assert_int_equal(tables_range(t, p->first_range)->kind, RANGE_CODE_HEAP);
	assert_int_equal(tables_range(t, p->first_range)->end, 0x4000);
	assert_int_equal(tables_range(t, p->first_range + 1)->start, 0x5000);
	assert_int_equal(tables_set_jvm(t, 7, NULL), 0);
	assert_int_equal(tables_range(t, tables_proc(t, 7)->first_range)->start, 0x1000);
	tables_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recursion_of_known_depth_is_walked_to_the_root),
		cmocka_unit_test(a_walk_continues_from_a_signal_handler_into_the_interrupted_code),
		cmocka_unit_test(a_stack_larger_than_what_was_kept_of_it_is_cut_for_that_reason),
		cmocka_unit_test(memory_above_the_stack_of_a_thread_is_read),
		cmocka_unit_test(the_rest_of_a_kept_stack_is_not_read),
		cmocka_unit_test(two_processes_share_the_rows_of_a_file),
		cmocka_unit_test(a_file_out_of_reach_is_retried_with_the_next_process),
		cmocka_unit_test(a_full_table_evicts_another_process),
		cmocka_unit_test(a_recently_sampled_process_keeps_its_rows_in_a_full_table),
		cmocka_unit_test(a_process_that_takes_most_of_the_ranges_is_refused),
		cmocka_unit_test(code_heaps_replace_the_mappings_in_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
