/* SPDX-License-Identifier: Apache-2.0 */
/* The service of a process whose container is made up. */
#include "test.h"

#include <string.h>

#include "capture/node.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_name_of_a_container_may_come_late),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
