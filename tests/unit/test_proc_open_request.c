/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/types.h"
#include "proc/open_request.h"

/* An opener that never answers: it only keeps its end of the socket. */
struct silent {
	int err; /* of each start */
	int nr_started;
	int sock;
};

static int start_silent(void *ctx, int sock, u64 *number)
{
	struct silent *s = ctx;

	if (s->err)
		return s->err;
	*number = (u64)++s->nr_started;
	s->sock = fcntl(sock, F_DUPFD_CLOEXEC, 0);
	return 0;
}

static void end_silent(void *ctx, u64 number)
{
	struct silent *s = ctx;

	close(s->sock);
}

static struct open_requests_ops ops_of(struct silent *s)
{
	return (struct open_requests_ops){ start_silent, end_silent, s };
}

static int open_as(u32 uid)
{
	struct open_order order = { .kind = OPEN_AS_PROCESS, .uid = uid };

	return open_request(&order, "file", -1);
}

static void a_failed_start_is_tried_again(void **state)
{
	struct silent s = { .err = -EAGAIN };
	const struct open_requests_ops ops = ops_of(&s);

	assert_int_equal(open_requests_begin(&ops), -EAGAIN);
	assert_true(open_requests_are_used());
	assert_int_equal(open_as(1), -EBUSY);
	assert_true(open_requests_are_used());
	s.err = 0;
	assert_int_equal(open_as(1), -EBUSY);
	assert_int_equal(s.nr_started, 2); /* and one in place of that which did not answer */
	open_requests_end();
	assert_false(open_requests_are_used());
}

static void without_one_who_starts_openers_none_is_used(void **state)
{
	struct silent s = { .err = -EPIPE };
	const struct open_requests_ops ops = ops_of(&s);

	assert_int_equal(open_requests_begin(&ops), -EPIPE);
	assert_false(open_requests_are_used());
	open_requests_end();
}

/* Each user is a new one, so no file is refused for its user. */
static void slow_files_of_many_users_have_one_budget(void **state)
{
	struct silent s = { 0 };
	const struct open_requests_ops ops = ops_of(&s);
	u64 before = open_requests_nr_late();

	assert_int_equal(open_requests_begin(&ops), 0);
	for (u32 uid = 1; uid <= 200; uid++)
		assert_int_equal(open_as(uid), -EBUSY);
	assert_int_equal(open_requests_nr_late() - before, 200);
	assert_in_range(s.nr_started, 3, 30);
	open_requests_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failed_start_is_tried_again),
		cmocka_unit_test(without_one_who_starts_openers_none_is_used),
		cmocka_unit_test(slow_files_of_many_users_have_one_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
