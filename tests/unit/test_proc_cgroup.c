/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proc/cgroup.h"

#define ID    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static void finds(const char *text, const char *id)
{
	char found[CONTAINER_ID_LEN + 1];

	assert_true(cgroup_container_parse(text, found));
	assert_string_equal(found, id);
}

static void the_id_is_found_in_the_form_of_every_runtime(void **state)
{
	finds("12:pids:/docker/" ID "\n", ID);
	finds("0::/system.slice/docker-" ID ".scope\n", ID);
	finds("0::/kubepods.slice/kubepods-pod0f7e.slice/cri-containerd-" ID ".scope\n", ID);
	finds("0::/machine.slice/libpod-" ID ".scope/container\n", ID);
	finds("0::/kubepods/besteffort/pod1-2-3/crio-" ID, ID);
}

static void the_inner_one_of_nested_containers_counts(void **state)
{
	finds("0::/docker/" OTHER "/docker/" ID "\n", ID);
}

static void ids_of_ecs_end_in_a_number(void **state)
{
	finds("0::/ecs/0f0e0d0c0b0a09080706050403020100-4052634861/0123456789abcdef0123456789abcdef"
	      "-1234567890\n",
	      "0123456789abcdef0123456789abcdef-1234567890");
	char found[CONTAINER_ID_LEN + 1];
	assert_false(cgroup_container_parse("/0123456789abcdef0123456789abcdef-x", found));
	assert_false(cgroup_container_parse("/0123456789abcdef0123456789abcdef-", found));
}

static void the_uid_of_a_pod_is_found_with_both_separators(void **state)
{
	char uid[POD_UID_LEN + 1] = "untouched";

	assert_false(cgroup_pod_parse("0::/podruntime/kubelet\n", uid));
	assert_false(cgroup_pod_parse("/pod11111111-2222-3333-4444-5555555555556/", uid));
	assert_string_equal(uid, "untouched");
	assert_true(cgroup_pod_parse(
		"0::/kubepods.slice/kubepods-pod11111111_2222_3333_4444_555555555555.slice/x",
		uid));
	assert_string_equal(uid, "11111111-2222-3333-4444-555555555555");
	assert_true(cgroup_pod_parse(
		"/kubepods/burstable/podaaaaaaaa-2222-3333-4444-555555555555/" ID, uid));
	assert_string_equal(uid, "aaaaaaaa-2222-3333-4444-555555555555");
}

static void the_uid_of_a_static_pod_has_no_dashes(void **state)
{
	char uid[POD_UID_LEN + 1] = "untouched";

	assert_false(cgroup_pod_parse("/kubepods-pod0123456789abcdef0123456789abcdef0.slice", uid));
	assert_false(cgroup_pod_parse("/kubepods-pod0123456789abcdef0123456789abcde.slice", uid));
	assert_false(cgroup_pod_parse("/kubepods-pod0123456789abcdef_123456789abcdef.slice", uid));
	assert_false(cgroup_pod_parse("/libpod-" ID ".scope", uid));
	assert_string_equal(uid, "untouched");
	assert_true(cgroup_pod_parse("0::/kubepods.slice/kubepods-burstable.slice/"
				     "kubepods-burstable-pod0123456789abcdef0123456789abcdef.slice"
				     "/cri-containerd-" ID ".scope",
				     uid));
	assert_string_equal(uid, "0123456789abcdef0123456789abcdef");
}

static void a_group_beside_a_container_is_not_in_it(void **state)
{
	static const char *const beside[] = {
		"0::/kubepods.slice/kubepods-pod1.slice/crio-conmon-" ID ".scope\n",
		"0::/kubepods/pod1/crio-conmon-" ID "\n",
		"0::/machine.slice/libpod-conmon-" ID ".scope\n",
		"0::/machine.slice/machine-libpod_pod_" ID ".slice/libpod-conmon-" OTHER ".scope\n",
		"0::/system.slice/" ID ".service\n",
		"0::/system.slice/" ID "-3f2a.service\n",
		"0::/system.slice/run-containers-" ID "-merged.mount\n",
	};
	char found[CONTAINER_ID_LEN + 1];

	for (size_t i = 0; i < ARRAY_SIZE(beside); i++)
		assert_false(cgroup_container_parse(beside[i], found));
	finds("0::/user.slice/app.service/libpod-payload-" ID "\n", ID);
	finds("0::/docker/" ID "/system.slice/cron.service\n", ID);
	finds("0::/docker/" ID "/machine.slice/libpod-conmon-" OTHER ".scope\n", ID);
	finds("0::/machine-libpod_pod_" OTHER ".slice/libpod-" ID ".scope\n", ID);
}

static void a_shorter_or_longer_text_is_not_an_id(void **state)
{
	char found[CONTAINER_ID_LEN + 1] = "untouched";

	assert_false(cgroup_container_parse("", found));
	assert_false(cgroup_container_parse("0::/user.slice/user-0.slice\n", found));
	assert_false(cgroup_container_parse("0::/docker/0123456789ab\n", found));
	assert_false(cgroup_container_parse("0::/docker/" ID "0\n", found));
	assert_string_equal(found, "untouched");
}

static void mounts_of_both_versions_are_read_with_version_2_first(void **state)
{
	struct cgroup_mounts m = { 0 };

	cgroup_mounts_parse(
		"25 1 0:23 / /sys rw - sysfs sysfs rw\n"
		"30 25 0:26 / /sys/fs/cgroup/cpu rw shared:9 - cgroup c rw,cpu,cpuacct\n"
		"31 25 0:27 / /a\\040b rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
		"nonsense - cgroup\n\n - \n",
		&m);
	assert_int_equal(m.all.nr, 2);
	assert_true(m.all.at[0].is_unified);
	assert_string_equal(m.all.at[0].path, "/a b");
	assert_string_equal(m.all.at[1].options, ",rw,cpu,cpuacct,");
	assert_false(m.all.at[1].is_unified);
	cgroup_mounts_fini(&m);
}

static void a_group_is_found_by_folder_and_by_name_but_not_outside_of_its_mount(void **state)
{
	char folder[] = "/tmp/cgroup-test-XXXXXX";
	assert_non_null(mkdtemp(folder));
	char *group = xasprintf("%s/mount/group", folder);
	char *mount = xasprintf("%s/mount", folder);
	struct cgroup_mounts m = { 0 };
	struct stat st;
	u64 id = 0;

	assert_int_equal(mkdir(mount, 0700) || mkdir(group, 0700) || stat(group, &st), 0);
	vec_push(&m.all, (struct cgroup_mount){ xstrdup(mount), xstrdup("/"), xstrdup(""), true });
	assert_ptr_equal(cgroup_find(&m, group, &id), &m.all.at[0]);
	assert_int_equal(id, st.st_ino);
	id = 0;
	assert_ptr_equal(cgroup_find(&m, "/group/", &id), &m.all.at[0]);
	assert_int_equal(id, st.st_ino);
	assert_null(cgroup_find(&m, "/..", &id));
	assert_null(cgroup_find(&m, folder, &id));
	assert_null(cgroup_find(&m, "/other", &id));
	cgroup_mounts_fini(&m);
	rmdir(group);
	rmdir(mount);
	rmdir(folder);
	free(group);
	free(mount);
}

static void folder_is(const struct cgroup_mounts *m, const char *text, const char *controller,
		      const char *expected)
{
	char *folder = cgroup_folder(m, text, controller);

	assert_int_equal(!!folder, !!expected);
	if (folder)
		assert_string_equal(folder, expected);
	free(folder);
}

static void the_folder_of_a_group_is_found_in_each_hierarchy(void **state)
{
	static const char text[] =
		"9:cpu,cpuacct:/a\n7:memory:/pod/b\n5:pids:/pod\n1:name=x:/\n0::/c/d\n";
	struct cgroup_mounts m = { 0 };

	cgroup_mounts_parse("30 25 0:26 / /cg/cpu rw - cgroup c rw,cpu,cpuacct\n"
			    "31 25 0:27 /pod /cg/memory rw - cgroup c rw,memory\n"
			    "32 25 0:28 /pod /cg/pids rw - cgroup c rw,pids\n"
			    "33 25 0:29 / /cg/two rw - cgroup2 c rw\n",
			    &m);
	folder_is(&m, text, NULL, "/cg/two/c/d");
	folder_is(&m, text, "cpuacct", "/cg/cpu/a");
	folder_is(&m, text, "memory", "/cg/memory/b");
	folder_is(&m, text, "pids", "/cg/pids");
	folder_is(&m, text, "freezer", NULL);
	folder_is(&m, "7:memory:/podx/b\n0::/../other\n", "memory", NULL);
	folder_is(&m, "7:memory:/podx/b\n0::/../other\n", NULL, NULL);
	folder_is(&m, "nonsense\n:\n::\n0:", NULL, NULL);
	cgroup_mounts_fini(&m);
}

static void path_is(const struct cgroup_mount *m, const char *text, const char *path)
{
	char *found = cgroup_path(m, text);

	assert_true(!found == !path && (!path || !strcmp(found, path)));
	free(found);
}

static void the_path_of_a_group_is_that_of_its_mounts_hierarchy(void **state)
{
	const char *text = "12:cpuacct,cpu:/a\n3:memoryx:/no\n1:name=systemd:/s\n0::/c\n";
	struct cgroup_mounts m = { 0 };

	cgroup_mounts_parse("30 25 0:26 / /cg/cpu rw - cgroup c rw,cpu,cpuacct\n"
			    "31 25 0:27 / /cg/memory rw - cgroup c rw,memory\n"
			    "33 25 0:29 / /cg/two rw - cgroup2 c rw\n",
			    &m);
	path_is(&m.all.at[0], text, "/c");
	path_is(&m.all.at[1], text, "/a");
	path_is(&m.all.at[2], text, NULL);
	path_is(&m.all.at[1], "nonsense\n:\n::\n0:", NULL);
	cgroup_mounts_fini(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_id_is_found_in_the_form_of_every_runtime),
		cmocka_unit_test(the_inner_one_of_nested_containers_counts),
		cmocka_unit_test(ids_of_ecs_end_in_a_number),
		cmocka_unit_test(the_uid_of_a_pod_is_found_with_both_separators),
		cmocka_unit_test(the_uid_of_a_static_pod_has_no_dashes),
		cmocka_unit_test(a_group_beside_a_container_is_not_in_it),
		cmocka_unit_test(a_shorter_or_longer_text_is_not_an_id),
		cmocka_unit_test(mounts_of_both_versions_are_read_with_version_2_first),
		cmocka_unit_test(
			a_group_is_found_by_folder_and_by_name_but_not_outside_of_its_mount),
		cmocka_unit_test(the_folder_of_a_group_is_found_in_each_hierarchy),
		cmocka_unit_test(the_path_of_a_group_is_that_of_its_mounts_hierarchy),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
