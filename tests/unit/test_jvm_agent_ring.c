/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time.h"
#include "base/types.h"
#include "jvm/agent/agent_ring.h"
#include "jvm/agent/agents_entry.h"
#include "jvmmap/wire.h"
#include "jvmmap/wire_records.h"

#define BYTES (WIRE_HEADER_BYTES + WIRE_RING_BYTES)
#define CODE  0x7f0000000000ull

static const char nonce[] = "00112233445566778899aabbccddeeff";

/* The agent's side of a ring. */
struct writer {
	int fd;
	struct wire_header *header;
	u8 *records;
	u64 code_end; /* base value of the next address */
};

static int make_memfd(u64 size, int seals)
{
	int fd = memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static struct writer make_ring(void)
{
	struct writer w = { .fd = make_memfd(BYTES, F_SEAL_SHRINK | F_SEAL_GROW) };
	u8 *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, w.fd, 0);

	w.header = (struct wire_header *)at;
	w.records = at + WIRE_HEADER_BYTES;
	w.header->magic = WIRE_MAGIC;
	w.header->abi = WIRE_ABI;
	w.header->ring_bytes = WIRE_RING_BYTES;
	memcpy(w.header->nonce, nonce, sizeof(nonce));
	return w;
}

static void free_ring(struct writer *w)
{
	munmap(w->header, BYTES);
	close(w->fd);
}

/* Writes bytes as the agent would, across the end of the ring. */
static void put(struct writer *w, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		w->records[(w->header->head + i) % WIRE_RING_BYTES] = ((const u8 *)bytes)[i];
	w->header->head += len;
}

/* Writes a record of 14 bytes for a piece of code at CODE. */
static void put_string(struct writer *w, const char text[10])
{
	const u8 head[] = { WIRE_STRING, 12, 0x81, 0x01 };

	put(w, head, sizeof(head));
	put(w, text, 10);
}

/* A zigzag varint that always has eight bytes. */
static void step(u8 *at, s64 n)
{
	u64 value = n < 0 ? 2 * (u64)-n - 1 : 2 * (u64)n;

	for (int i = 0; i < 8; i++)
		at[i] = (u8)(value >> 7 * i & 0x7f) | (i < 7 ? 0x80 : 0);
}

static void put_code(struct writer *w)
{
	/* time 0, address CODE, size 64, string slot 129 */
	u8 code[] = { WIRE_CODE, 12, 0, [11] = 64, 0x81, 0x01 };

	step(code + 3, (s64)(CODE - w->code_end));
	w->code_end = CODE + 64;
	put(w, code, sizeof(code));
}

static struct agent_ring *open_ring(const struct writer *w, struct codemap *map)
{
	struct agent_ring *ring;

	assert_int_equal(agent_ring_open(dup(w->fd), nonce, 0, map, &ring), 0);
	return ring;
}

static void records_of_the_agent_are_read(void **state)
{
	struct codemap *map = codemap_new();
	struct writer w = make_ring();
	struct agent_ring *ring = open_ring(&w, map);
	struct java_frame out;

	assert_int_equal(agent_ring_read(ring), RING_STARTING);
	put_string(&w, "call_stub1");
	put_code(&w);
	w.header->state = WIRE_LIVE;
	assert_int_equal(agent_ring_read(ring), RING_LIVE);
	assert_int_equal(agent_ring_bytes(ring), 28);
	assert_int_equal(codemap_find(map, CODE, 5, 0, &out, 1), 1);
	assert_string_equal(out.method, "call_stub1");
	assert_int_equal(out.kind, FRAME_STUB);
	agent_ring_close(ring);
	codemap_free(map);
	free_ring(&w);
}

/* Reads four times its size. Read pages go back to the kernel before the agent may reuse them. */
static void a_ring_is_read_past_its_end(void **state)
{
	struct codemap *map = codemap_new();
	struct writer w = make_ring();
	struct agent_ring *ring = open_ring(&w, map);
	struct stat st;

	w.header->state = WIRE_LIVE;
	while (w.header->head < 4ull * WIRE_RING_BYTES) {
		for (int i = 0; i < 10007; i++) {
			put_string(&w, "0123456789");
			put_code(&w);
		}
		while (agent_ring_bytes(ring) < w.header->head)
			assert_int_equal(agent_ring_read(ring), RING_LIVE);
		assert_true(w.header->head - w.header->tail < 128 << 10);
		assert_int_equal(w.header->tail % 4096, 0);
		assert_int_equal(fstat(w.fd, &st), 0);
		assert_true(st.st_blocks * 512 < 512 << 10);
	}
	agent_ring_close(ring);
	codemap_free(map);
	free_ring(&w);
}

static void the_reader_signals_life_and_stop(void **state)
{
	struct codemap *map = codemap_new();
	struct writer w = make_ring();
	struct agent_ring *ring = open_ring(&w, map);
	u32 beat = w.header->heartbeat;

	agent_ring_read(ring);
	assert_int_not_equal(w.header->heartbeat, beat);
	assert_int_equal(w.header->stop, 0);
	agent_ring_stop(ring);
	assert_int_not_equal(w.header->stop, 0);
	w.header->state = WIRE_STOPPED;
	assert_int_equal(agent_ring_read(ring), RING_STOPPED);
	agent_ring_close(ring);
	codemap_free(map);
	free_ring(&w);
}

static void a_failure_in_the_jvm_is_reported(void **state)
{
	struct codemap *map = codemap_new();
	struct writer w = make_ring();
	struct agent_ring *ring = open_ring(&w, map);

	w.header->state = WIRE_FAILED;
	w.header->failed_step = WIRE_STEP_CAPABILITY;
	w.header->error = 98;
	assert_int_equal(agent_ring_read(ring), RING_FAILED);
	char *why = agent_ring_failure(ring);
	assert_string_equal(why, "the JVM refused it the events of compiled methods (error 98)");
	free(why);
	w.header->failed_step = 77;
	assert_false(agent_ring_was_early(ring));
	why = agent_ring_failure(ring);
	assert_string_equal(why, "unknown step (error 98)");
	free(why);
	w.header->failed_step = WIRE_STEP_GET_ENV;
	w.header->error = -2 /* JNI_EDETACHED */;
	assert_true(agent_ring_was_early(ring));
	agent_ring_close(ring);
	codemap_free(map);
	free_ring(&w);
}

/* As the agent does for the method in that place of the list. */
static void fail_method(struct writer *w, int place, const char *method, s32 state)
{
	w->header->method_failures[place] =
		(struct wire_method_failure){ wire_method_number(method, strlen(method)), state };
	w->header->names_failures = 1;
	w->header->hook_states[WIRE_HOOK_METHOD] = state;
}

static void a_failed_method_fails_only_for_those_who_want_it(void **state)
{
	struct codemap *map = codemap_new();
	struct writer w = make_ring();
	struct agent_ring *ring = open_ring(&w, map);

	fail_method(&w, 0, "a/Missing.go", -21);
	fail_method(&w, 1, "a/B.none:5", -23);
	assert_int_equal(agent_ring_failed_hooks(ring, "a/B.run,a/B.none"), 0);
	assert_null(agent_ring_hook_failure(ring, ~0u, "a/B.run,a/B.none"));
	assert_int_equal(agent_ring_failed_hooks(ring, "a/B.run,a/Missing.go"), AGENT_HOOK_METHOD);
	char *why = agent_ring_hook_failure(ring, ~0u, "a/B.run,a/B.none:5");
	assert_non_null(strstr(why, "has no such method"));
	free(why);
	assert_null(agent_ring_hook_failure(ring, AGENT_HOOK_LOCK, "a/B.none:5"));
	agent_ring_close(ring);
	codemap_free(map);
	free_ring(&w);
}

static void of_an_older_agent_any_method_may_have_failed(void **state)
{
	struct codemap *map = codemap_new();
	struct writer w = make_ring();
	struct agent_ring *ring = open_ring(&w, map);

	w.header->hook_states[WIRE_HOOK_METHOD] = -21;
	assert_int_equal(agent_ring_failed_hooks(ring, "a/B.run"), AGENT_HOOK_METHOD);
	agent_ring_close(ring);
	codemap_free(map);
	free_ring(&w);
}

/* Two recordings share the session. */
static void a_recording_gets_the_reason_of_its_own_method(void **state)
{
	const struct agent_hooks first = { .methods = "a/B.run" },
				 second = { .methods = "a/Missing.go" };
	struct codemap *map = codemap_new();
	struct writer w = make_ring();
	struct agents a = { 0 };
	struct unserved_hooks u;

	vec_push(&a.entries, (struct agents_entry){ .state = AGENT_ATTACHED });
	struct agents_entry *e = &a.entries.at[0];
	e->ring = open_ring(&w, map);
	e->reason = strdup("the reason for something else");
	hook_requests_add(&e->hooks, &first);
	hook_requests_add(&e->hooks, &second);
	fail_method(&w, 0, "a/Missing.go", -21);
	assert_false(agents_next_unserved(&a, &first, &u));
	assert_true(agents_next_unserved(&a, &second, &u));
	assert_int_equal(u.hooks, AGENT_HOOK_METHOD);
	assert_string_equal(u.reason, "it has not loaded the class; record when it has");
	assert_false(agents_next_unserved(&a, &second, &u));
	hook_requests_fini(&e->hooks);
	free(e->reason);
	agent_ring_close(e->ring);
	vec_fini(&a.entries);
	codemap_free(map);
	free_ring(&w);
}

/* A JVM for musl, which has loaded a copy of the agent. */
static void an_agent_that_takes_no_command_is_not_sent_any(void **state)
{
	static const u8 lost[] = { WIRE_LOST, 1, 5 };
	const struct agent_hooks calls = { .methods = "a/B.run" };
	struct agents *a = agents_new("/nonexistent", AGENT_ALWAYS);
	struct writer w = make_ring();
	struct unserved_hooks u;
	struct proc_status self;

	assert_int_equal(proc_status_read(getpid(), &self), 0);
	vec_push(&a->entries, (struct agents_entry){ .id = proc_status_id(&self) });
	struct agents_entry *e = &a->entries.at[0];
	e->state = AGENT_ATTACHED;
	e->takes_no_command = true;
	e->hooks.is_sent = true;
	e->map = codemap_new();
	e->threads = thread_names_new();
	e->ring = open_ring(&w, e->map);
	w.header->state = WIRE_LIVE;
	put(&w, lost, sizeof(lost));
	agents_poll(a);
	assert_true(agent_ring_is_dirty(e->ring));
	assert_null(e->injection);
	hook_requests_add(&e->hooks, &calls);
	assert_true(agents_next_unserved(a, &calls, &u));
	assert_int_equal(u.hooks, AGENT_HOOK_METHOD);
	assert_string_equal(u.reason, INJECT_NO_COMMAND);
	agent_ring_close(e->ring);
	e->ring = NULL;
	agents_free(a);
	free_ring(&w);
}

static void an_impossible_head_breaks_the_ring(void **state)
{
	struct codemap *map = codemap_new();
	struct writer w = make_ring();
	struct agent_ring *ring = open_ring(&w, map);

	w.header->state = WIRE_LIVE;
	w.header->head = WIRE_RING_BYTES + 1ull;
	assert_int_equal(agent_ring_read(ring), RING_BROKEN);
	w.header->head = 0;
	assert_int_equal(agent_ring_read(ring), RING_BROKEN);
	agent_ring_close(ring);
	codemap_free(map);
	free_ring(&w);
}

static void a_file_that_can_shrink_is_refused(void **state)
{
	struct agent_ring *ring;
	struct codemap *map = codemap_new();

	assert_int_equal(agent_ring_open(make_memfd(BYTES, F_SEAL_GROW), nonce, 0, map, &ring),
			 -EBADMSG);
	assert_int_equal(agent_ring_open(make_memfd(4096, F_SEAL_GROW | F_SEAL_SHRINK), nonce, 0,
					 map, &ring),
			 -EBADMSG);
	assert_int_equal(agent_ring_open(open("/dev/zero", O_RDWR), nonce, 0, map, &ring),
			 -EBADMSG);
	assert_int_equal(agent_ring_open(-1, nonce, 0, map, &ring), -EBADMSG);
	codemap_free(map);
}

static void a_ring_with_another_nonce_is_refused(void **state)
{
	struct codemap *map = codemap_new();
	struct writer w = make_ring();
	struct agent_ring *ring;

	w.header->nonce[31] = '0';
	assert_int_equal(agent_ring_open(dup(w.fd), nonce, 0, map, &ring), -EBADMSG);
	w.header->nonce[31] = 'f';
	w.header->abi = WIRE_ABI + 1;
	assert_int_equal(agent_ring_open(dup(w.fd), nonce, 0, map, &ring), -EBADMSG);
	codemap_free(map);
	free_ring(&w);
}

/* One call reads only a part of a full ring: the records after it are unread. */
static void the_time_of_a_complete_read_is_known(void **state)
{
	struct codemap *map = codemap_new();
	struct writer w = make_ring();
	struct agent_ring *ring = open_ring(&w, map);
	u64 before = time_mono_ns();

	assert_int_equal(agent_ring_read_until(ring), 0);
	agent_ring_read(ring);
	assert_true(agent_ring_read_until(ring) >= before);
	assert_true(agent_ring_read_until(ring) <= time_mono_ns());
	agent_ring_close(ring);
	codemap_free(map);
	free_ring(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_time_of_a_complete_read_is_known),
		cmocka_unit_test(records_of_the_agent_are_read),
		cmocka_unit_test(a_ring_is_read_past_its_end),
		cmocka_unit_test(the_reader_signals_life_and_stop),
		cmocka_unit_test(a_failure_in_the_jvm_is_reported),
		cmocka_unit_test(a_failed_method_fails_only_for_those_who_want_it),
		cmocka_unit_test(of_an_older_agent_any_method_may_have_failed),
		cmocka_unit_test(a_recording_gets_the_reason_of_its_own_method),
		cmocka_unit_test(an_agent_that_takes_no_command_is_not_sent_any),
		cmocka_unit_test(an_impossible_head_breaks_the_ring),
		cmocka_unit_test(a_file_that_can_shrink_is_refused),
		cmocka_unit_test(a_ring_with_another_nonce_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
