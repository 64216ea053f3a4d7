/* SPDX-License-Identifier: Apache-2.0 */
/* The service of a process whose container is made up. */
#include "test.h"

#include <string.h>
#include <unistd.h>

#include "capture/node.h"
#include "proc/status.h"

static struct container container = { .name = "", .pod = "", .namespace = "" };

static const struct container *fake_container(struct node *n, struct process *p)
{
	return p->container = &container;
}

#define node_container fake_container
#include "top/service.c"

static void the_name_of_a_container_may_come_late(void **state)
{
	struct process p = { .id = { .pid = 0 }, .comm = "program" };
	struct services *all = services_new(NULL);

	assert_string_equal(services_of(all, &p), "program");
	container.name = "shop";
	assert_string_equal(services_of(all, &p), "shop");
	assert_string_equal(services_main(all, &p), "program");
	services_free(all);
}

static void threads_of_the_kernel_are_one_service(void **state)
{
	struct services *all = services_new(NULL);
	struct proc_status s;

	/* PID 2 is their parent, unless a PID namespace hides it. */
	if (proc_status_read(2, &s) || strcmp(s.comm, "kthreadd") != 0) {
		services_free(all);
		skip();
	}
	struct process p = { .id = proc_status_id(&s), .comm = "kthreadd" };
	assert_string_equal(services_of(all, &p), "kernel");
	assert_string_equal(services_main(all, &p), "kthreadd");
	assert_int_equal(proc_status_read(getpid(), &s), 0);
	struct process own = { .id = proc_status_id(&s), .comm = "own" };
	container.name = "shop";
	assert_string_equal(services_of(all, &own), "shop");
	services_free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_name_of_a_container_may_come_late),
		cmocka_unit_test(threads_of_the_kernel_are_one_service),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
