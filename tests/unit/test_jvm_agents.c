/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions in a real JVM, as in a recording. Runs alone. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "capture/programs/node_programs.h"
#include "java.h"
#include "jvm/agent/agents.h"
#include "jvm/attach/inject.h"
#include "jvm/process/memfds.h"
#include "proc/status.h"

#define PATIENCE_NS (300 * NS_PER_SEC)

struct session {
	pid_t child, pid;
	struct proc_status status;
	struct agents *agents;
	struct agent_hooks hooks;
};

/* The absolute path of a file of the build; the caller frees it. */
static char *built(const char *name)
{
	auto_free char *path = xasprintf("%s/%s", getenv("O") ?: "build", name);
	char *absolute = realpath(path, NULL);

	assert_non_null(absolute);
	return absolute;
}

static struct process_id id_of(const struct session *s)
{
	return (struct process_id){ s->pid, s->status.start_ns };
}

/* Starts a JVM with an agent that reports `hooks`. */
static void begin_with(struct session *s, const char *args, const struct agent_hooks *hooks)
{
	auto_free char *path = built("libjvmmap.so");
	int ends[2];
	char ready;

	if (getenv("JDK"))
		skip_because("the JVM of another root is another test's");
	assert_int_equal(pipe(ends), 0);
	s->child = fork();
	if (s->child == 0)
		java_exec(ends[1], args);
	close(ends[1]);
	assert_int_equal(read(ends[0], &ready, 1), 1);
	close(ends[0]);
	s->pid = s->child;
	assert_int_equal(proc_status_read(s->pid, &s->status), 0);
	facts_provide(); /* an attach sends no signal without them */
	s->agents = agents_new(path, AGENT_ALWAYS);
	agents_request(s->agents, id_of(s), s->status.start_ns, hooks);
	u64 end = time_mono_ns() + PATIENCE_NS;
	while (agents_state(s->agents, id_of(s)) == AGENT_PENDING && time_mono_ns() < end) {
		agents_poll(s->agents);
		usleep(1000);
	}
	assert_int_equal(agents_state(s->agents, id_of(s)), AGENT_ATTACHED);
}

static void begin(struct session *s, const char *args)
{
	s->hooks = (struct agent_hooks){ .alloc_interval = 1 << 20, .lock_min_ns = NS_PER_MS };
	begin_with(s, args, &s->hooks);
}

static void end(struct session *s)
{
	agents_free(s->agents);
	java_end(s->child);
}

/* The agent does not report waits that began before that time, so it must not increase. */
static void the_agent_reports_since_its_session_began(void **state)
{
	struct session s;

	begin(&s, "Split");
	u64 since = agents_report_since(s.agents, id_of(&s), AGENT_HOOK_LOCK);
	assert_in_range(since, 1, time_mono_ns());
	agents_report_refs(s.agents, &s.hooks); /* a command, like a replay of all code */
	assert_int_equal(agents_report_since(s.agents, id_of(&s), AGENT_HOOK_LOCK), since);
	end(&s);
}

/* The next JVM with unreported events, or one without hooks. */
static u32 await_unserved(struct session *s)
{
	struct unserved_hooks u = { 0 };
	u64 end = time_mono_ns() + PATIENCE_NS;

	while (!agents_next_unserved(s->agents, &s->hooks, &u) && time_mono_ns() < end) {
		agents_poll(s->agents);
		usleep(1000);
	}
	return u.hooks;
}

/* Another agent has the allocations; then ours is detached. */
static void every_failed_hook_is_returned_once(void **state)
{
	auto_free char *path = built("libjvmmap.so");
	auto_free char *other = built("tests/programs/other_agent");
	auto_free char *args = xasprintf("-agentpath:%s Split", other);
	struct session s;
	struct unserved_hooks u;
	bool is_pending;

	begin(&s, args);
	assert_int_equal(await_unserved(&s), AGENT_HOOK_ALLOC);
	auto_free char *why = inject_detach_all(path, id_of(&s), &is_pending);
	assert_null(why);
	assert_int_equal(await_unserved(&s), AGENT_HOOK_LOCK);
	assert_false(agents_next_unserved(s.agents, &s.hooks, &u));
	end(&s);
}

static u64 since(const struct session *s, enum agent_hook hook)
{
	return agents_report_since(s->agents, id_of(s), hook);
}

static void await_hook(const struct session *s, enum agent_hook hook, bool is_wanted)
{
	u64 end = time_mono_ns() + PATIENCE_NS;

	while ((since(s, hook) != 0) != is_wanted) {
		assert_true(time_mono_ns() < end);
		agents_poll(s->agents);
		usleep(1000);
	}
}

/* One session reports for both callers; hooks come and go while it runs. */
static void callers_share_a_session(void **state)
{
	struct agent_hooks first = { .alloc_interval = 1 << 20 };
	struct agent_hooks second = { .alloc_interval = 1 << 16, .lock_min_ns = NS_PER_MS };
	struct session s;

	begin_with(&s, "Split", &first);
	u64 alloc_ns = since(&s, AGENT_HOOK_ALLOC);
	assert_true(alloc_ns > 0);
	assert_int_equal(since(&s, AGENT_HOOK_LOCK), 0);

	u64 asked_ns = time_mono_ns();
	agents_request(s.agents, id_of(&s), 0, &second);
	await_hook(&s, AGENT_HOOK_LOCK, true);
	assert_true(since(&s, AGENT_HOOK_LOCK) > asked_ns);
	assert_int_equal(since(&s, AGENT_HOOK_ALLOC), alloc_ns);
	assert_int_equal(memfds_count(s.pid), 1);

	agents_release(s.agents, &first);
	agents_release(s.agents, &second);
	await_hook(&s, AGENT_HOOK_ALLOC, false);
	assert_int_equal(since(&s, AGENT_HOOK_LOCK), 0);
	assert_int_equal(memfds_count(s.pid), 1);
	end(&s);
}

/* Somebody asks again after `sysflame jvms --detach`. */
static void a_new_caller_attaches_again(void **state)
{
	auto_free char *path = built("libjvmmap.so");
	struct agent_hooks again = { .lock_min_ns = NS_PER_MS };
	struct session s;
	bool is_pending;

	begin(&s, "Split");
	auto_free char *why = inject_detach_all(path, id_of(&s), &is_pending);
	assert_null(why);
	assert_int_equal(await_unserved(&s), AGENT_HOOK_ALLOC | AGENT_HOOK_LOCK);
	agents_request(s.agents, id_of(&s), 0, &again);
	await_hook(&s, AGENT_HOOK_LOCK, true);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_agent_reports_since_its_session_began),
		cmocka_unit_test(every_failed_hook_is_returned_once),
		cmocka_unit_test(callers_share_a_session),
		cmocka_unit_test(a_new_caller_attaches_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
