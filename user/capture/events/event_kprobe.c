/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kprobe:FUNCTION and kretprobe:FUNCTION: calls and returns of functions of the kernel.
 * Part of capture/events/event_kind.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/near.h"
#include "capture/events/event_kind.h"

#define AT_BEGIN   "kprobe:"
#define AT_RETURN  "kretprobe:"
#define KPROBE_PMU "/sys/bus/event_source/devices/kprobe/type"

static char *why_not_kprobe(void)
{
	if (!access(KPROBE_PMU, F_OK))
		return NULL;
	return xstrdup("the kernel has no kprobes (" KPROBE_PMU "): it needs "
		       "CONFIG_KPROBE_EVENTS");
}

/* A function of the kernel or of one of its modules, by /proc/kallsyms. */
static bool is_function(const char *line, char name[256])
{
	char type;

	return sscanf(line, "%*s %c %255s", &type, name) == 2 && strchr("tTwW", type);
}

/* -ENOENT with near names in `why` if no function has the name. */
static int find_function(const char *wanted, struct str *why)
{
	auto_fclose FILE *f = fopen("/proc/kallsyms", "re");
	struct near near = { .wanted = wanted, .max = 3 };
	char line[512], name[256];
	bool is_found = !f; /* the kernel decides, then */

	while (!is_found && fgets(line, sizeof(line), f)) {
		if (!is_function(line, name))
			continue;
		is_found = !strcmp(name, wanted);
		near_consider(&near, name);
	}
	if (!is_found)
		str_addf(why, "the kernel has no function %s", wanted);
	for (size_t i = 0; !is_found && i < near.max && near.names[i]; i++)
		str_addf(why, "%s%s", i ? ", " : "; near names: ", near.names[i]);
	near_fini(&near);
	return is_found ? 0 : -ENOENT;
}

/* "FUNCTION" or "FUNCTION+OFFSET" */
static int parse_place(const char *text, struct event *e)
{
	size_t len = strcspn(text, "+");
	char *end = NULL;

	if (!len || strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
				 ".") != len)
		return -EINVAL;
	e->what = xstrndup(text, len);
	if (!text[len])
		return 0;
	if (e->at_return || !strchr("0123456789", text[len + 1]) || !text[len + 1])
		return -EINVAL;
	e->offset = strtoull(text + len + 1, &end, 0);
	return *end ? -EINVAL : 0;
}

static int parse_kprobe(const char *text, const struct event_options *o, struct event *e,
			struct str *why)
{
	auto_str struct str reason = { 0 };
	const char *prefix = strncmp(text, AT_RETURN, strlen(AT_RETURN)) ? AT_BEGIN : AT_RETURN;

	if (strncmp(text, prefix, strlen(prefix)) != 0)
		return -ENOENT;
	e->at_return = !strcmp(prefix, AT_RETURN);
	int err = parse_place(text + strlen(prefix), e);
	if (err) {
		str_addf(why,
			 "-e %s: takes kprobe:FUNCTION[+OFFSET] or kretprobe:FUNCTION, such "
			 "as kprobe:vfs_read",
			 text);
		return err;
	}
	auto_free char *why_not = why_not_kprobe();
	if (why_not)
		return 0; /* the caller reports it */
	err = find_function(e->what, &reason);
	if (err)
		str_addf(why, "-e %s: %s", text, reason.at);
	return err;
}

static const char *explain(int err)
{
	switch (err) {
	case -ENOENT:
		return "the kernel has no such function";
	case -EADDRNOTAVAIL:
		return "several functions of the kernel have that name";
	case -EILSEQ:
		return "no instruction begins at that offset";
	case -EINVAL:
	case -EOPNOTSUPP:
		return "the kernel permits no probe there (its own entry code and the code of "
		       "probes)";
	case -EACCES:
	case -EPERM:
		return "the kernel does not permit it; CAP_PERFMON is missing, or the kernel is "
		       "locked down";
	default:
		return strerror(-err);
	}
}

static int start_kprobe(struct sources *s, const struct event *e, u32 number)
{
	const struct programs_kprobe at = { e->what, e->offset, e->at_return };
	struct bpf_link *link;
	int err = programs_attach_kprobe(sources_bpf(s), &at, number, &link);

	if (err)
		log_error("%s cannot be attached: %s", e->name, explain(err));
	else
		sources_add_link(s, link);
	return err;
}

const struct event_kind event_kind_kprobe = {
	.name = "kprobe:FUNCTION[+OFFSET]",
	.unit = "hits",
	.value = EVENT_VALUE_HIT,
	.help = "calls of a function of the kernel; kretprobe:FUNCTION: its returns",
	.programs = PROGRAM_BIT(KPROBE_HIT),
	.nr_slots = SLOT_TRACE + 1,
	.sparser = "larger --period",
	.has_period = true,
	.parse = parse_kprobe,
	.configure = configure_trace,
	.open = open_nothing,
	.start = start_kprobe,
	.why_not = why_not_kprobe,
};
