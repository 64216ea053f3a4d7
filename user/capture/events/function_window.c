/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling only between two functions of a process. */
#include "capture/events/function_window.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "capture/events/event_sources.h"

#define FILES_MAX 4096 /* with such functions */

/* The probe at the end function comes first: a window that was opened must be closed again. */
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

static bool ask(const struct probe_placing *self, const struct probe_file *f,
		struct places_query *query, void *ctx)
{
	const struct event_options *o = sources_options(ctx);

	query->kind = PLACES_FUNCTIONS;
	query->names[END] = o->end ?: "";
	query->names[BEGIN] = o->begin ?: "";
	query->nr_names = NR_PLACES;
	return true;
}

static bool place(const struct probe_placing *self, const struct probe_file *f,
		  const struct places *found, probe_links *out, void *ctx)
{
	static const enum program programs[NR_PLACES] = {
		[END] = PROGRAM_WINDOW_END, [BEGIN] = PROGRAM_WINDOW_BEGIN
	};
	const struct event_options *o = sources_options(ctx);
	bool any = false;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", f->fd);
	for (size_t i = 0; i < found->nr && i < NR_PLACES; i++) {
		const struct programs_uprobe at = {
			.program = programs[i],
			.path = path,
			.file_off = found->at[i].file_off,
			.pid = f->pid,
		};
		struct bpf_link *link;
		if (!found->at[i].file_off)
			continue;
		int err = programs_attach_program(sources_bpf(ctx), &at, &link);
		if (err == -ESRCH)
			sources_count_gone(ctx);
		else if (err)
			log_warn("%s cannot have a probe: %s", i == END ? o->end : o->begin,
				 strerror(-err));
		else
			vec_push(out, link);
		any = true;
	}
	return any;
}

static const struct probe_placing placing = {
	.name = "functions that begin and end sampling",
	.nr_files_max = FILES_MAX,
	.ask = ask,
	.place = place,
};

void function_window_open(struct sources *s)
{
	const struct event_options *o = sources_options(s);

	if (o->begin || o->end)
		sources_add_probes(s, SOURCES_NO_EVENT,
				   probes_new(o->workers, o->only_targets, &placing, s));
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
