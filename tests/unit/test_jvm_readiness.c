/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "jvm/attach/readiness.h"
#include "jvm/hotspot/legibility.h"
#include "jvm/process/perfdata.h"

static void live_events_are_for_jdks_that_do_not_crash_in_them(void **state)
{
	assert_true(readiness_for_live_events("17.0.15"));
	assert_true(readiness_for_live_events("25"));
	assert_true(readiness_for_live_events("28-ea"));
	assert_true(readiness_for_live_events("11.0.20"));
	assert_true(readiness_for_live_events("11.0.33.1"));
	assert_true(readiness_for_live_events("1.8.0_382"));
	assert_true(readiness_for_live_events("1.8.0_504-ea"));
	assert_false(readiness_for_live_events("1.8.0_381"));
	assert_false(readiness_for_live_events("1.8.0"));
	assert_false(readiness_for_live_events("1.7.0_999"));
	assert_false(readiness_for_live_events("11"));
	assert_false(readiness_for_live_events("11.0.19"));
	assert_false(readiness_for_live_events("16.0.2"));
	assert_false(readiness_for_live_events("?"));
	assert_false(readiness_for_live_events(""));
}

/* Makes a file of counters with one string. */
static size_t make_perfdata(u8 *out, const char *name, const char *value)
{
	const u8 prologue[32] = { 0xca, 0xfe, 0xc0, 0xc0, 1, 2, 0, 1, [24] = 32, [28] = 1 };
	u8 entry[84] = { 84, [4] = 20, [8] = 20, [12] = 'B', [16] = 64 };

	strcpy((char *)entry + 20, name);
	strcpy((char *)entry + 64, value);
	memcpy(out, prologue, sizeof(prologue));
	memcpy(out + sizeof(prologue), entry, sizeof(entry));
	return sizeof(prologue) + sizeof(entry);
}

static void a_string_counter_is_found_by_its_name(void **state)
{
	u8 bytes[200];
	size_t len = make_perfdata(bytes, "java.property.java.version", "1.8.0_504");
	char *value = perfdata_string(bytes, len, "java.property.java.version");

	assert_string_equal(value, "1.8.0_504");
	free(value);
	assert_null(perfdata_string(bytes, len, "java.property.java.versio"));
}

static void an_aligned_number_is_found(void **state)
{
	u8 bytes[200];
	size_t len = make_perfdata(bytes, "java.cls.unloadedClasses", "");

	assert_int_equal(perfdata_number(bytes, len, "java.cls.unloadedClasses"), 0);
	bytes[32 + 8] = 0; /* no vector */
	bytes[32 + 12] = 'J';
	assert_int_equal(perfdata_number(bytes, len, "java.cls.unloadedClasses"), 32 + 64);
	assert_int_equal(perfdata_number(bytes, len, "java.cls.unloadedClass"), 0);
	assert_int_equal(perfdata_number(bytes, len - 13, "java.cls.unloadedClasses"), 0);
	bytes[32 + 16] = 60;
	assert_int_equal(perfdata_number(bytes, len, "java.cls.unloadedClasses"), 0);
}

static void hostile_counters_are_read_within_their_bounds(void **state)
{
	u8 whole[200];
	size_t len = make_perfdata(whole, "n", "v");

	srand(7);
	for (int i = 0; i < 200003; i++) {
		size_t cut = (size_t)rand() % (len + 1);
		u8 *bytes = malloc(cut + 1);
		memcpy(bytes, whole, cut);
		if (cut > 24)
			for (int k = rand() % 4; k >= 0; k--)
				bytes[24 + (size_t)rand() % (cut - 24)] = (u8)rand();
		free(perfdata_string(bytes, cut, "n"));
		free(bytes);
	}
}

/* Reading a process that ends gives other errors than its end. */
static void a_process_that_has_ended_is_no_other_vm(void **state)
{
	const int errors[] = { -ENOENT, -ENOEXEC, -ESRCH, -EFAULT, -EAGAIN };
	struct proc_status child = { 0 };
	auto_str struct str why = { 0 };
	siginfo_t info;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(proc_status_read(pid, &child), 0);
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		assert_int_equal(legibility_of(proc_status_id(&child), errors[i], NULL, &why),
				 NOT_STARTED);
		assert_string_equal(why.at, "it has ended");
	}
	process_root_explain(pid, -ENOENT, &why);
	assert_string_equal(why.at, "it has ended");
	waitpid(pid, NULL, 0);
	assert_true(proc_has_ended(proc_status_id(&child)));
}

static void a_running_process_keeps_its_diagnosis(void **state)
{
	struct proc_status self;
	auto_str struct str why = { 0 };

	assert_int_equal(proc_status_read(getpid(), &self), 0);
	assert_int_equal(legibility_of(proc_status_id(&self), -ENOEXEC, NULL, &why), ILLEGIBLE);
	assert_non_null(strstr(why.at, "not HotSpot as we know it"));
	assert_int_equal(legibility_of(proc_status_id(&self), -ENOENT, NULL, &why), ILLEGIBLE);
	assert_non_null(strstr(why.at, "no longer mapped"));
}

/* The signal is sent only if the handler is libjvm's. */
static void only_a_handler_in_libjvm_gets_the_signal(void **state)
{
	struct mappings code = { 0 };
	auto_str struct str why = { 0 };
	struct process_facts facts = { true, 0x1500, ~0u };
	const struct mapping all[] = {
		{ .start = 0x1000, .end = 0x2000, .executable = true, .path = "/jdk/libjvm.so" },
		{ .start = 0x3000, .end = 0x4000, .executable = true, .path = "/opt/program" },
	};

	mappings_insert(&code, &all[0]);
	mappings_insert(&code, &all[1]);
	assert_int_equal(readiness_of_handler(&facts, &code, &why), READY);
	facts.quit_handler = 0x3500;
	assert_int_equal(readiness_of_handler(&facts, &code, &why), NEVER);
	assert_non_null(strstr(why.at, "handles SIGQUIT itself"));
	facts.quit_handler = 0;
	assert_int_equal(readiness_of_handler(&facts, &code, &why), NEVER);
	facts = (struct process_facts){ 0 };
	assert_int_equal(readiness_of_handler(&facts, &code, &why), NEVER);
	assert_non_null(strstr(why.at, "CAP_BPF"));
	mappings_fini(&code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(live_events_are_for_jdks_that_do_not_crash_in_them),
		cmocka_unit_test(a_string_counter_is_found_by_its_name),
		cmocka_unit_test(an_aligned_number_is_found),
		cmocka_unit_test(hostile_counters_are_read_within_their_bounds),
		cmocka_unit_test(a_process_that_has_ended_is_no_other_vm),
		cmocka_unit_test(a_running_process_keeps_its_diagnosis),
		cmocka_unit_test(only_a_handler_in_libjvm_gets_the_signal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
