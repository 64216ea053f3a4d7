/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "capture/programs/detacher.h"

#define LINKS 500

/* A link without libbpf's struct: only a descriptor (programs_detach). */
static struct bpf_link *link_of(int fd)
{
	return (struct bpf_link *)((uintptr_t)fd << 1 | 1);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0 || errno != EBADF;
}

static void all_links_are_detached_at_the_end(void **state)
{
	struct detacher *d = detacher_new();
	int fds[LINKS];

	for (int i = 0; i < LINKS; i++) {
		fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		assert_true(fds[i] >= 0);
	}
	for (int i = 0; i < LINKS; i++)
		detacher_add(d, link_of(fds[i]));
	detacher_free(d);
	for (int i = 0; i < LINKS; i++)
		assert_false(is_open(fds[i]));
}

static void a_detacher_may_be_freed_without_links(void **state)
{
	detacher_free(detacher_new());
	detacher_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_links_are_detached_at_the_end),
		cmocka_unit_test(a_detacher_may_be_freed_without_links),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
