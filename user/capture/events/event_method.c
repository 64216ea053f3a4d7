/* SPDX-License-Identifier: Apache-2.0 */
/*
 * java:CLASS.METHOD: calls of a Java method. While it is recorded, the agent changes the class: the
 * method begins with a call of the agent's hook (jvmmap/methods.h). java:CLASS.METHOD:TIME: calls
 * that last at least so long. The method then measures each call, and calls a hook at its end.
 * Part of capture/events/event_kind.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/time.h"
#include "capture/events/event_kind.h"
#include "capture/events/javaprobes.h"

#define METHOD_PREFIX "java:"
#define TIME_MAX_NS   (86400 * NS_PER_SEC)

static const struct java_probe probes[] = {
	{ .function = "jvmmap_hook_method",
	  .program = PROGRAM_METHOD_HOOK,
	  .call = JAVA_ENTERED,
	  .is_hook = true },
};
static const struct java_placing placing = JAVA_PLACING("java:", probes, JAVA_PROBED_FIRST);

static const struct java_probe time_probes[] = {
	{ .function = "jvmmap_hook_lasted",
	  .program = PROGRAM_METHOD_HOOK,
	  .call = JAVA_LASTED,
	  .is_hook = true },
};
static const struct java_placing time_placing =
	JAVA_PLACING("java:", time_probes, JAVA_PROBED_FIRST);

/*
 * Whether the class belongs to a package that the JVM needs to run the hook. Its methods may also
 * be called where a hook must not run.
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

/* Takes the name of the method, for an event `text`. */
static int parse_name(const char *text, const char *written, const struct event_options *o,
		      struct event *e, struct str *why)
{
	char *name = internal_name(written);

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

static int parse_method(const char *text, const struct event_options *o, struct event *e,
			struct str *why)
{
	if (strncmp(text, METHOD_PREFIX, strlen(METHOD_PREFIX)) ||
	    strchr(text + strlen(METHOD_PREFIX), ':'))
		return -ENOENT;
	return parse_name(text, text + strlen(METHOD_PREFIX), o, e, why);
}

/* "10us", "50ms" or "1s", from 1 us to TIME_MAX_NS. */
static bool parse_time(const char *text, u64 *out_ns)
{
	static const struct {
		const char *name;
		u64 ns;
	} units[] = { { "us", 1000 }, { "ms", NS_PER_MS }, { "s", NS_PER_SEC } };
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	unsigned long long number = strtoull(text, &end, 10);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (!strcmp(end, units[i].name) && number && number <= TIME_MAX_NS / units[i].ns) {
			*out_ns = number * units[i].ns;
			return true;
		}
	return false;
}

static int parse_method_time(const char *text, const struct event_options *o, struct event *e,
			     struct str *why)
{
	const char *colon = strrchr(text, ':');

	if (strncmp(text, METHOD_PREFIX, strlen(METHOD_PREFIX)) ||
	    colon < text + strlen(METHOD_PREFIX))
		return -ENOENT;
	if (!parse_time(colon + 1, &e->min_ns)) {
		str_addf(why,
			 "-e %s: takes " METHOD_PREFIX
			 "CLASS.METHOD:TIME, such as java:a.b.Shop.order:50ms; the time is 1us to "
			 "86400s",
			 text);
		return -EINVAL;
	}
	auto_free char *name = xstrndup(text + strlen(METHOD_PREFIX),
					(size_t)(colon - text) - strlen(METHOD_PREFIX));
	return parse_name(text, name, o, e, why);
}

static void configure_method(const struct event *e, u32 number, const struct event_options *o,
			     struct knobs *knobs)
{
	configure_trace(e, number, o, knobs);
	knobs->methods[number] = agents_method_number(e->what);
}

/* Configures calls with a minimum time. --period does not apply to them, because they are few. */
static void configure_method_time(const struct event *e, u32 number, const struct event_options *o,
				  struct knobs *knobs)
{
	knobs->events[number].period = 1;
	knobs->methods[number] = agents_method_number(e->what);
	knobs->method_min_ns[number] = e->min_ns;
}

/* The method's entry in the list for the agent, with a comma before it. */
static void add_entry(const struct event *e, struct str *list)
{
	str_addf(list, "%s%s", list->len ? "," : "", e->what);
	if (e->min_ns)
		str_addf(list, ":%llu", (unsigned long long)e->min_ns);
}

static void hook_method(const struct event *e, const struct event_options *o,
			struct agent_hooks *hooks)
{
	auto_str struct str list = { 0 };

	str_add(&list, hooks->methods);
	add_entry(e, &list);
	copy_text(hooks->methods, sizeof(hooks->methods), list.at);
}

static bool is_method(const struct event *e)
{
	return e->kind == &event_kind_method || e->kind == &event_kind_method_time;
}

static int check_method(const struct events *all, const struct event *e, struct str *why)
{
	auto_str struct str list = { 0 };

	vec_each(other, &all->list) {
		if (is_method(other))
			add_entry(other, &list);
		if (other->kind == e->kind && !strcmp(other->what, e->what)) {
			str_addf(why,
				 "-e %s: %s is another event for the same calls; record the "
				 "shorter time",
				 e->name, other->name);
			return -EINVAL;
		}
	}
	add_entry(e, &list);
	if (list.len < AGENT_METHODS_MAX)
		return 0;
	str_addf(why,
		 "-e %s: the names of all methods together are too long; record them one after "
		 "the other",
		 e->name);
	return -E2BIG;
}

/* One probe serves all methods. */
static int open_probe(struct sources *s, const struct event *e, u32 number,
		      const struct java_placing *p)
{
	sources_describe(s, "calls of %s", e->name + strlen(METHOD_PREFIX));
	for (const struct event *other = e - number; other < e; other++)
		if (other->kind == e->kind)
			return 0;
	sources_add_probes(s, number, javaprobes_new(s, p));
	return 0;
}

static int open_method(struct sources *s, const struct event *e, u32 number)
{
	return open_probe(s, e, number, &placing);
}

static int open_method_time(struct sources *s, const struct event *e, u32 number)
{
	return open_probe(s, e, number, &time_placing);
}

#define HOOK_FRAMES 5 /* at most, at the leaf */

/* Leaves out the hook and the methods of its class. */
static bool keep_method(const struct named_stack *stack)
{
	static const char class[] = "java.lang.Sysflame";
	frame_list *frames = stack->frames;
	size_t nr = 0;

	for (size_t i = 0; i < frames->nr && i < HOOK_FRAMES; i++)
		if (!strncmp(frames_get(stack->all, frames->at[i])->name, class, strlen(class)))
			nr = i + 1;
	memmove(frames->at, frames->at + nr, (frames->nr - nr) * sizeof(frames->at[0]));
	frames->nr -= nr;
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
	.check = check_method,
	.configure = configure_method,
	.open = open_method,
	.why_not = why_not_uprobe,
	.keep = keep_method,
	.hook = hook_method,
};

const struct event_kind event_kind_method_time = {
	.name = "java:CLASS.METHOD:TIME",
	.unit = "ns",
	.help = "calls of a Java method that last at least TIME, such as 50ms",
	.programs = PROGRAM_BIT(METHOD_HOOK),
	.nr_slots = NR_SLOTS,
	.sparser = "longer TIME",
	.lasts = true,
	.parse = parse_method_time,
	.check = check_method,
	.configure = configure_method_time,
	.open = open_method_time,
	.why_not = why_not_uprobe,
	.keep = keep_method,
	.hook = hook_method,
};
