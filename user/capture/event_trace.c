/* SPDX-License-Identifier: Apache-2.0 */
/* Tracepoints: places in the kernel. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "capture/event_kind.h"

/* Where tracefs is mounted, below debugfs on old systems. */
static const char *const tracefs[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

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

int start_tracepoint(struct sources *s, const struct event *e, u32 number)
{
	struct bpf_link *link;
	int err = bpf_attach_tracepoint(sources_bpf(s), e->place, e->what, number, &link);

	return sources_take_link(s, e, err, link);
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
