/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling only between two functions of a process. */
#include "capture/events/function_window.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "capture/events/event_sources.h"
#include "elf/functions.h"

/* The end's probe comes first, because only it closes windows that the begin opens. */
enum {
	END,
	BEGIN,
	NR_PLACES
};

void function_window_configure(const struct event_options *o, struct knobs *knobs)
{
	if (o->begin || o->end)
		knobs->window = o->begin ? WINDOW_CLOSED : WINDOW_OPEN;
}

static bool place(int fd, u32 number, pid_t pid, probe_links *out, void *ctx)
{
	static const enum program programs[NR_PLACES] = {
		[END] = PROGRAM_WINDOW_END, [BEGIN] = PROGRAM_WINDOW_BEGIN
	};
	const struct event_options *o = sources_options(ctx);
	const char *names[NR_PLACES] = { [END] = o->end ?: "", [BEGIN] = o->begin ?: "" };
	struct function found[NR_PLACES];
	bool any = false;
	char path[32];

	if (functions_find_all(fd, names, NR_PLACES, found))
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (size_t i = 0; i < NR_PLACES; i++) {
		const struct programs_uprobe at = {
			.program = programs[i],
			.path = path,
			.file_off = found[i].file_off,
			.pid = pid,
		};
		struct bpf_link *link;
		if (!found[i].file_off)
			continue;
		int err = programs_attach_program(sources_bpf(ctx), &at, &link);
		if (err == -ESRCH)
			sources_count_gone(ctx);
		else if (err)
			log_warn("%s cannot have a probe: %s", names[i], strerror(-err));
		else
			vec_push(out, link);
		any = true;
	}
	return any;
}

void function_window_open(struct sources *s)
{
	const struct event_options *o = sources_options(s);

	if (o->begin || o->end)
		sources_add_probes(s, SOURCES_NO_EVENT, probes_new(o->only_targets, place, s));
}

void function_window_report(const struct sources *s)
{
	const struct event_options *o = sources_options(s);
	const struct probes *probes = sources_probes(s, SOURCES_NO_EVENT);

	if (probes && !probes_nr_files(probes))
		log_warn("no file of a recorded process has a symbol %s%s%s; without symbols (see "
			 "nm) a function cannot be found",
			 o->begin ?: "", o->begin && o->end ? " or " : "", o->end ?: "");
}
