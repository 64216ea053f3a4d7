/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "jvm/attach/helper.h"
#include "jvm/attach/inject.h"
#include "sandbox/message.h"

#define DELIVERED "/tmp/.jvmmap-0123456789abcdef0123456789abcdef.so"

static struct inject_order order_of(pid_t pid)
{
	struct inject_order o = {
		.command = INJECT_START,
		.id = { pid, 30 },
		.program_ns = 70,
		.may_signal = true,
		.way = DELIVERY_MOUNT,
		.hooks = { .alloc_interval = 11, .refs = true, .lock_min_ns = 13 },
		.dependencies = 17,
	};

	inject_nonce(o.nonce);
	strcpy(o.loaded_path, DELIVERED);
	strcpy(o.hooks.methods, "a/B.run");
	return o;
}

static void an_order_arrives_as_it_was_sent(void **state)
{
	const struct inject_order sent = order_of(4711);
	struct worker_message m;
	struct inject_order got;
	u64 number;

	inject_order_encode(&sent, 5, &m);
	assert_int_equal(inject_order_decode(&m, "/agent.so", &number, &got), 0);
	assert_int_equal(number, 5);
	assert_int_equal(got.command, INJECT_START);
	assert_int_equal(got.id.pid, 4711);
	assert_int_equal(got.id.start_ns, 30);
	assert_int_equal(got.program_ns, 70);
	assert_true(got.may_signal && !got.may_have_no_vm && got.hooks.refs && !got.hooks.collect);
	assert_int_equal(got.way, DELIVERY_MOUNT);
	assert_int_equal(got.hooks.alloc_interval, 11);
	assert_int_equal(got.hooks.lock_min_ns, 13);
	assert_int_equal(got.dependencies, 17);
	assert_string_equal(got.nonce, sent.nonce);
	assert_string_equal(got.loaded_path, DELIVERED);
	assert_string_equal(got.hooks.methods, "a/B.run");
	assert_string_equal(got.agent_path, "/agent.so"); /* never the sender's */
}

static int decode_with_path(const char *loaded_path)
{
	struct inject_order order = order_of(4711), got;
	struct worker_message m;
	u64 number;

	strcpy(order.loaded_path, loaded_path);
	inject_order_encode(&order, 5, &m);
	return inject_order_decode(&m, "/opt/agent.so", &number, &got);
}

static void an_order_names_only_our_agent(void **state)
{
	static const char *const others[] = {
		"/tmp/x.so",
		"/opt/agent.so.1",
		"opt/agent.so",
		"/opt/../opt/agent.so",
		"/proc/1/cwd/evil.so",
		"/home/.jvmmap-0123456789abcdef0123456789abcdef.so",
		"/tmp/../home/.jvmmap-0123456789abcdef0123456789abcdef.so",
		"/tmp/.jvmmap-0123456789abcdef0123456789abcde.so",
		"/tmp/.jvmmap-0123456789abcdef0123456789abcdef.so/x.so",
		"/tmp/.jvmmap-0123456789abcdef0123456789abcdex.so",
	};

	assert_int_equal(decode_with_path(""), 0);
	assert_int_equal(decode_with_path("/opt/agent.so"), 0);
	assert_int_equal(decode_with_path(DELIVERED), 0);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_int_equal(decode_with_path(others[i]), -EPROTO);
}

/* Every 32-bit word of the message, changed, is an error or gives an order within its bounds. */
static void a_changed_order_is_refused_or_valid(void **state)
{
	const struct inject_order sent = order_of(4711);
	struct worker_message good, m;
	struct inject_order got;
	int refused = 0;
	u64 number;

	inject_order_encode(&sent, 5, &good);
	for (size_t at = 0; at + 4 <= good.len; at += 4) {
		m = good;
		memset(m.text + at, 0xff, 4);
		if (inject_order_decode(&m, "", &number, &got)) {
			refused++;
			continue;
		}
		assert_true(got.command <= INJECT_CLEAN && got.way <= DELIVERY_COPY);
		assert_int_equal(strlen(got.nonce), WIRE_NONCE_LEN);
		assert_true(strlen(got.loaded_path) < sizeof(got.loaded_path));
		assert_true(strlen(got.hooks.methods) < sizeof(got.hooks.methods));
	}
	assert_true(refused >= 3 + WIRE_NONCE_LEN / 4);
	m = good;
	m.len--;
	assert_int_equal(inject_order_decode(&m, "", &number, &got), -EPROTO);
	m = good;
	memset(m.text + m.len - WIRE_METHODS_MAX - 8, 'x', WIRE_METHODS_MAX + 8);
	assert_int_equal(inject_order_decode(&m, "", &number, &got), -EPROTO);
}

static void a_result_is_checked_and_its_text_cleaned(void **state)
{
	struct inject_result sent = { .outcome = INJECT_DONE, .has_vm = true, .clock_off_ns = -7 };
	struct inject_result got;
	struct worker_message m;

	strcpy(sent.reason, "a\033[2Jb");
	sent.ring_fd = 0;
	sent.libjvm = 19;
	sent.left_pid = 23;
	sent.takes_no_command = true;
	inject_result_encode(&sent, &m);
	assert_int_equal(inject_result_decode(&m, &got), 0);
	assert_int_equal(got.outcome, INJECT_DONE);
	assert_true(got.has_vm && !got.is_lasting);
	assert_int_equal(got.clock_off_ns, -7);
	assert_int_equal(got.libjvm, 19);
	assert_int_equal(got.left_pid, 23);
	assert_true(got.takes_no_command);
	assert_int_equal(got.ring_fd, -1);
	assert_null(strchr(got.reason, '\033'));
	sent.left_pid = -1;
	inject_result_encode(&sent, &m);
	assert_int_equal(inject_result_decode(&m, &got), -EPROTO);
	sent.left_pid = 0;
	sent.outcome = INJECT_RUNNING;
	inject_result_encode(&sent, &m);
	assert_int_equal(inject_result_decode(&m, &got), -EPROTO);
	sent.outcome = INJECT_REFUSED;
	memset(sent.reason, 'x', sizeof(sent.reason));
	inject_result_encode(&sent, &m);
	assert_int_equal(inject_result_decode(&m, &got), -EPROTO);
}

static enum inject_outcome await(struct injection *i, struct inject_result *out)
{
	enum inject_outcome outcome;

	while ((outcome = inject_poll(i, out)) == INJECT_RUNNING)
		usleep(1000);
	return outcome;
}

/* PID 1 with another start time: the child finds that this process has ended. */
static void the_helper_carries_out_orders(void **state)
{
	const struct inject_order order = order_of(1);
	struct inject_result result;
	struct injection *i;
	struct helper *h;

	assert_int_equal(helper_start("", &h) ?: helper_await(h), 0);
	inject_use_helper(h);
	for (int k = 0; k < 20; k++) {
		assert_int_equal(inject_start(&order, &i), 0);
		assert_int_equal(await(i, &result), INJECT_REFUSED);
		assert_non_null(strstr(result.reason, "has ended"));
		inject_free(i);
	}
	assert_false(helper_has_ended(h));
	inject_use_helper(NULL);
	helper_free(h);
}

/* It has only its socket: it ends when the other end is closed. */
static void an_invalid_message_ends_the_helper(void **state)
{
	int pair[2];
	u64 number;
	struct helper *h;
	struct inject_order order = order_of(1);

	assert_int_equal(helper_start("", &h) ?: helper_await(h), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	const int fds[2] = { pair[1], -1 };
	order.command = (enum inject_command)99;
	assert_int_equal(helper_inject(h, &order, fds, &number), 0);
	for (u64 end = time_mono_ns() + 30 * NS_PER_SEC; !helper_has_ended(h); usleep(1000))
		assert_true(time_mono_ns() < end);
	assert_int_equal(helper_inject(h, &order, fds, &number), -EPIPE);
	helper_free(h);
	close(pair[0]);
	close(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_order_arrives_as_it_was_sent),
		cmocka_unit_test(an_order_names_only_our_agent),
		cmocka_unit_test(a_changed_order_is_refused_or_valid),
		cmocka_unit_test(a_result_is_checked_and_its_text_cleaned),
		cmocka_unit_test(the_helper_carries_out_orders),
		cmocka_unit_test(an_invalid_message_ends_the_helper),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
