/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"
/* Names of JVMs for people. */

#include <stdlib.h>
#include <string.h>

#include "jvm/process/jvm_name.h"

/* `args` and `environ` end in a NUL each, like those of a process. */
static void has_name(const char *args, size_t len, const char *environ, size_t environ_len,
		     const char *container, const char *wanted)
{
	const struct words w = { (char *)args, (char *)environ, args ? len : 0,
				 environ ? environ_len : 0 };
	char *name = jvm_name(&w, container);

	if (wanted)
		assert_string_equal(name, wanted);
	else
		assert_null(name);
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
		cmocka_unit_test(nothing_known_is_no_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
