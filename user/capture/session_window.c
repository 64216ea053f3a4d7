/* SPDX-License-Identifier: Apache-2.0 */
/* The recording's window. */
#include "capture/session_window.h"

#include "capture/session_state.h"

static void set_window(struct session *s, u64 begin_ns, u64 end_ns)
{
	s->window = (struct span){ begin_ns, end_ns };
	s->samples.levels.window = s->window;
	sources_set_window(s->sources, &s->window);
}

void session_begin_window(struct session *s, u64 begin_ns)
{
	u64 now_ns = time_mono_ns(), length_ns = s->options.duration_ns;

	set_window(s, begin_ns, length_ns ? begin_ns + length_ns : TIME_NEVER);
	s->profile->start_wall_ns = time_wall_ns() - (now_ns - begin_ns);
}

/*
 * With --wait-for the kernel samples from the first instruction of the program, but the window
 * begins when user space learns of the exec.
 */
void session_open_window(struct session *s)
{
	const struct span open = { time_mono_ns(), TIME_NEVER };

	if (!targets_are_waited_for(s->options.targets)) {
		session_begin_window(s, open.begin_ns);
		return;
	}
	set_window(s, TIME_NEVER, TIME_NEVER);
	sources_set_window(s->sources, &open);
}

void session_close_window(struct session *s)
{
	u64 now_ns = time_mono_ns();
	u64 begin_ns = s->window.begin_ns < now_ns ? s->window.begin_ns : now_ns;
	u64 end_ns = s->window.end_ns < now_ns ? s->window.end_ns : now_ns;

	set_window(s, begin_ns, end_ns);
	s->profile->duration_ns = end_ns - begin_ns;
	if (begin_ns == end_ns) /* the awaited program never began */
		s->profile->start_wall_ns = time_wall_ns();
}

bool session_window_holds(const struct session *s, u64 time_ns)
{
	return time_ns >= s->window.begin_ns && time_ns <= s->window.end_ns;
}

u64 session_elapsed_ns(const struct session *s)
{
	u64 now_ns = time_mono_ns();

	return now_ns > s->window.begin_ns ? now_ns - s->window.begin_ns : 0;
}
