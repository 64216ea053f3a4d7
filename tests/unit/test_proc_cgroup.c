/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <string.h>

#include "proc/cgroup.h"

#define ID    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static void finds(const char *text, const char *id)
{
	char found[CONTAINER_ID_LEN + 1];

	assert_true(cgroup_container_parse(text, found));
	assert_string_equal(found, id);
}

static void the_id_is_found_as_every_runtime_writes_it(void **state)
{
	finds("12:pids:/docker/" ID "\n", ID);
	finds("0::/system.slice/docker-" ID ".scope\n", ID);
	finds("0::/kubepods.slice/kubepods-pod0f7e.slice/cri-containerd-" ID ".scope\n", ID);
	finds("0::/machine.slice/libpod-" ID ".scope/container\n", ID);
	finds("0::/kubepods/besteffort/pod1-2-3/crio-" ID, ID);
}

static void of_nested_containers_the_inner_one_counts(void **state)
{
	finds("0::/docker/" OTHER "/docker/" ID "\n", ID);
}

static void what_is_shorter_or_longer_is_no_id(void **state)
{
	char found[CONTAINER_ID_LEN + 1] = "untouched";

	assert_false(cgroup_container_parse("", found));
	assert_false(cgroup_container_parse("0::/user.slice/user-0.slice\n", found));
	assert_false(cgroup_container_parse("0::/docker/0123456789ab\n", found));
	assert_false(cgroup_container_parse("0::/docker/" ID "0\n", found));
	assert_string_equal(found, "untouched");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_id_is_found_as_every_runtime_writes_it),
		cmocka_unit_test(of_nested_containers_the_inner_one_counts),
		cmocka_unit_test(what_is_shorter_or_longer_is_no_id),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
