/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The full names of the threads of a live JVM. JDK=N: one of tests/jvm/jdks instead of the host's;
 * JVM_FLAGS: additional flags for it.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "java.h"
#include "jvm/hotspot/thread_names.h"
#include "test.h"

struct world {
	pid_t child, pid;
	FILE *in, *out;
	struct hotspot *h;
	struct thread_names *names;
};

static struct world world;

static void await(const char *word)
{
	char line[256] = "";

	while (strcmp(line, word) != 0)
		assert_non_null(fgets(line, sizeof(line), world.out));
}

static int start_jvm(void **state)
{
	const char *flags = getenv("JVM_FLAGS");
	char args[512];

	/* ZGC would leave an old copy of the thread that is renamed later. */
	snprintf(args, sizeof(args), "%s Threads %s", flags ? flags : "",
		 flags && strstr(flags, "ZGC") ? "" : "gc");
	world.child = java_converse(args, &world.in, &world.out);
	if (world.child < 0)
		return -1;
	await("ready\n");
	world.pid = java_pid(world.child);
	world.names = thread_names_new();
	return hotspot_open((struct process_id){ world.pid, 0 }, &world.h);
}

static int stop_jvm(void **state)
{
	hotspot_free(world.h);
	thread_names_free(world.names);
	java_end(world.child);
	fclose(world.in);
	fclose(world.out);
	return 0;
}

/* The tid of the thread with that name, 0 if there is none. */
static pid_t find(const char *name)
{
	struct hotspot_thread *all;
	ssize_t nr = hotspot_threads(world.h, &all);
	pid_t tid = 0;

	assert_true(nr > 0);
	for (ssize_t i = 0; i < nr; i++) {
		const char *found = thread_names_find(world.names, all[i].tid);
		if (found && !strcmp(found, name))
			tid = all[i].tid;
	}
	free(all);
	return tid;
}

static const char *comm_of(pid_t tid)
{
	static char comm[32]; /* scratch */
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", world.pid, tid);
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	assert_non_null(fgets(comm, sizeof(comm), f));
	comm[strcspn(comm, "\n")] = '\0';
	fclose(f);
	return comm;
}

static void every_thread_has_a_name(void **state)
{
	struct hotspot_thread *all;

	assert_int_equal(thread_names_read(world.names, world.h), 0);
	ssize_t nr = hotspot_threads(world.h, &all);
	assert_true(nr > 5);
	for (ssize_t i = 0; i < nr; i++)
		assert_non_null(thread_names_find(world.names, all[i].tid));
	free(all);
	assert_true(find("main"));
	assert_true(find("Reference Handler"));
}

static void a_name_is_longer_than_the_kernels(void **state)
{
	pid_t tid = find("a-name-that-is-longer-than-the-kernel-keeps-0001");

	assert_true(tid);
	assert_true(strlen(comm_of(tid)) <= 15);
	assert_memory_equal(comm_of(tid), "a-name", 6);
}

static void names_beyond_ascii_are_clean_utf8(void **state)
{
	assert_true(find("café-bar-über"));
	assert_true(find("線程-🚀-\xef\xbf\xbd"));
}

static void an_endless_name_is_truncated(void **state)
{
	char name[513] = "endless-";

	for (int i = 8; i < 512; i++)
		name[i] = (char)('a' + (i - 8) % 26);
	assert_true(find(name));
}

static void rename_them(void)
{
	fputc('x', world.in);
	fflush(world.in);
	await("renamed\n");
}

/* Retries until the name appears, for at most ten seconds. */
static void assert_named(pid_t tid, const char *expected)
{
	const char *name = "";

	for (int i = 0; i < 1000 && strcmp(name ?: "", expected) != 0; i++) {
		name = thread_names_ask(world.names, world.h, tid, comm_of(tid));
		usleep(10000);
	}
	assert_non_null(name);
	assert_string_equal(name, expected);
}

static void a_thread_renamed_by_another_is_read_again(void **state)
{
	pid_t tid = find("renamed-0");

	assert_true(tid);
	assert_named(tid, "renamed-0");
	rename_them();
	assert_named(tid, "renamed-for-the-1th-time");
}

static void a_thread_that_renamed_itself_has_no_old_name(void **state)
{
	pid_t tid = find("self-1-with-a-long-name");
	char old[32];

	assert_true(tid);
	strcpy(old, comm_of(tid));
	rename_them();
	assert_string_not_equal(old, comm_of(tid));
	const char *name = thread_names_ask(world.names, world.h, tid, comm_of(tid));
	assert_true(!name || !strcmp(name, "self-2-with-a-long-name"));
	assert_named(tid, "self-2-with-a-long-name");
	assert_null(thread_names_ask(world.names, world.h, tid, old));
}

/* A thread that is just naming itself looks the same. */
static void a_name_that_differs_from_the_kernels_is_doubted_first(void **state)
{
	struct thread_names *first = world.names;
	pid_t tid = find("renamed-for-the-2th-time");

	assert_true(tid);
	assert_string_equal(comm_of(tid), "renamed-0");
	world.names = thread_names_new();
	assert_int_equal(thread_names_read(world.names, world.h), 0);
	assert_null(thread_names_find(world.names, tid));
	assert_true(find("main")); /* the kernel never got a name for it */
	assert_named(tid, "renamed-for-the-2th-time");
	thread_names_free(world.names);
	world.names = first;
}

static pid_t tid_with_comm(const char *comm)
{
	char path[64];
	pid_t tid = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", world.pid);
	DIR *all = opendir(path);
	assert_non_null(all);
	for (const struct dirent *e; !tid && (e = readdir(all));)
		if (atoi(e->d_name) && !strcmp(comm_of(atoi(e->d_name)), comm))
			tid = atoi(e->d_name);
	closedir(all);
	return tid;
}

static u64 nr_reads(void)
{
	struct hotspot_info info;

	hotspot_info(world.h, &info);
	return info.nr_reads;
}

/* No list of Java threads has it: each question would otherwise read all names. */
static void a_thread_of_the_vm_is_looked_for_ever_more_rarely(void **state)
{
	pid_t tid = tid_with_comm("VM Thread");
	u64 first = nr_reads(), of_info = nr_reads() - first;
	int nr = 0;

	assert_true(tid);
	for (int i = 0; i < 100; i++) {
		u64 before = nr_reads();
		assert_null(thread_names_ask(world.names, world.h, tid, "VM Thread"));
		nr += nr_reads() - before > of_info;
		usleep(10000);
	}
	assert_true(nr > 0 && nr < 8);
}

static void a_name_from_an_agent_is_found(void **state)
{
	struct thread_names *reported = thread_names_new();

	thread_names_report(reported, 7, "short-lived\x1b", 12);
	assert_string_equal(thread_names_find(reported, 7), "short-lived\xef\xbf\xbd");
	thread_names_report(reported, 7, "its-successor", 13);
	assert_string_equal(thread_names_find(reported, 7), "its-successor");
	assert_null(thread_names_find(reported, 8));
	/* U+1F600 as JVMTI gives it, in two surrogates; and a NUL. */
	thread_names_report(reported, 9, "\xed\xa0\xbd\xed\xb8\x80-\xc0\x80", 9);
	assert_string_equal(thread_names_find(reported, 9),
			    "\xf0\x9f\x98\x80-\xef\xbf\xbd\xef\xbf\xbd");
	thread_names_report(reported, 9, "", 0);
	assert_string_equal(thread_names_find(reported, 9), "");
	thread_names_free(reported);
}

static void a_name_from_an_agent_must_match_the_comm(void **state)
{
	struct thread_names *reported = thread_names_new();

	thread_names_report(reported, 7, "short-lived", 11);
	assert_string_equal(thread_names_reported(reported, 7, "short-lived"), "short-lived");
	assert_null(thread_names_reported(reported, 7, "java"));
	assert_null(thread_names_reported(reported, 8, "short-lived"));
	thread_names_report(reported, 7, "of-sixteen-bytes", 16);
	assert_string_equal(thread_names_reported(reported, 7, "of-sixt..-bytes"),
			    "of-sixteen-bytes");
	assert_string_equal(thread_names_reported(reported, 7, "of-sixteen-byte"),
			    "of-sixteen-bytes");
	assert_null(thread_names_reported(reported, 7, "of-sixt..-bits"));
	thread_names_free(reported);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_thread_has_a_name),
		cmocka_unit_test(a_name_is_longer_than_the_kernels),
		cmocka_unit_test(names_beyond_ascii_are_clean_utf8),
		cmocka_unit_test(an_endless_name_is_truncated),
		cmocka_unit_test(a_thread_renamed_by_another_is_read_again),
		cmocka_unit_test(a_thread_that_renamed_itself_has_no_old_name),
		cmocka_unit_test(a_name_that_differs_from_the_kernels_is_doubted_first),
		cmocka_unit_test(a_thread_of_the_vm_is_looked_for_ever_more_rarely),
		cmocka_unit_test(a_name_from_an_agent_is_found),
		cmocka_unit_test(a_name_from_an_agent_must_match_the_comm),
	};

	skip_all_if(java_lacking());
	return cmocka_run_group_tests(tests, start_jvm, stop_jvm);
}
