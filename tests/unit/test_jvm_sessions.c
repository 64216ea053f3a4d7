/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions whose JVM and agent are played by a child process and a buffer. */
#include "sleeper.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "jvm/agent/agents_entry.h"
#include "jvm/agent/budget.h"
#include "jvmmap/wire.h"
#include "jvmmap/wire_records.h"

#define BYTES (WIRE_HEADER_BYTES + WIRE_RING_BYTES)

static const char nonce[] = "00112233445566778899aabbccddeeff";

struct world {
	struct agents *agents;
	struct agents_entry *entry; /* the only one */
	struct process_id id;
	struct agent_hooks hooks; /* which the agent reports */
	struct wire_header *header;
	int fd;
};

static struct process_id start_process(void)
{
	struct proc_status status;
	pid_t child = start_sleeper();

	assert_int_equal(proc_status_read(child, &status), 0);
	return proc_status_id(&status);
}

static void end_process(struct process_id id)
{
	kill(id.pid, SIGKILL);
	waitpid(id.pid, NULL, 0);
}

static void make_ring(struct world *w)
{
	w->fd = memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(w->fd, BYTES), 0);
	assert_int_equal(fcntl(w->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	w->header = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);
	assert_ptr_not_equal(w->header, MAP_FAILED);
	w->header->magic = WIRE_MAGIC;
	w->header->abi = WIRE_ABI;
	w->header->ring_bytes = WIRE_RING_BYTES;
	w->header->state = WIRE_LIVE;
	memcpy(w->header->nonce, nonce, sizeof(nonce));
}

/* As after an attach: the agent reports the events in `hooks`. */
static void open_session(struct world *w)
{
	struct agents_entry *e = w->entry;

	e->state = AGENT_ATTACHED;
	strcpy(e->nonce, nonce);
	codemap_free(e->map);
	e->map = codemap_new();
	e->threads = e->threads ?: thread_names_new();
	assert_int_equal(agent_ring_open(dup(w->fd), nonce, 0, e->map, &e->ring), 0);
	hook_requests_send(&e->hooks);
	hook_requests_succeed(&e->hooks, time_mono_ns(), 0);
}

static void close_session(struct world *w)
{
	agent_ring_close(w->entry->ring);
	w->entry->ring = NULL;
}

static int make_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	*state = w;
	w->hooks = (struct agent_hooks){ .alloc_interval = 1 << 20, .refs = true };
	w->agents = agents_new(NULL, AGENT_AUTO);
	w->id = start_process();
	make_ring(w);
	agents_request(w->agents, w->id, 0, &w->hooks);
	w->entry = agents_find(w->agents, w->id);
	open_session(w);
	return 0;
}

static int end_world(void **state)
{
	struct world *w = *state;

	close_session(w);
	agents_free(w->agents);
	munmap(w->header, BYTES);
	close(w->fd);
	end_process(w->id);
	free(w);
	return 0;
}

/* No process can be started: there are no more files for its socket. */
static struct rlimit forbid_files(void)
{
	struct rlimit old, none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){ 0, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	return old;
}

static void allow_files(const struct rlimit *old)
{
	assert_int_equal(setrlimit(RLIMIT_NOFILE, old), 0);
}

/* The time has come for everything but a look at whether the process still runs. */
static void poll_without_files(struct world *w)
{
	w->agents->looked_ns = time_mono_ns();
	w->entry->hooks.next_ns = 0;
	struct rlimit old = forbid_files();
	agents_poll(w->agents);
	allow_files(&old);
}

static void events_whose_command_cannot_be_sent_are_not_served(void **state)
{
	struct world *w = *state;
	struct agent_hooks second = { .lock_min_ns = NS_PER_MS };
	struct unserved_hooks u;

	agents_request(w->agents, w->id, 0, &second);
	for (int tries = 0; tries < 3; tries++) {
		assert_true(hook_requests_wait(&w->entry->hooks));
		assert_false(agents_next_unserved(w->agents, &second, &u));
		poll_without_files(w);
		assert_true(w->entry->hooks.next_ns > time_mono_ns());
	}
	assert_true(agents_next_unserved(w->agents, &second, &u));
	assert_int_equal(u.hooks, AGENT_HOOK_LOCK);
	assert_non_null(strstr(u.reason, "its agent cannot be asked for other events: cannot "
					 "start a process"));
	assert_false(agents_next_unserved(w->agents, &w->hooks, &u));
	agents_release(w->agents, &second);
}

static void reachable_objects_are_unknown_if_the_command_cannot_be_sent(void **state)
{
	struct world *w = *state;

	struct rlimit old = forbid_files();
	agents_report_refs(w->agents, &w->hooks);
	allow_files(&old);
	assert_false(agents_owe_refs(w->agents, &w->hooks));
	assert_non_null(w->entry->reason);
	assert_non_null(strstr(w->entry->reason, "its reachable objects are unknown: "));
}

/* As after a detach, and an attach for another caller. */
static void events_that_are_served_again_are_returned_once(void **state)
{
	struct world *w = *state;
	struct unserved_hooks u;
	struct process_id id = { 0 };

	assert_int_equal(agents_next_served(w->agents, &w->hooks, &id), 0);
	close_session(w);
	assert_true(agents_next_unserved(w->agents, &w->hooks, &u));
	assert_int_equal(u.hooks, AGENT_HOOK_ALLOC);
	assert_int_equal(agents_next_served(w->agents, &w->hooks, &id), 0);
	hook_requests_reset(&w->entry->hooks);
	open_session(w);
	assert_int_equal(agents_next_served(w->agents, &w->hooks, &id), AGENT_HOOK_ALLOC);
	assert_int_equal(id.pid, w->id.pid);
	assert_int_equal(agents_next_served(w->agents, &w->hooks, &id), 0);
	assert_false(agents_next_unserved(w->agents, &w->hooks, &u));
	close_session(w);
	assert_true(agents_next_unserved(w->agents, &w->hooks, &u));
	assert_int_equal(u.hooks, AGENT_HOOK_ALLOC);
}

static char *put_number(char *at, u64 number)
{
	for (; number >= 0x80; number >>= 7)
		*at++ = (char)(number | 0x80);
	*at++ = (char)number;
	return at;
}

/* Writes a text of WIRE_STRING_MAX bytes into that slot. */
static void put_text(struct world *w, u32 slot)
{
	char record[WIRE_RECORD_MAX], body[8], *records = (char *)w->header + WIRE_HEADER_BYTES;
	size_t head = (size_t)(put_number(body, slot) - body);
	char *end = put_number(record + 1, head + WIRE_STRING_MAX);

	record[0] = WIRE_STRING;
	memcpy(end, body, head);
	memset(end + head, 'x', WIRE_STRING_MAX);
	end += head + WIRE_STRING_MAX;
	for (char *at = record; at < end; at++)
		records[w->header->head++ % WIRE_RING_BYTES] = *at;
}

/* The agent may send 32 MB of them. */
static void texts_count_in_the_users_budget(void **state)
{
	struct world *w = *state;
	struct agents_entry *e = w->entry;

	poll_without_files(w);
	u64 empty = w->agents->users.at[0].bytes;
	assert_true(empty > agent_ring_held_bytes(e->ring));
	for (u32 slot = 0; slot < 512; slot++)
		put_text(w, slot);
	while (!agent_ring_is_drained(e->ring))
		poll_without_files(w);
	assert_true(w->agents->users.at[0].bytes > empty + 512 * WIRE_STRING_MAX);
	/* Others of the user have taken the rest. */
	budget_begin(w->agents);
	w->agents->users.at[0].bytes = AGENTS_BYTES;
	assert_true(budget_allow(w->agents, e));
	size_t full = agent_ring_held_bytes(e->ring);
	for (u32 slot = 512; slot < 600; slot++)
		put_text(w, slot);
	while (!agent_ring_is_drained(e->ring))
		agent_ring_read(e->ring);
	assert_int_equal(agent_ring_held_bytes(e->ring), full);
	assert_int_equal(agent_ring_nr_left_out(e->ring), 600 - 512);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, make_world, end_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(events_whose_command_cannot_be_sent_are_not_served),
		TEST(reachable_objects_are_unknown_if_the_command_cannot_be_sent),
		TEST(texts_count_in_the_users_budget),
		TEST(events_that_are_served_again_are_returned_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
