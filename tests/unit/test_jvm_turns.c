/* SPDX-License-Identifier: Apache-2.0 */
/* Whose turn it is to be attached to. */
#include "sleeper.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "jvm/agent/entry_state.h"
#include "jvm/agent/turns.h"
#include "jvmmap/wire.h"

#define NOW (1000 * NS_PER_SEC)

static char running; /* stands for a child that runs */

struct world {
	struct agents a;
};

static void add(struct world *w, uid_t uid, bool has_no_vm)
{
	vec_push(&w->a.entries, (struct agents_entry){ .uid = uid,
						       .has_no_vm = has_no_vm,
						       .state = AGENT_PENDING });
}

/* Starts everybody whose turn it is, and returns their number. */
static u32 start_all(struct world *w)
{
	struct agents_entry *e;
	u32 nr = 0;

	for (; (e = turns_next(&w->a, NOW)); nr++)
		e->injection = (void *)&running;
	return nr;
}

static u32 nr_running(const struct world *w, uid_t uid)
{
	u32 nr = 0;

	vec_each(e, &w->a.entries)
		nr += e->injection && e->uid == uid;
	return nr;
}

static struct world make_world(void)
{
	return (struct world){ .a = { .began_ns = NOW } };
}

static void free_world(struct world *w)
{
	vec_each(u, &w->a.users)
		vec_fini(&u->waiting);
	vec_fini(&w->a.entries);
	vec_fini(&w->a.users);
}

static void a_user_holds_a_quarter_of_the_places(void **state)
{
	struct world w = make_world();

	for (int i = 0; i < 60; i++)
		add(&w, 65534, false);
	assert_int_equal(start_all(&w), 4);
	add(&w, 0, false);
	assert_int_equal(start_all(&w), 1);
	assert_int_equal(nr_running(&w, 0), 1);
	free_world(&w);
}

static void processes_without_a_vm_come_last_and_one_of_a_user_at_a_time(void **state)
{
	struct world w = make_world();

	for (int i = 0; i < 60; i++)
		add(&w, 65534, true);
	add(&w, 65534, false);
	assert_ptr_equal(turns_next(&w.a, NOW), &w.a.entries.at[60]);
	assert_int_equal(start_all(&w), 2);
	free_world(&w);
}

static void processes_that_failed_come_after_new_ones(void **state)
{
	struct world w = make_world();

	for (int i = 0; i < 3; i++)
		add(&w, 1000, false);
	w.a.entries.at[0].failures = 2;
	w.a.entries.at[1].failures = 1;
	assert_ptr_equal(turns_next(&w.a, NOW), &w.a.entries.at[2]);
	free_world(&w);
}

static void a_user_without_credit_gets_first_tries_only_and_one_at_a_time(void **state)
{
	struct world w = make_world();

	for (int i = 0; i < 8; i++)
		add(&w, 1000, false);
	w.a.entries.at[0].tries = 1;
	turns_charge(&w.a, &w.a.entries.at[0], 31 * NS_PER_SEC);
	assert_int_equal(start_all(&w), 1);
	assert_null(w.a.entries.at[0].injection);
	/* After ten seconds there is a second of credit again. */
	w.a.began_ns -= 20 * NS_PER_SEC;
	assert_int_equal(start_all(&w), 3);
	free_world(&w);
}

static void all_users_together_hold_all_places_at_most(void **state)
{
	struct world w = make_world();

	for (uid_t uid = 0; uid < 60; uid++)
		add(&w, uid, false);
	assert_int_equal(start_all(&w), 16);
	free_world(&w);
}

/* A page may come late: from a slow disk, or while much is swapped in. */
static void a_user_whose_memory_arrives_gets_agents_again(void **state)
{
	struct world w = make_world();
	pid_t left[8];

	add(&w, 1000, false);
	add(&w, 0, false);
	struct agents_entry *e = &w.a.entries.at[0], *of_root = &w.a.entries.at[1];
	for (size_t i = 0; i < ARRAY_SIZE(left); i++) {
		assert_false(turns_wait_for_memory(&w.a, e));
		left[i] = start_sleeper();
		turns_leave(&w.a, e, left[i]);
		turns_leave(&w.a, of_root, left[i]);
	}
	assert_true(turns_wait_for_memory(&w.a, e));
	assert_false(turns_wait_for_memory(&w.a, of_root));
	kill(left[3], SIGKILL);
	waitpid(left[3], NULL, 0);
	assert_false(turns_wait_for_memory(&w.a, e));
	left[3] = start_sleeper();
	turns_leave(&w.a, e, left[3]);
	assert_true(turns_wait_for_memory(&w.a, e));
	for (size_t i = 0; i < ARRAY_SIZE(left); i++) {
		kill(left[i], SIGKILL);
		waitpid(left[i], NULL, 0);
	}
	free_world(&w);
}

static void the_last_try_comes_after_places_of_killed_readers_are_free(void **state)
{
	const struct inject_result no_place = { .outcome = INJECT_RETRY };
	struct agents_entry e = { 0 };
	u64 waited_ns = 0;

	for (;;) {
		u64 now_ns = time_mono_ns();
		entry_fail(&e, &no_place);
		if (e.state != AGENT_PENDING)
			break;
		waited_ns += e.next_ns - now_ns;
	}
	assert_true(waited_ns > WIRE_CLAIM_SHORT_NS);
	free(e.reason);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_user_holds_a_quarter_of_the_places),
		cmocka_unit_test(processes_without_a_vm_come_last_and_one_of_a_user_at_a_time),
		cmocka_unit_test(processes_that_failed_come_after_new_ones),
		cmocka_unit_test(a_user_without_credit_gets_first_tries_only_and_one_at_a_time),
		cmocka_unit_test(all_users_together_hold_all_places_at_most),
		cmocka_unit_test(a_user_whose_memory_arrives_gets_agents_again),
		cmocka_unit_test(the_last_try_comes_after_places_of_killed_readers_are_free),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
