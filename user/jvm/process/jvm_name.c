/* SPDX-License-Identifier: Apache-2.0 */
/* The name of a JVM for people. */
#include "jvm/process/jvm_name.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "jvm/process/words.h"

/* Main classes of servers and tools, which say less than the product. */
struct product {
	const char *prefix, *name;
};

static const struct product products[] = {
	{ "org.apache.catalina.", "tomcat" },
	{ "org.eclipse.jetty.", "jetty" },
	{ "kafka.", "kafka" },
	{ "org.apache.kafka.", "kafka" },
	{ "org.apache.zookeeper.", "zookeeper" },
	{ "org.apache.cassandra.", "cassandra" },
	{ "org.apache.spark.", "spark" },
	{ "org.apache.flink.", "flink" },
	{ "org.apache.hadoop.", "hadoop" },
	{ "org.apache.solr.", "solr" },
	{ "org.apache.activemq.", "activemq" },
	{ "org.elasticsearch.", "elasticsearch" },
	{ "org.opensearch.", "opensearch" },
	{ "org.keycloak.", "keycloak" },
	{ "org.jboss.modules.", "jboss" },
	{ "org.gradle.", "gradle" },
	{ "org.codehaus.plexus.classworlds.", "maven" },
	{ "com.hazelcast.", "hazelcast" },
	{ "hudson.", "jenkins" },
	{ "clojure.main", "clojure" },
};

/* Names of classes that every other program has, too. */
static const char *const vague[] = { "Main",   "Launcher",    "JarLauncher",       "App",
				     "Server", "Application", "WarLauncher",       "Boot",
				     "Run",    "Runner",      "PropertiesLauncher" };

static bool is_vague(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(vague); i++)
		if (!strcmp(name, vague[i]))
			return true;
	return false;
}

static const char *product_of(const char *main)
{
	for (size_t i = 0; i < ARRAY_SIZE(products); i++)
		if (!strncmp(main, products[i].prefix, strlen(products[i].prefix)))
			return products[i].name;
	return NULL;
}

static bool is_file(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && (!strcmp(dot, ".jar") || !strcmp(dot, ".war") || !strcmp(dot, ".java"));
}

/* Where the short form of a main class or file begins. */
static const char *short_form(const char *main, bool is_alone)
{
	const char *dot;

	if (is_file(main) || !(dot = strrchr(main, '.')) || !dot[1])
		return main;
	if (!is_alone || !is_vague(dot + 1))
		return dot + 1;
	while (dot > main && dot[-1] != '.')
		dot--;
	return dot;
}

char *jvm_name(const char *main, const char *service, const char *container)
{
	const char *slash = main ? strrchr(main, '/') : NULL;
	auto_free char *first = NULL;

	main = slash ? slash + 1 : main ?: "";
	if (!service || !*service)
		service = container && *container ? container : product_of(main);
	if (service)
		first = words_clean(service);
	auto_free char *text = words_clean(short_form(main, !first));
	if (!*text) /* never "" */
		return take(first);
	if (!first || !strcmp(first, text))
		return take(text);
	return xasprintf("%s - %s", first, text);
}
