/* SPDX-License-Identifier: Apache-2.0 */
/* What several recordings want from one agent. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "jvm/agent/hook_requests.h"

static void the_finest_settings_are_wanted(void **state)
{
	struct agent_hooks h = { .alloc_interval = 1000, .methods = "a/B.run" };
	const struct agent_hooks other = {
		.alloc_interval = 200, .refs = true, .lock_min_ns = 5, .methods = "a/C.go,a/B.run"
	};

	assert_int_equal(agent_hooks_merge(&h, &other), 0);
	assert_int_equal(h.alloc_interval, 200);
	assert_int_equal(h.lock_min_ns, 5);
	assert_true(h.refs);
	assert_string_equal(h.methods, "a/B.run,a/C.go");
	assert_int_equal(agent_hooks_mask(&h),
			 AGENT_HOOK_ALLOC | AGENT_HOOK_LOCK | AGENT_HOOK_METHOD);
	assert_int_equal(agent_hooks_mask(&(struct agent_hooks){ 0 }), 0);
}

/* A name that begins like another one is another method. */
static void methods_are_compared_as_a_whole(void **state)
{
	struct agent_hooks h = { .methods = "a/B.runs" };

	agent_hooks_merge(&h, &(struct agent_hooks){ .methods = "a/B.run" });
	assert_string_equal(h.methods, "a/B.runs,a/B.run");
}

static void methods_that_do_not_fit_are_left_out(void **state)
{
	struct agent_hooks h = { 0 }, long_name = { 0 }, many = { 0 };

	for (int i = 0; i < 17; i++)
		snprintf(many.methods + strlen(many.methods),
			 sizeof(many.methods) - strlen(many.methods), "%sa/B.m%d", i ? "," : "", i);
	assert_int_equal(agent_hooks_merge(&h, &many), AGENT_HOOK_METHOD);
	assert_null(strstr(h.methods, "m16"));
	assert_non_null(strstr(h.methods, "m15"));

	h = (struct agent_hooks){ .methods = "a/B.run" };
	memset(long_name.methods, 'x', sizeof(long_name.methods) - 1);
	assert_int_equal(agent_hooks_merge(&h, &long_name), AGENT_HOOK_METHOD);
	assert_string_equal(h.methods, "a/B.run");
}

static void an_owner_without_room_is_the_only_one_to_know(void **state)
{
	struct agent_hooks first = { .methods = "a/B.run" }, second = { 0 };
	struct hook_requests q = { 0 };

	memset(second.methods, 'x', sizeof(second.methods) - 1);
	assert_true(hook_requests_add(&q, &first));
	assert_true(hook_requests_add(&q, &second));
	assert_false(hook_requests_add(&q, &second));
	assert_int_equal(hook_requests_find(&q, &first)->left_out, 0);
	assert_int_equal(hook_requests_find(&q, &second)->left_out, AGENT_HOOK_METHOD);
	hook_requests_remove(&q, &first);
	assert_int_equal(hook_requests_find(&q, &second)->left_out, 0);
	hook_requests_fini(&q);
}

static void times_of_reports_are_kept_until_they_end(void **state)
{
	struct agent_hooks alloc = { .alloc_interval = 1 }, lock = { .lock_min_ns = 1 };
	struct hook_requests q = { 0 };

	hook_requests_add(&q, &alloc);
	assert_true(hook_requests_wait(&q));
	hook_requests_send(&q);
	assert_false(hook_requests_wait(&q));
	hook_requests_succeed(&q, 10, 0);
	hook_requests_add(&q, &lock);
	assert_true(hook_requests_wait(&q));
	hook_requests_send(&q);
	hook_requests_succeed(&q, 20, 0);
	assert_int_equal(q.since_ns[0], 10);
	assert_int_equal(q.since_ns[1], 20);
	hook_requests_remove(&q, &alloc);
	hook_requests_send(&q);
	hook_requests_succeed(&q, 30, 0);
	assert_int_equal(q.since_ns[0], 0);
	assert_int_equal(q.since_ns[1], 20);
	hook_requests_fini(&q);
}

/* A JVM that does not report calls at first may do so after another command. */
static void an_event_that_was_left_out_begins_with_a_repeated_command(void **state)
{
	struct agent_hooks wanted = { .alloc_interval = 1, .methods = "a/B.run" };
	struct hook_requests q = { 0 };

	hook_requests_add(&q, &wanted);
	hook_requests_send(&q);
	hook_requests_succeed(&q, 10, AGENT_HOOK_METHOD);
	assert_int_equal(q.since_ns[0], 10);
	assert_int_equal(q.since_ns[2], 0);
	assert_false(hook_requests_wait(&q));
	hook_requests_repeat(&q);
	assert_true(hook_requests_wait(&q));
	hook_requests_send(&q);
	hook_requests_succeed(&q, 20, 0);
	assert_int_equal(q.since_ns[0], 10);
	assert_int_equal(q.since_ns[2], 20);
	hook_requests_fini(&q);
}

/* Also a command that turns events off: the agent may still report them. */
static void a_failed_command_is_tried_again_a_few_times(void **state)
{
	struct agent_hooks alloc = { .alloc_interval = 1 }, lock = { .lock_min_ns = 1 };
	struct hook_requests q = { 0 };
	int tries = 0;

	for (hook_requests_add(&q, &alloc); hook_requests_wait(&q); tries++) {
		assert_int_equal(hook_requests_failed(&q), 0);
		hook_requests_send(&q);
		hook_requests_fail(&q, NS_PER_SEC);
	}
	assert_int_equal(tries, 3);
	assert_true(q.next_ns > NS_PER_SEC);
	assert_int_equal(hook_requests_failed(&q), AGENT_HOOK_ALLOC);
	hook_requests_add(&q, &lock);
	assert_true(hook_requests_wait(&q));
	hook_requests_remove(&q, &alloc);
	hook_requests_remove(&q, &lock);
	assert_true(hook_requests_wait(&q));
	hook_requests_fini(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_finest_settings_are_wanted),
		cmocka_unit_test(methods_are_compared_as_a_whole),
		cmocka_unit_test(methods_that_do_not_fit_are_left_out),
		cmocka_unit_test(an_owner_without_room_is_the_only_one_to_know),
		cmocka_unit_test(times_of_reports_are_kept_until_they_end),
		cmocka_unit_test(an_event_that_was_left_out_begins_with_a_repeated_command),
		cmocka_unit_test(a_failed_command_is_tried_again_a_few_times),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
