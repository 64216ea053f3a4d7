/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes get tables, and how often sysflame tries to build them. */
#include "test.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "capture/node_state.h"
#include "capture/unwind/unwinding.h"
#include "proc/open_request.h"
#include "proc/status.h"

#define RANGES 64 /* of the tables; a process may take half of them */
#define MOST   32

static struct mapping mappings[2 * RANGES];

static struct process make_process(size_t nr)
{
	for (size_t i = 0; i < ARRAY_SIZE(mappings); i++)
		mappings[i] = (struct mapping){ .start = 0x10000 * (i + 1),
						.end = 0x10000 * (i + 1) + 0x1000,
						.executable = true,
						.path = "" };
	return (struct process){ .id = { 1, 1 }, .mappings = { mappings, nr, nr } };
}

/* Takes a sample whose stack was kept, or one that BPF walked. */
static void take_sample(struct unwinding *u, struct process *p, bool is_kept)
{
	const struct sample unwalked = {
		.kind = is_kept ? RECORD_UNWALKED : RECORD_SAMPLE,
		.nr_user = (sizeof(struct unwalked) + sizeof(struct user_frame) - 1) /
			   sizeof(struct user_frame),
	};
	struct {
		struct sample head;
		struct unwalked kept;
	} sample = { .head = unwalked };

	assert_false(unwinding_must_wait(u, p, &sample.head));
	free(unwinding_walk(u, p, &sample.head));
}

static bool gets_tables(struct unwinding *u, struct process *p, size_t nr)
{
	p->mappings.nr = nr;
	take_sample(u, p, true);
	return tables_has_process(unwinding_tables(u), p->id);
}

static void a_process_that_is_too_large_is_not_retried_at_each_sample(void **state)
{
	const struct tables_sizes sizes = { .nr_words = 4096, .nr_ranges = RANGES, .nr_jvms = 1 };
	struct jvm_registry *jvms = jvm_registry_new();
	struct process p = make_process(MOST + 1);
	struct unwinding *u;

	assert_int_equal(unwinding_new(&sizes, NULL, jvms, &u), 0);
	assert_false(gets_tables(u, &p, MOST + 1));
	assert_false(gets_tables(u, &p, MOST)); /* would fit, but the change is too small */
	assert_true(gets_tables(u, &p, MOST / 2));
	unwinding_free(u);
	jvm_registry_free(jvms);
}

static void a_process_that_executes_another_program_is_retried(void **state)
{
	const struct tables_sizes sizes = { .nr_words = 4096, .nr_ranges = RANGES, .nr_jvms = 1 };
	struct jvm_registry *jvms = jvm_registry_new();
	struct process p = make_process(MOST + 1);
	struct unwinding *u;

	assert_int_equal(unwinding_new(&sizes, NULL, jvms, &u), 0);
	assert_false(gets_tables(u, &p, MOST + 1));
	unwinding_forget(u, &p);
	assert_true(gets_tables(u, &p, MOST));
	unwinding_free(u);
	jvm_registry_free(jvms);
}

/* A running program in `all`, of which only one mapping is known. */
static struct process *start_program(struct processes *all)
{
	const struct mapping m = {
		.start = 0x10000, .end = 0x11000, .executable = true, .path = ""
	};
	struct proc_status status;
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_int_equal(proc_status_read(pid, &status), 0);
	struct process *p = processes_get(all, proc_status_id(&status), "");
	process_exec(p, time_boot_ns());
	process_mmap(p, &m);
	return p;
}

static void end_program(const struct process *p)
{
	kill(p->id.pid, SIGKILL);
	waitpid(p->id.pid, NULL, 0);
}

static u32 nr_ranges(const struct unwinding *u, const struct process *p)
{
	const struct unwind_proc *proc = tables_proc(unwinding_tables(u), p->id.pid);

	return proc ? proc->nr_ranges : 0;
}

/* `are_read`: a sample was named in between, for which the mappings were read again. */
static void lose_events(bool are_read, bool is_kept)
{
	const struct tables_sizes sizes = { .nr_words = 1 << 22, .nr_ranges = 1024, .nr_jvms = 1 };
	struct jvm_registry *jvms = jvm_registry_new();
	struct processes *all = processes_new();
	struct process *p = start_program(all);
	struct unwinding *u;

	assert_int_equal(unwinding_new(&sizes, NULL, jvms, &u), 0);
	take_sample(u, p, true);
	assert_int_equal(nr_ranges(u, p), 1);
	processes_distrust(all);
	if (are_read)
		process_refresh(p);
	take_sample(u, p, is_kept);
	if (!is_kept)
		unwinding_update(u, all);
	assert_true(p->mappings.nr > 1);
	assert_int_equal(nr_ranges(u, p), p->mappings.nr);
	end_program(p);
	unwinding_free(u);
	processes_free(all);
	jvm_registry_free(jvms);
}

static void after_lost_events_tables_get_the_mappings_that_were_read_again(void **state)
{
	lose_events(false, true);
	lose_events(true, true);
	lose_events(false, false);
	lose_events(true, false);
}

static int start_silent(void *ctx, int sock, u64 *number)
{
	int *silent = ctx;

	*number = 1;
	*silent = dup(sock);
	return 0;
}

static void end_silent(void *ctx, u64 number)
{
	close(*(int *)ctx);
}

/* Whether the walk has rows for the code of the program itself. */
static bool has_rows(const struct unwinding *u, const struct process *p)
{
	const struct tables *t = unwinding_tables(u);
	const struct unwind_proc *proc = tables_proc(t, p->id.pid);

	for (u32 i = 0; proc && i < proc->nr_ranges; i++)
		if (tables_range(t, proc->first_range + i)->kind == RANGE_ROWS)
			return true;
	return false;
}

/* On a busy machine the opener has no CPU for a moment. */
static void files_that_do_not_open_for_a_moment_get_their_rows_later(void **state)
{
	const struct tables_sizes sizes = { .nr_words = 1 << 22, .nr_ranges = 1024, .nr_jvms = 1 };
	struct jvm_registry *jvms = jvm_registry_new();
	struct processes *all = processes_new();
	struct process *p = start_program(all);
	int silent;
	const struct open_requests_ops ops = { start_silent, end_silent, &silent };
	struct unwinding *u;

	assert_int_equal(unwinding_new(&sizes, NULL, jvms, &u), 0);
	processes_distrust(all);
	process_refresh(p);
	assert_int_equal(open_requests_begin(&ops), 0);
	unwinding_want(u, p);
	unwinding_update(u, all);
	assert_false(has_rows(u, p));
	open_requests_end(); /* now this process opens files itself */
	for (int i = 0; i < 100 && !has_rows(u, p); i++) {
		unwinding_update(u, all);
		usleep(100000); /* after three seconds it looks once a second */
	}
	assert_true(has_rows(u, p));
	end_program(p);
	unwinding_free(u);
	processes_free(all);
	jvm_registry_free(jvms);
}

static void lost_events_are_counted(void **state)
{
	struct node n = { .processes = processes_new() };
	const struct item item = { .kind = ITEM_SIDE,
				   .side = { .kind = SIDE_LOST, .nr_lost = 31 } };

	node_apply(&n, &item);
	node_apply(&n, &item);
	assert_int_equal(n.nr_side_lost, 2 * 31);
	processes_free(n.processes);
}

/* The node program's report of the exec is another way than that of the side band, which was full.
 */
static void an_exec_that_the_side_band_lost_ends_the_program(void **state)
{
	const struct tables_sizes sizes = { .nr_words = 1 << 22, .nr_ranges = 1024, .nr_jvms = 1 };
	struct node n = { .processes = processes_new(),
			  .jvms = jvm_registry_new(),
			  .requests = requests_new(),
			  .agents = agents_new("", AGENT_NEVER) };
	struct process *p = start_program(n.processes);
	struct process_record exec = { .kind = RECORD_EXEC,
				       .task = { .pid = (u32)p->id.pid },
				       .time_ns = time_mono_ns(),
				       .comm = "new" };
	const struct item lost = { .kind = ITEM_SIDE, .side = { .kind = SIDE_LOST, .nr_lost = 3 } },
			  item = { .kind = ITEM_PROCESS, .record = &exec };

	assert_int_equal(unwinding_new(&sizes, NULL, n.jvms, &n.unwinding), 0);
	p->has_side_exec = false; /* that of the program that runs was reported */
	p->is_jvm = true;
	u64 began = p->program_ns;
	node_apply(&n, &lost);
	node_apply(&n, &item);
	assert_int_equal(n.nr_side_lost, 3);
	assert_string_equal(p->comm, "new");
	assert_false(p->is_jvm);
	assert_false(p->has_side_exec);
	assert_true(p->program_ns > began);
	assert_int_equal(p->mappings.nr, 0);
	process_refresh(p);
	assert_true(p->mappings.nr > 1);
	end_program(p);
	unwinding_free(n.unwinding);
	requests_free(n.requests);
	agents_free(n.agents);
	jvm_registry_free(n.jvms);
	processes_free(n.processes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_that_is_too_large_is_not_retried_at_each_sample),
		cmocka_unit_test(a_process_that_executes_another_program_is_retried),
		cmocka_unit_test(after_lost_events_tables_get_the_mappings_that_were_read_again),
		cmocka_unit_test(files_that_do_not_open_for_a_moment_get_their_rows_later),
		cmocka_unit_test(lost_events_are_counted),
		cmocka_unit_test(an_exec_that_the_side_band_lost_ends_the_program),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
