/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracepoints: places in the kernel.
 * Part of capture/events/event_kind.h.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/types.h"
#include "capture/events/event_filter.h"
#include "capture/events/event_kind.h"
#include "capture/kernel/cpulist.h"
#include "capture/kernel/perf.h"

/*
 * Sets the filter on a perf event of the tracepoint with that id, which is closed again. 0 or the
 * kernel's negative errno; *is_known is false if the event cannot be opened.
 */
static int filter_check(u64 id, const char *filter, bool *is_known)
{
	const struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_TRACEPOINT,
		.config = id,
		.sample_period = 1,
		.disabled = 1,
	};
	cpulist online = { 0 };
	int err = cpulist_online(&online);
	auto_close int fd = err ? -1 : perf_open(&attr, online.nr ? online.at[0] : 0);

	vec_fini(&online);
	*is_known = fd >= 0;
	if (fd < 0)
		return err ?: fd;
	return ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter) ? -errno : 0;
}

/* The mount points of tracefs; on old systems it is below debugfs. */
static const char *const tracefs[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

static char *events_folder(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(tracefs); i++) {
		char *path = xasprintf("%s/events", tracefs[i]);
		if (!file_access(path, R_OK | X_OK))
			return path;
		free(path);
	}
	return NULL;
}

#define BPFTRACE_PREFIX "tracepoint:"
#define FORMAT_BYTES    (1 << 20)

/* Mounted tracefs is the usual case, but only root may read it. */
static const char *why_no_folder(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(tracefs); i++) {
		auto_free char *path = xasprintf("%s/events", tracefs[i]);
		if (file_access(path, R_OK | X_OK) == -EACCES)
			return "the names of tracepoints may not be read; run sysflame with "
			       "CAP_DAC_READ_SEARCH";
	}
	return "the names of tracepoints cannot be read; as root: mount -t tracefs none "
	       "/sys/kernel/tracing";
}

/* Whether the text is a plain name, which cannot lead out of tracefs. */
static bool is_name(const char *text, size_t len)
{
	return len &&
	       strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") >=
		       len;
}

static int parse_tracepoint(const char *text, const struct event_options *o, struct event *e,
			    struct str *why)
{
	bool has_prefix = !strncmp(text, BPFTRACE_PREFIX, strlen(BPFTRACE_PREFIX));
	const char *name = has_prefix ? text + strlen(BPFTRACE_PREFIX) : text;
	const char *colon = strchr(name, ':');

	if (has_prefix && !colon) {
		str_addf(why, "-e %s: takes tracepoint:GROUP:NAME", text);
		return -EINVAL;
	}
	if (!colon || !is_name(name, (size_t)(colon - name)) ||
	    !is_name(colon + 1, strlen(colon + 1)))
		return -ENOENT;
	e->name = xstrdup(name);
	e->place = xstrndup(name, (size_t)(colon - name));
	e->what = xstrdup(colon + 1);

	auto_free char *folder = events_folder();
	if (!folder) {
		str_addf(why, "-e %s: %s", text, why_no_folder());
		return -ENOTSUP;
	}
	auto_free char *group = xasprintf("%s/%s", folder, e->place);
	auto_free char *id = xasprintf("%s/%s/id", group, e->what);
	if (!file_access(id, R_OK))
		return 0;
	str_addf(why, "-e %s: the kernel has no %s %s; sysflame events --all lists them", text,
		 file_access(group, F_OK) ? "group of tracepoints" : "tracepoint",
		 file_access(group, F_OK) ? e->place : e->what);
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

	if (e->was_found)
		log_info("%s is in %s", e->name, e->place);
	auto_free char *condition = e->filter ? xasprintf(" if %s", e->filter->text) : xstrdup("");
	if (period == 1)
		sources_describe(s, "%s%s, every one", e->name, condition);
	else
		sources_describe(s, "%s%s, 1 of %llu", e->name, condition,
				 (unsigned long long)period);
	return 0;
}

/* Reads a file of the tracepoint in tracefs. */
static int read_file(const struct event *e, const char *name, char **out)
{
	auto_free char *folder = events_folder();
	auto_free char *path =
		folder ? xasprintf("%s/%s/%s/%s", folder, e->place, e->what, name) : NULL;
	size_t len;

	return path ? file_read(path, FORMAT_BYTES, out, &len) : -ENOENT;
}

/* The kernel knows restrictions that the tracepoint's file does not show. */
static int check_by_kernel(const struct event *e, const char *text, struct str *why)
{
	auto_free char *id = NULL;
	bool is_known = false;

	int err = read_file(e, "id", &id);
	if (!err)
		err = filter_check(strtoull(id, NULL, 10), text, &is_known);
	if (!is_known) {
		log_debug("the kernel was not asked about the filter: %s", strerror(-err));
		return 0;
	}
	if (err)
		str_addf(why, "the kernel refuses this filter of %s: %s", e->name, strerror(-err));
	return err;
}

static int filter_tracepoint(struct event *e, const char *text, struct str *why)
{
	struct filter_fields fields = { 0 };
	struct event_filter *filter;
	auto_free char *format = NULL;

	int err = read_file(e, "format", &format);
	if (err) {
		str_addf(why, "the arguments of %s cannot be read: %s", e->name, strerror(-err));
		return err;
	}
	filter_fields_parse(format, !strcmp(e->place, "syscalls"), &fields);
	err = event_filter_parse(text, &fields, &filter, why);
	filter_fields_fini(&fields);
	if (err)
		return err;
	e->filter = filter;
	return check_by_kernel(e, text, why);
}

static void configure_tracepoint(const struct event *e, u32 number, const struct event_options *o,
				 struct knobs *knobs)
{
	configure_trace(e, number, o, knobs);
	knobs->events[number].has_filter = e->filter != NULL;
}

static int open_tracepoint(struct sources *s, const struct event *e, u32 number)
{
	const struct event_filter *f = e->filter;

	int err = f ? programs_set_filter(sources_bpf(s), number, &f->filter, f->patterns,
					  f->nr_patterns)
		    : 0;
	if (err)
		log_error("the filter of %s cannot be set: %s", e->name, strerror(-err));
	return err ?: open_nothing(s, e, number);
}

static int start_tracepoint(struct sources *s, const struct event *e, u32 number)
{
	struct bpf_link *link;
	int err = programs_attach_tracepoint(sources_bpf(s), e->place, e->what, number, &link);

	return sources_take_link(s, e, err, link);
}

static void each_in_group(const char *folder, const char *group, const struct event_kind *kind,
			  events_visit_fn tell, void *ctx)
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

static void each_tracepoint(const struct event_kind *kind, bool all, events_visit_fn tell,
			    void *ctx)
{
	auto_free char *folder = events_folder();
	auto_closedir DIR *dir = folder ? opendir(folder) : NULL;
	struct dirent *d;

	tell(kind->name, kind->unit, kind->help, folder ? NULL : why_no_folder(), ctx);
	while (all && dir && (d = readdir(dir)))
		if (d->d_type == DT_DIR && is_name(d->d_name, strlen(d->d_name)))
			each_in_group(folder, d->d_name, kind, tell, ctx);
}

const struct event_kind event_kind_tracepoint = {
	.name = "GROUP:NAME",
	.unit = "hits",
	.value = EVENT_VALUE_HIT,
	.help = "a tracepoint of the kernel",
	.programs = PROGRAM_BIT(TRACE_HIT),
	.nr_slots = SLOT_TRACE + 1,
	.sparser = "larger --period",
	.has_period = true,
	.parse = parse_tracepoint,
	.configure = configure_tracepoint,
	.open = open_tracepoint,
	.start = start_tracepoint,
	.each = each_tracepoint,
	.filter = filter_tracepoint,
};
