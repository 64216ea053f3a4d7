/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"
/* Names of JVMs for people. */

#include <stdlib.h>
#include <string.h>

#include "jvm/process/main_class.h"
#include "jvm/process/process_names.h"

/* `args` and `environ` end in a NUL each, like those of a process. */
static void has_name(const char *args, size_t len, const char *environ, size_t environ_len,
		     const char *container, const char *wanted)
{
	const struct words w = { (char *)args, (char *)environ, args ? len : 0,
				 environ ? environ_len : 0 };
	char *main = main_class(NULL, &w);
	char *service = w.environ ? words_service(w.environ, w.environ_len) : NULL;
	char *name = jvm_name(main, service, container);

	if (wanted)
		assert_string_equal(name, wanted);
	else
		assert_null(name);
	free(main);
	free(service);
	free(name);
}

#define NAME(args, wanted) has_name(args, sizeof(args), NULL, 0, NULL, wanted)

static void a_main_class_has_no_package_and_a_jar_no_folder(void **state)
{
	NAME("java\0-cp\0/x\0com.acme.ShopServer\0--port=1", "ShopServer");
	NAME("java\0-Xmx1g\0-jar\0/opt/shop/shop-1.2.jar", "shop-1.2.jar");
	NAME("java\0-m\0shop.app/com.acme.Till", "Till");
	NAME("java\0/tmp/Hello.java", "Hello.java");
}

static void a_vague_class_keeps_the_last_part_of_its_package(void **state)
{
	NAME("java\0com.acme.shop.Main", "shop.Main");
	NAME("java\0Main", "Main");
}

static void known_servers_have_the_name_of_the_product(void **state)
{
	NAME("java\0-Dcatalina.base=/x\0org.apache.catalina.startup.Bootstrap\0start",
	     "tomcat - Bootstrap");
	NAME("java\0kafka.Kafka\0server.properties", "kafka - Kafka");
}

static void the_environment_has_precedence_over_the_container(void **state)
{
	static const char args[] = "java\0com.acme.Main", env[] = "A=b\0OTEL_SERVICE_NAME=checkout";

	has_name(args, sizeof(args), env, sizeof(env), "box", "checkout - Main");
	has_name(args, sizeof(args), "A=b", 4, "box", "box - Main");
	has_name(NULL, 0, env, sizeof(env), NULL, "checkout");
}

/* `command` is the JVM's sun.java.command. */
static void has_main(const char *command, const char *args, size_t len, const char *wanted)
{
	const struct words w = { .args = (char *)args, .args_len = len };
	char *main = main_class(command, &w);

	if (wanted)
		assert_string_equal(main, wanted);
	else
		assert_null(main);
	free(main);
}

#define MAIN(command, args, wanted) has_main(command, args, sizeof(args), wanted)

static void the_jvm_says_its_main_class(void **state)
{
	MAIN("Known 14",
	     "java\0@file\0"
	     "14",
	     "Known");
	MAIN("jdk.compiler/com.sun.tools.javac.Main A.java", "javac\0A.java",
	     "jdk.compiler/com.sun.tools.javac.Main");
	MAIN("Known", "/lib64/ld-linux-x86-64.so.2\0/usr/bin/java\0Known", "Known");
	MAIN("com.acme.Shop x", "/opt/shop/bin/shopd\0-config\0shop.xml", "com.acme.Shop");
}

static void a_jar_and_a_source_file_have_no_folder(void **state)
{
	MAIN("/opt/my shop/a b.jar x", "java\0-jar\0/opt/my shop/a b.jar\0x", "a b.jar");
	MAIN("/opt/shop.jar x", "java\0@args", "shop.jar");
	MAIN("jdk.compiler/com.sun.tools.javac.launcher.Main /tmp/Bench.java 3",
	     "java\0/tmp/Bench.java\0"
	     "3",
	     "Bench.java");
	MAIN("jdk.compiler/com.sun.tools.javac.launcher.SourceLauncher a b/Bench.java",
	     "java\0--source\0"
	     "25\0a b/Bench.java",
	     "Bench.java");
}

static void a_jvm_without_a_launcher_has_the_name_of_its_program(void **state)
{
	MAIN("", "/opt/shop/bin/shopd\0-config\0shop.xml", NULL);
	MAIN("", "java\0com.acme.Shop", NULL);
}

static void the_command_line_counts_until_the_jvm_can_be_asked(void **state)
{
	MAIN(NULL, "/usr/bin/java\0-cp\0/x\0com.acme.Shop\0y", "com.acme.Shop");
	MAIN(NULL,
	     "java\0@file\0"
	     "14",
	     NULL);
	MAIN(NULL, "/opt/shop/bin/shopd\0-config\0shop.xml", NULL);
	MAIN(NULL, "javac\0A.java", NULL);
}

static void a_daemon_of_jsvc_is_its_class(void **state)
{
	MAIN("", "jsvc.exec\0-home\0/jdk\0-cp\0a.jar\0-pidfile\0/p\0-nodetach\0Dmn\0x", "Dmn");
	MAIN(NULL, "/usr/bin/jsvc\0-procname\0shop\0-Dx=y\0Dmn", "Dmn");
	MAIN("", "jsvc.exec\0-pidfile", NULL);
}

static void nothing_known_is_no_name(void **state)
{
	NAME("java\0-version", NULL);
	has_name(NULL, 0, NULL, 0, NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_main_class_has_no_package_and_a_jar_no_folder),
		cmocka_unit_test(a_vague_class_keeps_the_last_part_of_its_package),
		cmocka_unit_test(known_servers_have_the_name_of_the_product),
		cmocka_unit_test(the_environment_has_precedence_over_the_container),
		cmocka_unit_test(the_jvm_says_its_main_class),
		cmocka_unit_test(a_jar_and_a_source_file_have_no_folder),
		cmocka_unit_test(a_jvm_without_a_launcher_has_the_name_of_its_program),
		cmocka_unit_test(the_command_line_counts_until_the_jvm_can_be_asked),
		cmocka_unit_test(a_daemon_of_jsvc_is_its_class),
		cmocka_unit_test(nothing_known_is_no_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
