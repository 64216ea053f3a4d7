/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's end of the ring against the reader's. */
#include "test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "base/types.h"
#include "jvm/agent/agent_ring.h"
#include "jvm/process/memfds.h"

/*
 * The agent has its own versions of functions that its compiler calls, and uses kernel headers
 * where the C library has others.
 */
#define _LINUX_TIME_H
#include <linux/time_types.h>
#define memcpy agent_memcpy
#define memset agent_memset
#include "jvmmap/session.c"
#include "jvmmap/sys.c"
#undef memcpy
#undef memset

#define NR_EVENTS 2000003u
#define CODE      0x7f0000000000ull

static const char nonce[] = "00112233445566778899aabbccddeeff";

struct world {
	struct session *agent;
	struct agent_ring *reader;
	struct codemap *map;
	int fd;
};

/* As in a recording, the reader has no lock before the attach is complete. */
static struct world make_unclaimed_world(void)
{
	struct world w = { session_open(nonce), NULL, codemap_new(), -1 };

	assert_non_null(w.agent);
	w.fd = memfds_open(getpid(), nonce);
	assert_int_equal(memfds_version(w.fd), WIRE_ABI);
	assert_int_equal(agent_ring_open(dup(w.fd), nonce, 0, w.map, &w.reader), 0);
	w.agent->header->state = WIRE_LIVE;
	return w;
}

static struct world make_world(void)
{
	struct world w = make_unclaimed_world();

	memfds_claim(w.fd);
	return w;
}

static void free_world(struct world *w)
{
	session_close(w->agent);
	agent_ring_close(w->reader);
	codemap_free(w->map);
	close(w->fd);
}

/* The address of piece `i` of code; the map has room for all addresses. */
static u64 place(u32 i)
{
	return CODE + (u64)(i % 1009) * 64;
}

static void *write_events(void *arg)
{
	struct session *s = arg;

	for (u32 i = 0; i < NR_EVENTS; i++)
		session_code(s, 1000 + i, place(i), 64, i & 1 ? "odd" : "even");
	return NULL;
}

/* A single call reads for only some milliseconds. */
static void read_all(struct world *w)
{
	while (agent_ring_bytes(w->reader) < w->agent->head)
		assert_int_equal(agent_ring_read(w->reader), RING_LIVE);
}

/* Twenty times the ring's size: nothing blocks or grows, and every missing event is counted. */
static void two_million_events_at_once_are_read_or_counted(void **state)
{
	struct world w = make_world();
	pthread_t writer;
	struct stat st;

	assert_int_equal(pthread_create(&writer, NULL, write_events, w.agent), 0);
	do {
		assert_int_equal(agent_ring_read(w.reader), RING_LIVE);
		usleep(50000);
	} while (pthread_tryjoin_np(writer, NULL));
	assert_int_equal(fstat(w.fd, &st), 0);
	assert_true(st.st_blocks * 512 <= WIRE_HEADER_BYTES + WIRE_RING_BYTES);
	read_all(&w);
	/* The next record that fits reports the number of missing ones. */
	session_mark(w.agent, WIRE_REPLAY_BEGIN, 3000000);
	session_code(w.agent, 0, CODE, 64, "even");
	session_mark(w.agent, WIRE_REPLAY_END, 3000001);
	read_all(&w);
	assert_int_equal(agent_ring_nr_lost(w.reader), w.agent->header->lost);
	assert_false(agent_ring_is_dirty(w.reader));
	free_world(&w);
}

/* The kernel does not map the ring in the child, and the agent must not access it there. */
static void a_fork_has_no_session(void **state)
{
	struct world w = make_world();
	int status = -1;

	assert_true(session_is_wanted(w.agent, w.agent->heartbeat_ns));
	pid_t child = fork();
	if (child == 0)
		_exit(session_is_wanted(w.agent, w.agent->heartbeat_ns) ? 1 : 7);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	free_world(&w);
}

static void a_session_ends_on_stop_or_after_a_silent_minute(void **state)
{
	struct world w = make_world();
	u64 now = w.agent->heartbeat_ns;

	assert_true(session_is_wanted(w.agent, now + WIRE_READER_TIMEOUT_NS - 1));
	assert_false(session_is_wanted(w.agent, now + WIRE_READER_TIMEOUT_NS));
	agent_ring_read(w.reader);
	assert_true(session_is_wanted(w.agent, now + WIRE_READER_TIMEOUT_NS));
	memfds_stop(getpid(), nonce);
	assert_false(session_is_wanted(w.agent, now + WIRE_READER_TIMEOUT_NS));
	free_world(&w);
}

/* The time is an argument: this tests the agent's behaviour after 30 minutes. */
static void half_an_hour_without_a_reader_ends_a_session_as_a_minute_does(void **state)
{
	const u64 half_an_hour = 30 * WIRE_READER_TIMEOUT_NS;
	struct world w = make_world();
	u64 now = w.agent->heartbeat_ns, start = now;

	while ((now += WIRE_READER_TIMEOUT_NS - 1) < start + half_an_hour) {
		agent_ring_read(w.reader);
		assert_true(session_is_wanted(w.agent, now));
	}
	assert_false(session_is_wanted(w.agent, now + half_an_hour));
	free_world(&w);
}

static void a_session_that_nobody_ever_reads_ends_after_twenty_seconds(void **state)
{
	struct world w = make_unclaimed_world();
	u64 now = w.agent->heartbeat_ns;

	assert_true(session_is_wanted(w.agent, now + WIRE_CLAIM_TIMEOUT_NS - 1));
	assert_false(session_is_wanted(w.agent, now + WIRE_CLAIM_TIMEOUT_NS));
	agent_ring_read(w.reader); /* an older reader, which locks nothing */
	assert_true(session_is_wanted(w.agent, now + WIRE_CLAIM_TIMEOUT_NS));
	assert_true(session_is_wanted(w.agent, now + 2 * WIRE_CLAIM_TIMEOUT_NS));
	free_world(&w);
}

static void a_session_that_nobody_reads_makes_room_for_others_after_four_seconds(void **state)
{
	struct world w = make_unclaimed_world();
	u64 now = w.agent->heartbeat_ns;

	session_press(w.agent);
	assert_true(session_is_wanted(w.agent, now + WIRE_CLAIM_SHORT_NS - 1));
	assert_false(session_is_wanted(w.agent, now + WIRE_CLAIM_SHORT_NS));
	memfds_claim(w.fd);
	assert_true(session_is_wanted(w.agent, now + WIRE_CLAIM_SHORT_NS));
	free_world(&w);
}

/* The reader's end in another open file, as in another process. */
static void a_session_ends_when_the_kernel_takes_the_readers_lock_away(void **state)
{
	struct world w = make_unclaimed_world();
	u64 now = w.agent->heartbeat_ns;
	int reader = memfds_open(getpid(), nonce);

	memfds_claim(reader);
	assert_true(session_is_wanted(w.agent, now + 2 * NS_PER_SEC));
	close(reader);
	assert_true(session_is_wanted(w.agent, now + 2 * NS_PER_SEC)); /* tested a moment ago */
	assert_false(session_is_wanted(w.agent, now + 3 * NS_PER_SEC));
	/* Also for who asks a moment later. */
	assert_false(session_is_wanted(w.agent, now + 3 * NS_PER_SEC + 1));
	free_world(&w);
}

static void a_new_reader_tests_the_locks_of_the_others_at_once(void **state)
{
	struct world w = make_unclaimed_world();
	u64 now = w.agent->heartbeat_ns;
	int reader = memfds_open(getpid(), nonce);

	memfds_claim(reader);
	assert_true(session_is_wanted(w.agent, now + 2 * NS_PER_SEC));
	close(reader);
	session_suspect(w.agent);
	assert_false(session_is_wanted(w.agent, now + 2 * NS_PER_SEC));
	free_world(&w);
}

/* A sample gets its class's name in no other way; code can be reported again. */
static void a_ring_full_of_code_has_room_for_classes(void **state)
{
	struct world w = make_world();
	u64 hash = session_hash("LGuard;");

	for (u32 i = 0; session_code(w.agent, 1000 + i, place(i), 64, "stub"); i++)
		;
	assert_true(session_class(w.agent, hash, "LGuard;"));
	read_all(&w);
	assert_string_equal(codemap_find_class(w.map, hash), "Guard");
	assert_int_equal(agent_ring_nr_lost(w.reader), 1);
	free_world(&w);
}

/* The JVM may be hostile. */
static void a_name_in_the_header_is_cut_and_cleaned(void **state)
{
	struct world w = make_world();
	struct wire_header *h = w.agent->header;

	memset(h->running, 'x', sizeof(h->running));
	memcpy(h->running, "a/B\n", 4);
	memset(h->pad0, 'y', sizeof(h->pad0));
	h->hook_states[WIRE_HOOK_METHOD] = -WIRE_ERROR_RUNNING;
	char *why = agent_ring_hook_failure(w.reader, ~0u, "");
	assert_memory_equal(why, "a.B\xef\xbf\xbdxx", 8);
	assert_null(strchr(why, '\n'));
	assert_null(strstr(why, "yyy"));
	free(why);
	free_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_in_the_header_is_cut_and_cleaned),
		cmocka_unit_test(a_ring_full_of_code_has_room_for_classes),
		cmocka_unit_test(two_million_events_at_once_are_read_or_counted),
		cmocka_unit_test(a_fork_has_no_session),
		cmocka_unit_test(a_session_ends_on_stop_or_after_a_silent_minute),
		cmocka_unit_test(a_session_that_nobody_ever_reads_ends_after_twenty_seconds),
		cmocka_unit_test(
			a_session_that_nobody_reads_makes_room_for_others_after_four_seconds),
		cmocka_unit_test(a_session_ends_when_the_kernel_takes_the_readers_lock_away),
		cmocka_unit_test(a_new_reader_tests_the_locks_of_the_others_at_once),
		cmocka_unit_test(half_an_hour_without_a_reader_ends_a_session_as_a_minute_does),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
