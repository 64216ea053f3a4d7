/* SPDX-License-Identifier: Apache-2.0 */
/* The recording's window. Part of capture/recording_state.h. */
#include "capture/recording_state.h"

static void set_window(struct recording *r, u64 begin_ns, u64 end_ns)
{
	r->window = (struct span){ begin_ns, end_ns };
	r->samples.begin_ns = begin_ns;
	sources_set_window(r->sources, &r->window);
}

void recording_begin_window(struct recording *r, u64 begin_ns)
{
	u64 length_ns = r->options.duration_ns;

	set_window(r, begin_ns, length_ns ? begin_ns + length_ns : TIME_NEVER);
	vec_each(sink, &r->samples.sinks)
		sink_begin(*sink, begin_ns, &r->before);
}

/*
 * With --wait-for the kernel samples from the first instruction of the program, but the window
 * begins when user space learns of the exec.
 */
void recording_open_window(struct recording *r)
{
	const struct span open = { time_mono_ns(), TIME_NEVER };

	if (r->window.begin_ns != TIME_NEVER) { /* the awaited program was executed before */
		set_window(r, r->window.begin_ns, r->window.end_ns);
		return;
	}
	if (!targets_are_waited_for(r->options.targets)) {
		recording_begin_window(r, open.begin_ns);
		return;
	}
	set_window(r, TIME_NEVER, TIME_NEVER);
	sources_set_window(r->sources, &open);
}

void recording_close_window(struct recording *r)
{
	u64 now_ns = time_mono_ns();
	u64 begin_ns = r->window.begin_ns < now_ns ? r->window.begin_ns : now_ns;
	u64 end_ns = r->window.end_ns < now_ns ? r->window.end_ns : now_ns;

	if (r->window.begin_ns == TIME_NEVER) /* the awaited program never began */
		recording_begin_window(r, now_ns);
	set_window(r, begin_ns, end_ns);
}

bool recording_window_holds(const struct recording *r, u64 time_ns)
{
	return time_ns >= r->window.begin_ns && time_ns <= r->window.end_ns;
}

u64 recording_elapsed_ns(const struct recording *r)
{
	u64 now_ns = time_mono_ns();

	return now_ns > r->window.begin_ns ? now_ns - r->window.begin_ns : 0;
}
