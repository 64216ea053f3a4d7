/* SPDX-License-Identifier: Apache-2.0 */
/* Places in programs (uprobes) and in the kernel (tracepoints). */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "capture/event_kind.h"
#include "elf/functions.h"

#define UPROBE_PREFIX "uprobe:"
#define UPROBE_PMU    "/sys/bus/event_source/devices/uprobe"

/* Where tracefs is mounted, below debugfs on old systems. */
static const char *const tracefs[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

#define NEAR_NAMES 3

/* A symbol's place in the file, or a sentence on what there is instead. */
static int find_symbol(const struct event *e, struct function *out, struct str *why)
{
	char *near[NEAR_NAMES] = { 0 };

	if (access(e->place, R_OK)) {
		str_addf(why, UPROBE_PREFIX "%s: %s", e->place, strerror(errno));
		return -errno;
	}
	int err = functions_find(e->place, e->what, out, near, NEAR_NAMES);
	if (!err)
		return 0;
	str_addf(why, UPROBE_PREFIX "%s: ", e->place);
	if (err == -ENOENT)
		str_addf(why, "it has no function %s", e->what);
	else
		str_add(why, err == -ENOEXEC ? "it is no ELF file" : strerror(-err));
	for (int i = 0; i < NEAR_NAMES && near[i]; i++) {
		str_addf(why, "%s%s", i ? ", " : "; near names: ", near[i]);
		free(near[i]);
	}
	return err;
}

/* SYMBOL, SYMBOL+OFFSET, or 0xOFFSET in the file. */
static int read_place(struct event *e, const char *text, struct str *why)
{
	const char *plus = strrchr(text, '+');
	const char *number = isdigit((unsigned char)text[0]) ? text : plus ? plus + 1 : NULL;
	char *end = NULL;
	u64 offset = number ? strtoull(number, &end, 0) : 0;
	struct function at = { 0 };

	if (!*text || plus == text || (number && (!*number || *end))) {
		str_addf(why, "%s%s:%s: takes SYMBOL, SYMBOL+OFFSET or an offset in the file",
			 UPROBE_PREFIX, e->place, text);
		return -EINVAL;
	}
	if (number != text) {
		e->what = plus ? xstrndup(text, (size_t)(plus - text)) : xstrdup(text);
		int err = find_symbol(e, &at, why);
		if (err)
			return err;
	}
	e->file_off = at.file_off + offset;
	return 0;
}

/* The last colon that is not half of C++'s "::"; NULL if there is none. */
static const char *find_separator(const char *path)
{
	for (const char *c = path + strlen(path); c-- > path + 1;)
		if (*c == ':' && c[-1] != ':' && c[1] != ':')
			return c;
	return NULL;
}

int parse_uprobe(const char *text, const struct event_options *o, struct event *e, struct str *why)
{
	if (strncmp(text, UPROBE_PREFIX, strlen(UPROBE_PREFIX)))
		return -ENOENT;

	const char *path = text + strlen(UPROBE_PREFIX), *colon = find_separator(path);
	if (!colon) {
		str_addf(why, "-e %s: takes uprobe:PATH:SYMBOL[+OFFSET]", text);
		return -EINVAL;
	}
	auto_free char *why_uprobe = why_not_uprobe();
	if (why_uprobe) {
		str_addf(why, "-e %s: %s", text, why_uprobe);
		return -ENOTSUP;
	}
	e->place = xstrndup(path, (size_t)(colon - path));
	return read_place(e, colon + 1, why);
}

char *why_not_uprobe(void)
{
	if (!access(UPROBE_PMU, F_OK))
		return NULL;
	return xstrdup("the kernel has no uprobes (" UPROBE_PMU "): it needs "
		       "CONFIG_UPROBE_EVENTS");
}

static char *events_folder(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(tracefs); i++) {
		char *path = xasprintf("%s/events", tracefs[i]);
		if (!access(path, R_OK | X_OK))
			return path;
		free(path);
	}
	return NULL;
}

#define NO_TRACEFS                                                                             \
	"the names of tracepoints cannot be read; as root: mount -t tracefs none /sys/kernel/" \
	"tracing"

/* Names in tracefs; so no path leads out of it. */
static bool is_name(const char *text, size_t len)
{
	return len &&
	       strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") >=
		       len;
}

int parse_tracepoint(const char *text, const struct event_options *o, struct event *e,
		     struct str *why)
{
	const char *colon = strchr(text, ':');

	if (!colon || !is_name(text, (size_t)(colon - text)) ||
	    !is_name(colon + 1, strlen(colon + 1)))
		return -ENOENT;
	e->place = xstrndup(text, (size_t)(colon - text));
	e->what = xstrdup(colon + 1);

	auto_free char *folder = events_folder();
	if (!folder) {
		str_addf(why, "-e %s: " NO_TRACEFS, text);
		return -ENOTSUP;
	}
	auto_free char *group = xasprintf("%s/%s", folder, e->place);
	auto_free char *id = xasprintf("%s/%s/id", group, e->what);
	if (!access(id, R_OK))
		return 0;
	str_addf(why, "-e %s: the kernel has no %s %s; sysflame events --all lists them", text,
		 access(group, F_OK) ? "group of tracepoints" : "tracepoint",
		 access(group, F_OK) ? e->place : e->what);
	return -ENOENT;
}

void configure_trace(const struct event *e, u32 number, const struct event_options *o,
		     struct knobs *knobs)
{
	knobs->events[number].period = o->period ?: 1;
	knobs->events[number].weight = o->period ?: 1;
}

int open_nothing(struct sources *s, const struct event *e, u32 number)
{
	u64 period = sources_options(s)->period ?: 1;

	if (period == 1)
		sources_describe(s, "%s, every one", e->name);
	else
		sources_describe(s, "%s, 1 of %llu", e->name, (unsigned long long)period);
	return 0;
}

static int take_link(struct sources *s, const struct event *e, int err, struct bpf_link *link)
{
	if (err)
		log_error("%s cannot be attached: %s", e->name, strerror(-err));
	else
		sources_add_link(s, link);
	return err;
}

int start_uprobe(struct sources *s, const struct event *e, u32 number)
{
	struct bpf_link *link;
	int err = bpf_attach_uprobe(sources_bpf(s), e->place, e->file_off, number, &link);

	return take_link(s, e, err, link);
}

int start_tracepoint(struct sources *s, const struct event *e, u32 number)
{
	struct bpf_link *link;
	int err = bpf_attach_tracepoint(sources_bpf(s), e->place, e->what, number, &link);

	return take_link(s, e, err, link);
}

static void each_in_group(const char *folder, const char *group, const struct event_kind *kind,
			  events_tell_fn tell, void *ctx)
{
	auto_free char *path = xasprintf("%s/%s", folder, group);
	auto_closedir DIR *dir = opendir(path);
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		auto_free char *name = xasprintf("%s:%s", group, d->d_name);
		if (d->d_type == DT_DIR && is_name(d->d_name, strlen(d->d_name)))
			tell(name, kind->unit, kind->help, NULL, ctx);
	}
}

void each_tracepoint(const struct event_kind *kind, bool all, events_tell_fn tell, void *ctx)
{
	auto_free char *folder = events_folder();
	auto_closedir DIR *dir = folder ? opendir(folder) : NULL;
	struct dirent *d;

	tell(kind->name, kind->unit, kind->help, folder ? NULL : NO_TRACEFS, ctx);
	while (all && dir && (d = readdir(dir)))
		if (d->d_type == DT_DIR && is_name(d->d_name, strlen(d->d_name)))
			each_in_group(folder, d->d_name, kind, tell, ctx);
}
