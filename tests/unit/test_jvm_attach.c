/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "jvm/attach/attach.h"
#include "jvm/attach/file_label.h"
#include "jvm/attach/inject.h"
#include "jvm/attach/injector.h"
#include "jvm/attach/job.h"
#include "jvm/attach/loaded_agent.h"
#include "sandbox/message.h"

static enum attach_verdict verdict(const char *reply, struct str *text)
{
	return attach_load_reply(reply, strlen(reply), text);
}

/* The replies of JDK 8u504, 11.0.33, 17, 21.0.13 and 25 to 28. */
static void every_dialect_of_success_is_read(void **state)
{
	auto_str struct str text = { 0 };

	assert_int_equal(verdict("0\n0\n", &text), ATTACH_LOADED);
	assert_int_equal(verdict("0\nreturn code: 0\n", &text), ATTACH_LOADED);
}

static void a_failed_agent_differs_from_one_not_loaded(void **state)
{
	auto_str struct str text = { 0 };

	assert_int_equal(verdict("0\n1\n", &text), ATTACH_RETURNED);
	assert_int_equal(verdict("0\nreturn code: 1\n", &text), ATTACH_RETURNED);
	assert_int_equal(verdict("0\nreturn code: -1\n", &text), ATTACH_RETURNED);
}

static void every_dialect_of_refusal_gives_its_reason(void **state)
{
	auto_str struct str text = { 0 };

	assert_int_equal(verdict("-1\n", &text), ATTACH_REFUSED);
	assert_string_equal(text.at, "");
	assert_int_equal(
		verdict("-1\n/x.so was not loaded.\n/x.so: cannot open shared object file: "
			"No such file or directory\n",
			&text),
		ATTACH_REFUSED);
	assert_string_equal(text.at,
			    "/x.so: cannot open shared object file: No such file or directory");
	assert_int_equal(verdict("0\n/x.so was not loaded.\n/x.so: cannot open\n", &text),
			 ATTACH_REFUSED);
	assert_string_equal(text.at, "/x.so: cannot open");
	const char *disabled = "Dynamic agent loading is not enabled. Use "
			       "-XX:+EnableDynamicAgentLoading to launch target VM.";
	auto_str struct str reply = { 0 };
	str_addf(&reply, "0\n%s\n", disabled);
	assert_int_equal(verdict(reply.at, &text), ATTACH_REFUSED);
	assert_string_equal(text.at, disabled);
	reply.at[0] = '7';
	assert_int_equal(verdict(reply.at, &text), ATTACH_REFUSED);
}

static void an_invalid_reply_is_garbled(void **state)
{
	static const char *const replies[] = { "",       "\n",     "0", "-", "return code: 0\n",
					       "x\n0\n", "0x\n0\n" };
	auto_str struct str text = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(replies); i++)
		assert_int_equal(verdict(replies[i], &text), ATTACH_GARBLED);
	assert_int_equal(attach_load_reply("0\0\n0\n", 5, &text), ATTACH_GARBLED);
	assert_int_equal(verdict("0\nreturn code: 0x\n", &text), ATTACH_REFUSED);
	assert_int_equal(verdict("0\nreturn code: \n", &text), ATTACH_REFUSED);
	assert_int_equal(verdict("101\n", &text), ATTACH_REFUSED);
}

static void a_request_has_four_words_and_always_three_arguments(void **state)
{
	static const char expected[] = "1\0load\0/a.so\0true\0v=1";
	auto_str struct str request = { 0 };
	char long_path[ATTACH_ARGUMENT_MAX + 1];

	assert_int_equal(attach_load_request("/a.so", "v=1", &request), 0);
	assert_int_equal(request.len, sizeof(expected));
	assert_memory_equal(request.at, expected, sizeof(expected));
	memset(long_path, 'x', sizeof(long_path));
	long_path[ATTACH_ARGUMENT_MAX] = '\0';
	assert_int_equal(attach_load_request(long_path, "", &request), -E2BIG);
	long_path[ATTACH_ARGUMENT_MAX - 1] = '\0';
	assert_int_equal(attach_load_request(long_path, "", &request), 0);
}

static void a_talk_ends_when_the_other_side_closes_or_stays_silent(void **state)
{
	auto_str struct str request = { 0 }, reply = { 0 };
	int pair[2];

	str_add(&request, "hello");
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(attach_talk(pair[0], &request, 20, &reply), -ETIMEDOUT);
	assert_int_equal(write(pair[1], "0\n0\n", 4), 4);
	assert_int_equal(attach_talk(pair[0], &request, 20, &reply), -ETIMEDOUT);
	assert_int_equal(write(pair[1], "0\n0\n", 4), 4);
	shutdown(pair[1], SHUT_WR);
	assert_int_equal(attach_talk(pair[0], &request, 20, &reply), 0);
	assert_string_equal(reply.at, "0\n0\n");
	close(pair[1]);
	assert_int_equal(attach_talk(pair[0], &request, 20, &reply), -EPIPE);
	close(pair[0]);
}

static void a_job_is_an_orphan_once_its_reader_has_ended(void **state)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	const struct job start = { .fd = pair[0] }, stop = { .fd = -1 };
	assert_false(job_is_orphan(&start));
	close(pair[1]);
	assert_true(job_is_orphan(&start));
	assert_false(job_is_orphan(&stop));
	close(pair[0]);
}

/* Maps a file of these bytes like the code of a library; its name is gone then. */
static void load(const char *folder, const char *name, void **at)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0700);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "agent", 5), 5);
	*at = mmap(NULL, 5, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(*at, MAP_FAILED);
	close(fd);
	unlink(path);
}

/* The result of the command to this process. */
static struct inject_result obey(struct inject_order *order, enum inject_command command)
{
	struct inject_result result = { 0 };
	struct worker_message m;
	int pair[2], fds[WORKER_FDS_MAX];
	size_t nr;

	order->command = command;
	inject_nonce(order->nonce);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_int_equal(injector_run(order, pair[0], -1), 0);
	assert_int_equal(message_receive(pair[1], &m, fds, &nr), 0);
	assert_int_equal(inject_result_decode(&m, &result), 0);
	close(pair[0]);
	close(pair[1]);
	return result;
}

/* We are the JVM, which would load another agent. */
static void no_further_command_is_sent_to_a_copy_under_musl(void **state)
{
	static const enum inject_command commands[] = { INJECT_METHODS, INJECT_HOOKS, INJECT_REPLAY,
							INJECT_REFS, INJECT_STOP };
	char folder[] = "/tmp/test-attach-XXXXXX";
	struct proc_status self;
	void *loader;

	assert_non_null(mkdtemp(folder));
	assert_int_equal(proc_status_read(getpid(), &self), 0);
	struct inject_order order = {
		.id = proc_status_id(&self),
		.agent_path = "/nonexistent",
		.loaded_path = "/tmp/.jvmmap-0123456789abcdef0123456789abcdef.so",
	};
	struct job j = { .order = &order, .t.status = self };
	assert_false(loaded_agent_is_unreachable(&j, order.loaded_path));
	load(folder, "ld-musl-x86_64.so.1", &loader);
	assert_true(loaded_agent_is_unreachable(&j, order.loaded_path));
	assert_false(loaded_agent_is_unreachable(&j, order.agent_path));
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		struct inject_result result = obey(&order, commands[i]);
		assert_int_equal(result.outcome, INJECT_REFUSED);
		assert_string_equal(result.reason, INJECT_NO_COMMAND);
	}
	munmap(loader, 5);
	rmdir(folder);
}

/* We are the JVM. A copy is recognised by its content and its name. */
static void a_copy_is_found_by_its_path_but_not_under_musl(void **state)
{
	static const char name[] = ".jvmmap-0123456789abcdef0123456789abcdef.so";
	char folder[] = "/tmp/test-attach-XXXXXX", agent[64];
	struct inject_order order = { .agent_path = agent };
	struct job j = { .order = &order };
	void *copy, *loader;

	assert_non_null(mkdtemp(folder));
	snprintf(agent, sizeof(agent), "%s/agent", folder);
	snprintf(order.loaded_path, sizeof(order.loaded_path), "/tmp/%s", name);
	FILE *file = fopen(agent, "w");
	assert_non_null(file);
	fputs("agent", file);
	fclose(file);
	assert_int_equal(proc_status_read(getpid(), &j.t.status), 0);
	assert_false(loaded_agent_has_path(&j));
	load(folder, name, &copy);
	bool may_open = !access("/proc/self/map_files", R_OK | X_OK) && !geteuid();
	assert_int_equal(loaded_agent_has_path(&j), may_open);
	load(folder, "ld-musl-x86_64.so.1", &loader);
	assert_false(loaded_agent_has_path(&j));
	munmap(loader, 5);
	munmap(copy, 5);
	unlink(agent);
	rmdir(folder);
}

/* Answers of Linux 6.1: none, permission 17 of a domain that is enforced, and a permissive one. */
static void the_policy_permits_what_its_answer_has(void **state)
{
	static const char enforced[] = "10002 ffffffff 0 ffffffff 9 0";

	assert_true(file_label_is_permitted(enforced, 17));
	assert_true(file_label_is_permitted(enforced, 2));
	assert_false(file_label_is_permitted(enforced, 1));
	assert_false(file_label_is_permitted(enforced, 18));
	assert_false(file_label_is_permitted(enforced, 0));
	assert_false(file_label_is_permitted(enforced, 34));
	assert_true(file_label_is_permitted("0 ffffffff 0 ffffffff 9 1", 5));
	assert_false(file_label_is_permitted("10002", 17));
	assert_false(file_label_is_permitted("", 17));
}

static void without_selinux_every_file_is_visible(void **state)
{
	char own[256] = "";
	FILE *file = fopen("/proc/thread-self/attr/current", "re");

	if (file && fgets(own, sizeof(own), file) && strchr(own, ':'))
		skip();
	if (file)
		fclose(file);
	const struct process_root t = { .proc_fd = -1, .tmp_fd = -1 };
	assert_false(file_label_begin(&t));
	assert_true(file_label_is_visible(&t, "no such file"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_dialect_of_success_is_read),
		cmocka_unit_test(a_failed_agent_differs_from_one_not_loaded),
		cmocka_unit_test(every_dialect_of_refusal_gives_its_reason),
		cmocka_unit_test(an_invalid_reply_is_garbled),
		cmocka_unit_test(a_request_has_four_words_and_always_three_arguments),
		cmocka_unit_test(a_talk_ends_when_the_other_side_closes_or_stays_silent),
		cmocka_unit_test(a_job_is_an_orphan_once_its_reader_has_ended),
		cmocka_unit_test(a_copy_is_found_by_its_path_but_not_under_musl),
		cmocka_unit_test(no_further_command_is_sent_to_a_copy_under_musl),
		cmocka_unit_test(the_policy_permits_what_its_answer_has),
		cmocka_unit_test(without_selinux_every_file_is_visible),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
