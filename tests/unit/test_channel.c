/* SPDX-License-Identifier: Apache-2.0 */
/* The channel between recorder and web process: valid messages pass, all others are refused. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "daemon/channel/channel.h"
#include "test.h"

static void make_pair(int pair[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
}

static void close_pair(const int pair[2])
{
	close(pair[0]);
	close(pair[1]);
}

static void a_message_arrives_as_it_was_sent(void **state)
{
	struct control_message sent = { .kind = CONTROL_START }, got;
	int pair[2], fd;

	make_pair(pair);
	assert_int_equal(channel_receive(pair[1], &got, &fd), -EAGAIN);
	sent.start = (struct control_start){ .id = 7, .rate_hz = 99, .target = CONTROL_TARGET_PID };
	channel_text(sent.start.events, sizeof(sent.start.events), "cpu,alloc");
	channel_text(sent.start.target_text, sizeof(sent.start.target_text), "42");
	assert_int_equal(channel_send(pair[0], &sent, -1), 0);
	assert_int_equal(channel_receive(pair[1], &got, &fd), 0);
	assert_int_equal(fd, -1);
	assert_memory_equal(&got.start, &sent.start, sizeof(got.start));
	close(pair[0]);
	assert_int_equal(channel_receive(pair[1], &got, &fd), -EPIPE);
	close(pair[1]);
}

static void a_file_arrives_sealed(void **state)
{
	struct control_message sent = { .kind = CONTROL_PART }, got;
	int pair[2], fd, file = channel_file("profile", 7);
	char text[8] = "";

	make_pair(pair);
	assert_true(file >= 0);
	sent.part = (struct control_part){ .id = 1, .end_wall_ns = 5, .bytes = 7 };
	assert_int_equal(channel_send(pair[0], &sent, file), 0);
	assert_int_equal(channel_receive(pair[1], &got, &fd), 0);
	assert_int_equal(pread(fd, text, 7, 0), 7);
	assert_string_equal(text, "profile");
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(ftruncate(fd, 0), -1);
	close(fd);
	close(file);
	close_pair(pair);
}

/* Sends `m`, of which each test spoils something, and expects its refusal. */
static void expect_refusal(const struct control_message *m, int file)
{
	struct control_message got;
	int pair[2], fd;

	make_pair(pair);
	assert_int_equal(channel_send(pair[0], m, file), 0);
	assert_int_equal(channel_receive(pair[1], &got, &fd), -EPROTO);
	assert_int_equal(fd, -1);
	close_pair(pair);
}

static void files_that_could_change_are_refused(void **state)
{
	struct control_message m = { .kind = CONTROL_PART, .part = { .id = 1, .bytes = 7 } };
	int open_file = memfile_new("test"), longer = channel_file("profiles", 8);

	assert_int_equal(write(open_file, "profile", 7), 7);
	expect_refusal(&m, open_file);
	expect_refusal(&m, longer);
	expect_refusal(&m, -1);
	m.kind = CONTROL_STOP;
	expect_refusal(&m, longer);
	close(open_file);
	close(longer);
}

static void numbers_out_of_range_are_refused(void **state)
{
	static struct control_message m;

	m = (struct control_message){ .kind = CONTROL_START };
	m.start.target = NR_CONTROL_TARGETS;
	expect_refusal(&m, -1);
	m = (struct control_message){ .kind = CONTROL_STATE };
	m.state.state = NR_CONTROL_STATES;
	expect_refusal(&m, -1);
	m = (struct control_message){ .kind = CONTROL_JVMS };
	m.jvms.nr = CONTROL_JVMS_MAX + 1;
	expect_refusal(&m, -1);
	m.jvms.nr = 1; /* with PID 0 */
	expect_refusal(&m, -1);
	m = (struct control_message){ .kind = CONTROL_ENDED };
	m.ended.err = 1;
	expect_refusal(&m, -1);
}

static void readings_out_of_range_are_refused(void **state)
{
	static struct control_message m;
	const struct control_message good = {
		.kind = CONTROL_READING,
		.reading = { .first = 1,
			     .last = 1,
			     .nr = 1,
			     .busy_ppm = CONTROL_UNKNOWN,
			     .at[0] = { .pid = 1,
					.alloc_rate = CONTROL_UNKNOWN,
					.nr_methods = 1 } },
	};
	struct control_reading_jvm *j = &m.reading.at[0];

	assert_true(channel_check(
		&good, offsetof(struct control_message, reading) + sizeof(good.reading), false));
	m = good;
	m.reading.nr = CONTROL_READING_JVMS + 1;
	expect_refusal(&m, -1);
	m = good;
	j->pid = 0;
	expect_refusal(&m, -1);
	m = good;
	j->nr_methods = CONTROL_READING_METHODS + 1;
	expect_refusal(&m, -1);
	m = good;
	j->methods[0].self = 1ull << 63;
	expect_refusal(&m, -1);
	m = good;
	memset(j->methods[0].name, 'x', sizeof(j->methods[0].name));
	expect_refusal(&m, -1);
	m = good;
	j->cpu_ppm = CONTROL_UNKNOWN - 1;
	expect_refusal(&m, -1);
}

static void texts_without_end_or_with_controls_are_refused(void **state)
{
	static struct control_message m;

	m = (struct control_message){ .kind = CONTROL_ENDED };
	memset(m.ended.why, 'a', sizeof(m.ended.why));
	expect_refusal(&m, -1);
	m = (struct control_message){ .kind = CONTROL_ENDED, .ended.why = "a\x1b[31m" };
	expect_refusal(&m, -1);
	m = (struct control_message){ .kind = CONTROL_ENDED, .ended.why = "\xff" };
	expect_refusal(&m, -1);
}

static void other_lengths_and_kinds_are_refused(void **state)
{
	static struct control_message m;
	u32 kinds[] = { 0, NR_CONTROL_KINDS, 77 };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		m.kind = kinds[i];
		assert_false(channel_check(&m, sizeof(m), false));
	}
	m = (struct control_message){ .kind = CONTROL_HELLO };
	assert_true(channel_check(&m, 12, false));
	assert_false(channel_check(&m, 11, false));
	assert_false(channel_check(&m, 13, false));
	assert_false(channel_check(&m, 2, false));
}

static void texts_are_cut_and_cleaned(void **state)
{
	char field[8];

	channel_text(field, sizeof(field), "a\nb");
	assert_null(strchr(field, '\n'));
	channel_text(field, sizeof(field), "123456\xc3\xa4");
	assert_string_equal(field, "123456");
	channel_text(field, sizeof(field), "12345678901234567890");
	assert_string_equal(field, "1234567");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_arrives_as_it_was_sent),
		cmocka_unit_test(a_file_arrives_sealed),
		cmocka_unit_test(files_that_could_change_are_refused),
		cmocka_unit_test(numbers_out_of_range_are_refused),
		cmocka_unit_test(readings_out_of_range_are_refused),
		cmocka_unit_test(texts_without_end_or_with_controls_are_refused),
		cmocka_unit_test(other_lengths_and_kinds_are_refused),
		cmocka_unit_test(texts_are_cut_and_cleaned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
