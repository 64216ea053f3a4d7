/* SPDX-License-Identifier: Apache-2.0 */
/* The names of a process. */
#include "jvm/process/process_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/time.h"
#include "jvm/process/main_class.h"
#include "jvm/process/process_context.h"
#include "jvm/process/words.h"
#include "proc/status.h"

#define PAUSE_NS     NS_PER_SEC /* after a failed read; doubled after each */
#define PAUSE_MAX_NS (256 * NS_PER_SEC)

/*
 * Bits of process_names.facts: what sysflame knew of the process when it read the names. It reads
 * them again once it knows more.
 */
enum {
	FACT_PROGRAM = 1, /* the names were read for this program */
	FACT_JVM = 2,     /* the process had loaded a JVM */
	FACT_COMMAND = 4, /* the JVM had reported its command line */
};

bool process_is_java(const struct process *p)
{
	return p->is_jvm || !strcmp(p->comm, "java");
}

static void set(char **text, char *new)
{
	free(*text);
	*text = new;
}

static bool has_text(const char *text)
{
	return text && *text;
}

/* A kernel has hundreds of threads, and each is a name that nobody looks for. */
static bool is_kernel_thread(const struct process *p)
{
	struct proc_status now;

	return !p->mappings.nr && !p->is_jvm && !proc_status_read(p->id.pid, &now) &&
	       process_id_same(proc_status_id(&now), p->id) && now.is_kernel_thread;
}

static void read_words(struct process *p, struct words *w)
{
	struct process_names *n = &p->names;
	bool is_java = process_is_java(p);

	words_read(p->id, is_java ? WORDS_ARGS | WORDS_ENVIRON : WORDS_ENVIRON, w);
	n->pause_ns = n->pause_ns && n->pause_ns < PAUSE_MAX_NS ? 2 * n->pause_ns : PAUSE_NS;
	bool is_whole = w->environ && (w->args || !is_java);
	n->again_ns = is_whole ? 0 : time_mono_ns() + n->pause_ns;
}

/* Reads names again. A name that cannot be read stays as it was. */
static void look(struct process *p, const char *command, bool is_over)
{
	struct process_names *n = &p->names;
	auto_words struct words w = { 0 };

	if (!is_over) {
		n->is_kernel = is_kernel_thread(p);
		if (!n->is_kernel)
			read_words(p, &w);
	}
	if (w.environ)
		set(&n->own_service, words_service(w.environ, w.environ_len));
	if (w.args || has_text(command))
		set(&n->main_class, process_is_java(p) ? main_class(command, &w) : NULL);
}

static char *service_of(const struct process *p)
{
	const struct process_names *n = &p->names;

	if (n->is_kernel)
		return xstrdup(SERVICE_KERNEL);
	if (has_text(p->context.service))
		return xstrdup(p->context.service);
	if (has_text(n->own_service))
		return xstrdup(n->own_service);
	return has_text(n->container) ? words_clean(n->container) : xstrdup(n->main);
}

/* The forks of a JVM have no name of their own for people. */
static void compose(struct process *p, const char *container)
{
	struct process_names *n = &p->names;
	bool is_own = p->jvm.pid == p->id.pid && p->jvm.start_ns == p->id.start_ns;

	set(&n->container, xstrdup(container));
	set(&n->main, n->main_class ? xstrdup(n->main_class) : words_clean(p->comm));
	set(&n->service, service_of(p));
	set(&n->jvm,
	    is_own && process_is_java(p)
		    ? jvm_name(n->main_class, p->context.service ?: n->own_service, container)
		    : NULL);
	n->nr_context_changes = p->context.nr_changes;
}

const struct process_names *process_names_update(struct process *p, const char *command,
						 const struct container *c, bool is_over)
{
	struct process_names *n = &p->names;
	const char *container = c ? c->name : "";
	u32 facts = FACT_PROGRAM | (p->is_jvm ? FACT_JVM : 0) | (command ? FACT_COMMAND : 0);
	bool is_more = facts & ~n->facts;

	is_over |= p->exit_ns != 0;
	if (!is_over)
		process_context_update(p);
	if (is_more || (n->again_ns && !is_over && time_mono_ns() >= n->again_ns)) {
		look(p, command, is_over);
		n->facts |= facts;
		compose(p, container);
	} else if (strcmp(n->container, container) != 0 ||
		   n->nr_context_changes != p->context.nr_changes) {
		compose(p, container);
	}
	return n;
}

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
