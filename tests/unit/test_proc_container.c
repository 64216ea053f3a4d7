/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/str.h"
#include "base/time.h"
#include "base/vec.h"
#include "proc/container.h"

#define ID  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID "11111111-2222-3333-4444-555555555555"

static char root[] = "/tmp/container-test-XXXXXX";

/* Creates a file below the root, with its folders. */
static void write_file(const char *name, const char *text)
{
	char *path = xasprintf("%s/%s", root, name);

	for (char *slash = path + strlen(root); (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	free(path);
}

static int make_root(void **state)
{
	strcpy(root + strlen(root) - 6, "XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char *command = xasprintf("rm -r %s", root);
	int err = system(command);

	free(command);
	return err;
}

static void is(const char *uid, const char *namespace, const char *pod, const char *name)
{
	struct containers *all = containers_new(root);
	const struct container *c = containers_find(all, ID, uid);

	assert_string_equal(c->namespace, namespace);
	assert_string_equal(c->pod, pod);
	assert_string_equal(c->name, name);
	containers_free(all);
}

static void the_names_of_log_files_are_read(void **state)
{
	write_file("var/log/containers/other_ns_x-" UID ".log", "");
	write_file("var/log/containers/web-7d_shop_app-1-" ID ".log", "");
	is(UID, "shop", "web-7d", "app-1");
}

static void annotations_of_bundles_are_read(void **state)
{
	write_file("run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json",
		   "{\"annotations\": {\"io.kubernetes.cri.sandbox-name\": \"web\","
		   "\"io.kubernetes.cri.sandbox-namespace\": \"shop\","
		   "\"io.kubernetes.cri.container-name\": \"app\"}}");
	is(UID, "shop", "web", "app");
}

static bool is_denied(void)
{
	struct containers *all = containers_new(root);
	bool denied = containers_find(all, ID, UID)->is_denied;

	containers_free(all);
	return denied;
}

static void an_annotation_opts_out_in_the_form_of_each_runtime(void **state)
{
	const char *bundle =
		"run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json";

	/* Names that logs have already do not keep it from being read. */
	write_file("var/log/containers/web-7d_shop_app-1-" ID ".log", "");
	write_file(bundle, "{\"annotations\": {\"sysflame/profile\": \"allow\"}}");
	assert_false(is_denied());
	write_file(bundle, "{\"annotations\": {\"sysflame/profile\": 7}}");
	assert_false(is_denied());
	write_file(bundle, "{\"annotations\": {\"sysflame/profile\": \"deny\"}}");
	assert_true(is_denied());
	write_file(bundle, "{\"annotations\": {\"io.kubernetes.cri-o.Annotations\":"
			   "\"{\\\"sysflame/profile\\\": \\\"deny\\\"}\"}}");
	assert_true(is_denied());
	write_file(bundle, "{\"annotations\": {\"io.kubernetes.cri-o.Annotations\": \"{{{\"}}");
	assert_false(is_denied());
	write_file("var/lib/docker/containers/" ID "/config.v2.json",
		   "{\"Config\": {\"Labels\": {\"sysflame/profile\": \"deny\"}}}");
	assert_true(is_denied());
}

static void a_line_of_a_file_opts_out(void **state)
{
	write_file("var/log/containers/web-7d_shop_app-1-" ID ".log", "");
	write_file("etc/sysflame/deny", "# shop/\nshop/other\n\nsho/\n");
	assert_false(is_denied());
	write_file("etc/sysflame/deny", "shop/web-7d # the pod\n");
	assert_true(is_denied());
	write_file("etc/sysflame/deny", "shop/\n");
	assert_true(is_denied());
	write_file("etc/sysflame/deny", "app-1");
	assert_true(is_denied());
}

static void dockers_configuration_is_read(void **state)
{
	write_file("var/lib/docker/containers/" ID "/config.v2.json", "{\"Name\": \"/db\"}");
	is(NULL, "", "", "db");
}

static void docker_may_have_another_data_root(void **state)
{
	write_file("etc/docker/daemon.json", "{\"debug\": true, \"data-root\": \"/mnt/docker\"}");
	write_file("mnt/docker/containers/" ID "/config.v2.json", "{\"Name\": \"/db\"}");
	is(NULL, "", "", "db");
}

static void podman_may_have_another_storage(void **state)
{
	write_file("etc/containers/storage.conf", "# graphroot = \"/x\"\n[storage]\n"
						  "driver=\"vfs\"\n  graphroot = '/mnt/podman'\n");
	write_file("mnt/podman/vfs-containers/containers.json",
		   "[{\"id\": \"" ID "\", \"names\": [\"db\"]}]");
	is(NULL, "", "", "db");
}

static void damaged_configurations_leave_the_usual_places(void **state)
{
	write_file("etc/docker/daemon.json", "{\"data-root\": [1], \"hosts\": 7,");
	write_file("etc/containers/storage.conf",
		   "graphroot\ngraphroot =\ngraphroot = \"\nrunroot = x");
	write_file("var/lib/docker/containers/" ID "/config.v2.json", "{\"Name\": \"/db\"}");
	is(NULL, "", "", "db");
}

static void the_list_of_podman_is_read(void **state)
{
	write_file("var/lib/containers/storage/overlay-containers/containers.json",
		   "[7, {\"id\": \"x\"}, {\"id\": \"" ID "\", \"names\": [\"db\"]}]");
	is(NULL, "", "", "db");
}

/* A monitor with the arguments that podman gives it, and its child. */
static void write_monitor(const char *pid, const char *name, const char *group)
{
	auto_free char *folder = xasprintf("%s/proc/%s", root, pid);
	auto_free char *comm = xasprintf("proc/%s/comm", pid);
	auto_free char *children = xasprintf("proc/%s/task/%s/children", pid, pid);
	auto_free char *child = xasprintf("%s1 ", pid);
	auto_free char *cgroup = xasprintf("proc/%s1/cgroup", pid);
	auto_free char *cmdline = xasprintf("%s/cmdline", folder);

	write_file(comm, "conmon\n");
	write_file(children, child);
	write_file(cgroup, group);
	FILE *f = fopen(cmdline, "w");
	assert_non_null(f);
	fprintf(f, "/usr/bin/conmon%c--api-version%c1%c-c%c%s%c-u%c%s%c-b%c/mnt/bundle%c-n%c%s%c",
		0, 0, 0, 0, ID, 0, 0, ID, 0, 0, 0, 0, name, 0);
	fclose(f);
}

static void make_root_of(const char *pid)
{
	auto_free char *ns = xasprintf("%s/proc/%s/ns", root, pid);
	auto_free char *mnt = xasprintf("%s/mnt", ns), *user = xasprintf("%s/user", ns);

	assert_int_equal(mkdir(ns, 0700), 0);
	assert_int_equal(symlink("/proc/self/ns/mnt", mnt), 0);
	assert_int_equal(symlink("/proc/self/ns/user", user), 0);
}

static void podman_may_have_any_storage(void **state)
{
	write_monitor("40", "of a user", "0::/user.slice/libpod-" ID ".scope/container\n");
	is(NULL, "", "", "of a user");
}

static void a_process_without_a_child_in_the_container_names_nothing(void **state)
{
	write_monitor("40", "claimed", "0::/user.slice/libpod-x.scope\n");
	is(NULL, "", "", "");
}

static void the_monitor_of_root_comes_before_those_of_users(void **state)
{
	if (geteuid())
		skip_because("needs root");
	write_monitor("40", "claimed", "0::/user.slice/libpod-" ID ".scope\n");
	write_monitor("41", "right", "0::/machine.slice/libpod-" ID ".scope\n");
	make_root_of("41");
	is(NULL, "", "", "right");
	write_file("mnt/bundle/config.json",
		   "{\"annotations\": {\"" CONTAINER_DENY "\": \"deny\"}}");
	struct containers *all = containers_new(root);
	assert_true(containers_find(all, ID, NULL)->is_denied);
	containers_free(all);
}

static void damaged_files_give_no_names(void **state)
{
	write_file("var/log/containers/" ID ".log", "");
	write_file("var/log/containers/a_b" ID ".log", "");
	write_file("var/lib/docker/containers/" ID "/config.v2.json", "{\"Name\": [1], \"x");
	write_file("var/lib/containers/storage/overlay-containers/containers.json", "{}");
	write_file("run/containers/storage/overlay-containers/" ID "/userdata/config.json", "[]");
	is(NULL, "", "", "");
}

static void *answer(void *listening)
{
	int fd = accept(*(int *)listening, NULL, NULL);
	char request[512] = "";
	const char *text = "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n"
			   "{\"Name\": \"/from\\nsocket\", \"Config\": {\"Labels\": {}}}";

	assert_true(read(fd, request, sizeof(request) - 1) > 0);
	assert_non_null(strstr(request, "GET /containers/" ID "/json HTTP/1.0\r\n"));
	send(fd, text, strlen(text), MSG_NOSIGNAL); /* the asker may have given up */
	close(fd);
	return NULL;
}

static void docker_is_asked_on_its_socket_and_its_answer_is_cleaned(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	pthread_t thread;

	write_file("run/x", "");
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/run/docker.sock", root);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	pthread_create(&thread, NULL, answer, &fd);
	struct containers *all = containers_new(root);
	const char *name = containers_find(all, ID, NULL)->name;
	assert_non_null(strstr(name, "socket"));
	assert_null(strchr(name, '\n'));
	pthread_join(thread, NULL);
	containers_free(all);
	close(fd);
}

/* The configuration names another socket than the usual one. */
static void docker_is_asked_on_its_configured_socket(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	pthread_t thread;

	write_file("etc/docker/daemon.json",
		   "{\"hosts\": [\"tcp://0.0.0.0:1\", \"unix:///run/other.sock\"]}");
	write_file("run/x", "");
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/run/other.sock", root);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	pthread_create(&thread, NULL, answer, &fd);
	struct containers *all = containers_new(root);
	assert_non_null(strstr(containers_find(all, ID, NULL)->name, "socket"));
	pthread_join(thread, NULL);
	containers_free(all);
	close(fd);
}

static int listen_as(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", root, name);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 64), 0);
	return fd;
}

static const struct container *find_numbered(struct containers *all, unsigned i)
{
	char id[CONTAINER_ID_LEN + 1];

	snprintf(id, sizeof(id), "%064x", i);
	return containers_find(all, id, NULL);
}

static void a_runtime_that_does_not_answer_is_not_asked_again_soon(void **state)
{
	write_file("run/x", "");
	int fd = listen_as("run/docker.sock"), nr_asked = 0;
	struct containers *all = containers_new(root);

	for (unsigned i = 0; i < 20; i++)
		assert_string_equal(find_numbered(all, i)->name, "");
	for (int one; (one = accept(fd, NULL, NULL)) >= 0; nr_asked++)
		close(one);
	assert_int_equal(nr_asked, 3);
	containers_free(all);
	close(fd);
}

/* Answers like Docker after 10 ms, but never about container 2. */
static void *answer_but_one(void *listening)
{
	VEC(int) silent = { 0 };

	for (int fd; (fd = accept(*(int *)listening, NULL, NULL)) >= 0;) {
		char request[512] = "", text[200];
		unsigned number;
		assert_true(read(fd, request, sizeof(request) - 1) > 0);
		assert_int_equal(sscanf(request, "GET /containers/%x/json", &number), 1);
		if (number == 2) {
			vec_push(&silent, fd);
			continue;
		}
		usleep(10000);
		snprintf(text, sizeof(text), "HTTP/1.0 200 OK\r\n\r\n{\"Name\": \"/name-%u\"}",
			 number);
		send(fd, text, strlen(text), MSG_NOSIGNAL); /* the asker may have given up */
		close(fd);
	}
	vec_each(fd, &silent)
		close(*fd);
	vec_fini(&silent);
	return NULL;
}

static void a_silent_runtime_delays_only_its_own_container(void **state)
{
	pthread_t thread;
	char name[20];

	write_file("run/x", "");
	int fd = listen_as("run/docker.sock");
	fcntl(fd, F_SETFL, 0);
	pthread_create(&thread, NULL, answer_but_one, &fd);
	struct containers *all = containers_new(root);
	containers_set_credit(all, 60 * NS_PER_SEC);
	assert_true(containers_are_reported(all));
	for (unsigned i = 0; i < 150; i++) {
		snprintf(name, sizeof(name), "name-%u", i);
		assert_string_equal(find_numbered(all, i)->name, i == 2 ? "" : name);
	}
	assert_false(containers_are_reported(all));
	shutdown(fd, SHUT_RDWR);
	pthread_join(thread, NULL);
	containers_free(all);
	close(fd);
}

/* Sends a byte at a time, each before a single read times out. */
static void *drip(void *listening)
{
	int fd = accept(*(int *)listening, NULL, NULL);

	while (send(fd, "x", 1, MSG_NOSIGNAL) == 1)
		usleep(10000);
	close(fd);
	return NULL;
}

static void an_endless_answer_of_a_runtime_is_abandoned(void **state)
{
	pthread_t thread;

	write_file("run/x", "");
	int fd = listen_as("run/docker.sock");
	fcntl(fd, F_SETFL, 0);
	pthread_create(&thread, NULL, drip, &fd);
	struct containers *all = containers_new(root);
	assert_string_equal(find_numbered(all, 1)->name, "");
	pthread_join(thread, NULL);
	containers_free(all);
	close(fd);
}

/* Each takes about a millisecond: together 10 s. */
static void asking_for_thousands_of_containers_leaves_time(void **state)
{
	char *long_list = xcalloc(1, 200001);
	unsigned nr_named = 0;

	memset(long_list, ' ', 200000);
	char *text = xasprintf("{\"Name\": \"/db\"}%s", long_list);
	char *list = xasprintf("[%s]", long_list);
	write_file("var/lib/containers/storage/overlay-containers/containers.json", list);
	struct containers *all = containers_new(root);
	for (unsigned i = 0; i < 20000; i++) {
		if (i % 100 == 0) {
			char *path = xasprintf("var/lib/docker/containers/%064x/config.v2.json", i);
			write_file(path, text);
			free(path);
		}
		nr_named += !!*find_numbered(all, i)->name;
	}
	assert_true(nr_named > 0);
	assert_true(nr_named < 200);
	containers_free(all);
	free(long_list);
	free(text);
	free(list);
}

static void the_number_of_containers_is_limited(void **state)
{
	struct containers *all = containers_new(root);

	for (unsigned i = 0; i < CONTAINERS_MAX; i++)
		assert_non_null(find_numbered(all, i));
	assert_null(find_numbered(all, CONTAINERS_MAX));
	assert_non_null(find_numbered(all, 7));
	containers_free(all);
}

static void a_sweep_drops_containers_that_are_not_kept(void **state)
{
	struct containers *all = containers_new(root);
	const struct container *kept = find_numbered(all, CONTAINERS_MAX - 1);

	for (unsigned i = 0; i < CONTAINERS_MAX - 1; i++)
		assert_non_null(find_numbered(all, i));
	assert_null(find_numbered(all, CONTAINERS_MAX));
	containers_keep(kept);
	containers_keep(NULL);
	containers_sweep(all);
	assert_ptr_equal(find_numbered(all, CONTAINERS_MAX - 1), kept);
	assert_non_null(find_numbered(all, CONTAINERS_MAX));
	containers_sweep(all);
	assert_true(containers_are_reported(all));
	containers_free(all);
}

static void a_process_has_the_container_of_its_control_groups(void **state)
{
	struct containers *all = containers_new(root);
	const struct container *c = NULL, *none;

	write_file("proc/7/cgroup", "0::/kubepods/pod" UID "/" ID "\n");
	write_file("proc/8/cgroup", "0::/user.slice\n");
	assert_int_equal(containers_of(all, 7, &c), 0);
	assert_string_equal(c->id, ID);
	assert_string_equal(c->pod_uid, UID);
	assert_int_equal(containers_of(all, 8, &none), 0);
	assert_null(none);
	assert_true(containers_of(all, 9, &c) < 0);
	containers_free(all);
}

static void names_pods_and_parts_of_ids_select_a_container(void **state)
{
	write_file("var/log/containers/web_shop_app-" ID ".log", "");
	struct containers *all = containers_new(root);
	const struct container *c = containers_find(all, ID, UID);

	assert_true(container_matches(c, "app"));
	assert_true(container_matches(c, "012345"));
	assert_false(container_matches(c, "01234"));
	assert_false(container_matches(c, ""));
	assert_false(container_matches(c, "ap"));
	assert_true(container_matches_pod(c, "web"));
	assert_true(container_matches_pod(c, "shop/web"));
	assert_true(container_matches_pod(c, UID));
	assert_false(container_matches_pod(c, "sho/web"));
	assert_false(container_matches_pod(c, "shop/app"));
	containers_free(all);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_root, remove_root)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_names_of_log_files_are_read),
		TEST(annotations_of_bundles_are_read),
		TEST(an_annotation_opts_out_in_the_form_of_each_runtime),
		TEST(a_line_of_a_file_opts_out),
		TEST(dockers_configuration_is_read),
		TEST(docker_may_have_another_data_root),
		TEST(podman_may_have_another_storage),
		TEST(podman_may_have_any_storage),
		TEST(a_process_without_a_child_in_the_container_names_nothing),
		TEST(the_monitor_of_root_comes_before_those_of_users),
		TEST(damaged_configurations_leave_the_usual_places),
		TEST(the_list_of_podman_is_read),
		TEST(damaged_files_give_no_names),
		TEST(docker_is_asked_on_its_socket_and_its_answer_is_cleaned),
		TEST(docker_is_asked_on_its_configured_socket),
		TEST(a_runtime_that_does_not_answer_is_not_asked_again_soon),
		TEST(a_silent_runtime_delays_only_its_own_container),
		TEST(an_endless_answer_of_a_runtime_is_abandoned),
		TEST(asking_for_thousands_of_containers_leaves_time),
		TEST(the_number_of_containers_is_limited),
		TEST(a_sweep_drops_containers_that_are_not_kept),
		TEST(a_process_has_the_container_of_its_control_groups),
		TEST(names_pods_and_parts_of_ids_select_a_container),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
