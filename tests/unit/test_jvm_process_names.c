/* SPDX-License-Identifier: Apache-2.0 */
/* The names of a process, whose words are made up. */
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jvm/process/words.h"

/* The words of the process now; NULL: they cannot be read. */
struct fake {
	const char *args, *environ;
	size_t args_len, environ_len;
	int nr_reads;
};

static struct fake now;

static char *copy(const char *text, size_t len, size_t *out)
{
	char *own = text ? malloc(len) : NULL;

	if (own)
		memcpy(own, text, len);
	*out = own ? len : 0;
	return own;
}

static void fake_words(struct process_id id, int which, struct words *out)
{
	now.nr_reads++;
	*out = (struct words){ 0 };
	if (which & WORDS_ARGS)
		out->args = copy(now.args, now.args_len, &out->args_len);
	if (which & WORDS_ENVIRON)
		out->environ = copy(now.environ, now.environ_len, &out->environ_len);
}

static u64 clock_ns;

static u64 fake_clock(void)
{
	return clock_ns;
}

#define words_read   fake_words
#define time_mono_ns fake_clock
#include "jvm/process/process_names.c"

#define SAY(arguments, environment)                    \
	do {                                           \
		now.args = arguments;                  \
		now.args_len = sizeof(arguments);      \
		now.environ = environment;             \
		now.environ_len = sizeof(environment); \
	} while (0)

/* A PID that nobody has. */
static struct process new_process(const char *comm)
{
	struct process p = { .id = { .pid = 0x7fffffff, .start_ns = 1 } };

	p.jvm = p.id;
	strcpy(p.comm, comm);
	now.nr_reads = 0;
	return p;
}

static void done(struct process *p)
{
	free(p->names.main_class);
	free(p->names.own_service);
	free(p->names.main);
	free(p->names.service);
	free(p->names.jvm);
	free(p->names.container);
}

static void are(const struct process_names *n, const char *service, const char *main,
		const char *jvm)
{
	assert_string_equal(n->service, service);
	assert_string_equal(n->main, main);
	if (jvm)
		assert_string_equal(n->jvm, jvm);
	else
		assert_null(n->jvm);
}

static void a_launcher_has_the_name_of_the_jvm_once_it_can_be_asked(void **state)
{
	struct process p = new_process("java");

	SAY("java\0@file", "A=b");
	are(process_names_update(&p, NULL, NULL, false), "java", "java", NULL);
	p.is_jvm = true;
	are(process_names_update(&p, NULL, NULL, false), "java", "java", NULL);
	are(process_names_update(&p, "com.acme.Shop 14", NULL, false), "com.acme.Shop",
	    "com.acme.Shop", "Shop");
	process_names_update(&p, "com.acme.Shop 14", NULL, false);
	assert_int_equal(now.nr_reads, 3);
	done(&p);
}

static void a_launcher_of_another_name_becomes_a_jvm(void **state)
{
	struct process p = new_process("shopd");

	SAY("shopd\0-config\0shop.xml", "A=b");
	are(process_names_update(&p, NULL, NULL, false), "shopd", "shopd", NULL);
	p.is_jvm = true;
	are(process_names_update(&p, "com.acme.Shop", NULL, false), "com.acme.Shop",
	    "com.acme.Shop", "Shop");
	done(&p);
}

static void a_failed_read_is_repeated_ever_more_rarely(void **state)
{
	struct process p = new_process("java");

	clock_ns = 10 * NS_PER_SEC;
	SAY("java\0com.acme.Shop", "OTEL_SERVICE_NAME=checkout");
	now.environ = NULL;
	are(process_names_update(&p, NULL, NULL, false), "com.acme.Shop", "com.acme.Shop", "Shop");
	clock_ns += NS_PER_SEC / 2;
	process_names_update(&p, NULL, NULL, false);
	assert_int_equal(now.nr_reads, 1);
	clock_ns += NS_PER_SEC;
	process_names_update(&p, NULL, NULL, false);
	clock_ns += NS_PER_SEC;
	process_names_update(&p, NULL, NULL, false);
	assert_int_equal(now.nr_reads, 2);
	clock_ns += 2 * NS_PER_SEC;
	SAY("java\0com.acme.Shop", "OTEL_SERVICE_NAME=checkout");
	are(process_names_update(&p, NULL, NULL, false), "checkout", "com.acme.Shop",
	    "checkout - Shop");
	clock_ns += 1000 * NS_PER_SEC;
	process_names_update(&p, NULL, NULL, false);
	assert_int_equal(now.nr_reads, 3);
	done(&p);
}

static void a_failed_read_takes_no_name_away(void **state)
{
	struct process p = new_process("java");

	SAY("java\0com.acme.Shop", "OTEL_SERVICE_NAME=checkout");
	process_names_update(&p, NULL, NULL, false);
	p.is_jvm = true;
	now.args = now.environ = NULL;
	are(process_names_update(&p, NULL, NULL, false), "checkout", "com.acme.Shop",
	    "checkout - Shop");
	are(process_names_update(&p, "com.acme.Till", NULL, false), "checkout", "com.acme.Till",
	    "checkout - Till");
	done(&p);
}

/* Its memory is that of the next program. */
static void a_program_that_is_over_is_not_read(void **state)
{
	struct process p = new_process("java");

	SAY("java\0com.acme.Till", "A=b");
	are(process_names_update(&p, NULL, NULL, true), "java", "java", NULL);
	p.is_jvm = true;
	are(process_names_update(&p, "com.acme.Shop", NULL, true), "com.acme.Shop", "com.acme.Shop",
	    "Shop");
	assert_int_equal(now.nr_reads, 0);
	done(&p);
}

static void the_name_of_a_container_may_come_late(void **state)
{
	struct container c = { .name = "", .pod = "", .namespace = "" };
	struct process p = new_process("program");

	SAY("program", "A=b");
	are(process_names_update(&p, NULL, NULL, false), "program", "program", NULL);
	process_names_update(&p, NULL, &c, false);
	c.name = "shop";
	are(process_names_update(&p, NULL, &c, false), "shop", "program", NULL);
	assert_int_equal(now.nr_reads, 1);
	done(&p);
	p = new_process("java");
	SAY("java\0com.acme.Main", "A=b");
	are(process_names_update(&p, NULL, NULL, false), "com.acme.Main", "com.acme.Main",
	    "acme.Main");
	are(process_names_update(&p, NULL, &c, false), "shop", "com.acme.Main", "shop - Main");
	done(&p);
}

static void the_fork_of_a_jvm_is_no_jvm_for_people(void **state)
{
	struct process p = new_process("java");

	SAY("java\0com.acme.Shop", "A=b");
	p.is_jvm = true;
	p.jvm = (struct process_id){ .pid = 7, .start_ns = 1 };
	are(process_names_update(&p, NULL, NULL, false), "com.acme.Shop", "com.acme.Shop", NULL);
	done(&p);
}

static void threads_of_the_kernel_are_one_service(void **state)
{
	struct container c = { .name = "shop", .pod = "", .namespace = "" };
	struct process p = new_process("kthreadd"), own = new_process("own");
	struct proc_status s;

	/* PID 2 is their parent, unless a PID namespace hides it. */
	if (proc_status_read(2, &s) || strcmp(s.comm, "kthreadd") != 0)
		skip();
	p.id = proc_status_id(&s);
	are(process_names_update(&p, NULL, NULL, false), "kernel", "kthreadd", NULL);
	assert_int_equal(proc_status_read(getpid(), &s), 0);
	own.id = proc_status_id(&s);
	SAY("own", "A=b");
	are(process_names_update(&own, NULL, &c, false), "shop", "own", NULL);
	done(&p);
	done(&own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_launcher_has_the_name_of_the_jvm_once_it_can_be_asked),
		cmocka_unit_test(a_launcher_of_another_name_becomes_a_jvm),
		cmocka_unit_test(a_failed_read_is_repeated_ever_more_rarely),
		cmocka_unit_test(a_failed_read_takes_no_name_away),
		cmocka_unit_test(a_program_that_is_over_is_not_read),
		cmocka_unit_test(the_name_of_a_container_may_come_late),
		cmocka_unit_test(the_fork_of_a_jvm_is_no_jvm_for_people),
		cmocka_unit_test(threads_of_the_kernel_are_one_service),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
