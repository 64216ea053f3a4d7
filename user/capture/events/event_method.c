/* SPDX-License-Identifier: Apache-2.0 */
/*
 * java:CLASS.METHOD: calls of a Java method. While it is recorded, the agent changes the class: the
 * method begins with a call of the agent's hook (jvmmap/methods.h).
 * Part of capture/events/event_kind.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "capture/events/event_kind.h"
#include "capture/events/javaprobes.h"

#define METHOD_PREFIX "java:"

static const struct java_probe probes[] = {
	{ .function = "jvmmap_hook_method", .program = PROGRAM_METHOD_HOOK, .is_hook = true },
};
static const struct java_placing placing = JAVA_PLACING("java:", probes, JAVA_PROBED_FIRST);

/*
 * Packages that the JVM needs to run the hook. A call may also come where the hook must not be
 * called.
 */
static bool is_of_jvm(const char *class)
{
	static const char *const packages[] = { "java/lang/", "jdk/internal/", "sun/" };

	for (size_t i = 0; i < ARRAY_SIZE(packages); i++)
		if (!strncmp(class, packages[i], strlen(packages[i])))
			return true;
	return false;
}

/* "a.B$C.run" -> "a/B$C.run"; NULL if `name` is not the name of a method. */
static char *internal_name(const char *name)
{
	const char *dot = strrchr(name, '.');

	if (!dot || dot == name || !dot[1] || strpbrk(name, ";/[:=, ()") ||
	    (strpbrk(name, "<>") && strcmp(dot, ".<init>")))
		return NULL;
	char *internal = xstrdup(name);
	for (char *c = internal; c < internal + (dot - name); c++)
		*c = *c == '.' ? '/' : *c;
	return internal;
}

static int parse_method(const char *text, const struct event_options *o, struct event *e,
			struct str *why)
{
	if (strncmp(text, METHOD_PREFIX, strlen(METHOD_PREFIX)))
		return -ENOENT;
	char *name = internal_name(text + strlen(METHOD_PREFIX));
	e->what = name;
	if (!name)
		str_addf(why,
			 "-e %s: takes " METHOD_PREFIX
			 "CLASS.METHOD, such as java:a.b.Outer$Inner.run",
			 text);
	else if (strlen(name) >= AGENT_METHODS_MAX)
		str_addf(why, "-e %s: the name is too long", text);
	else if (is_of_jvm(name))
		str_addf(why,
			 "-e %s: methods of java.lang, jdk.internal and sun cannot be recorded, "
			 "because the JVM needs them for the hook; take a method that calls it",
			 text);
	else if (o->without_agent)
		str_addf(why, "-e %s: only the agent reports it; leave out --agent never", text);
	return why->len ? -EINVAL : 0;
}

static void configure_method(const struct event *e, u32 number, const struct event_options *o,
			     struct knobs *knobs)
{
	configure_trace(e, number, o, knobs);
	knobs->methods[number] = agents_method_number(e->what);
}

static void hook_method(const struct event *e, const struct event_options *o,
			struct agent_hooks *hooks)
{
	size_t len = strlen(hooks->methods);

	snprintf(hooks->methods + len, sizeof(hooks->methods) - len, "%s%s", len ? "," : "",
		 e->what);
}

/* One probe serves all methods. */
static int open_method(struct sources *s, const struct event *e, u32 number)
{
	size_t bytes = strlen(e->what) + 1, nr = 0;

	for (const struct event *other = e - number; other < e; other++) {
		bytes += other->kind == e->kind ? strlen(other->what) + 1 : 0;
		nr += other->kind == e->kind;
	}
	if (bytes > AGENT_METHODS_MAX) {
		log_error("-e %s: the names of all methods together are too long; record them one "
			  "after the other",
			  e->name);
		return -E2BIG;
	}
	sources_describe(s, "calls of %s", e->name + strlen(METHOD_PREFIX));
	if (nr)
		return 0;
	sources_add_probes(s, number, javaprobes_new(s, &placing));
	return 0;
}

/* Leaves out the hook and the native method that calls it. */
static bool keep_method(const struct named_stack *stack)
{
	static const char class[] = "java.lang.Sysflame";
	frame_list *frames = stack->frames;

	for (size_t i = 0; i < frames->nr && i < 3; i++) {
		if (strncmp(frames_get(stack->all, frames->at[i])->name, class, strlen(class)))
			continue;
		memmove(frames->at, frames->at + i + 1,
			(frames->nr - i - 1) * sizeof(frames->at[0]));
		frames->nr -= i + 1;
		break;
	}
	return true;
}

const struct event_kind event_kind_method = {
	.name = "java:CLASS.METHOD",
	.unit = "hits",
	.value = EVENT_VALUE_HIT,
	.help = "calls of a Java method",
	.programs = PROGRAM_BIT(METHOD_HOOK),
	.nr_slots = NR_SLOTS,
	.sparser = "larger --period",
	.has_period = true,
	.parse = parse_method,
	.configure = configure_method,
	.open = open_method,
	.why_not = why_not_uprobe,
	.keep = keep_method,
	.hook = hook_method,
};
