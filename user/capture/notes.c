/* SPDX-License-Identifier: Apache-2.0 */
/* What a profile says of its own quality. */
#include "capture/notes.h"

static void note_reason(const char *why, u64 nr, void *profile)
{
	profile_note(profile, why, why, nr);
}

void notes_add(struct session *s)
{
	struct profile *profile = session_profile(s);
	struct session_progress now;

	session_progress(s, &now);
	profile_note(profile, "samples", "samples taken", now.samples);
	profile_note(profile, "lost", "samples lost", now.lost);
	if (now.throttled)
		profile_note(profile, "throttled",
			     "of them because so many would have held the program up",
			     now.throttled);
	if (now.sparse)
		profile_note(profile, "sparse",
			     "samples of waits that stand for more waits, as there were so many",
			     now.sparse);
	profile_note(profile, "truncated", "user stacks that did not reach their root",
		     now.truncated);
	profile_note(
		profile, "approximate",
		"samples with a frame whose caller was searched or assumed: one may be missing",
		now.approximate);
	session_each_reason(s, note_reason, profile);
	if (now.other_threads)
		profile_note(profile, "other_threads", "samples of threads that were not asked for",
			     now.other_threads);
	if (now.name_conflicts)
		profile_note(
			profile, "conflicts",
			"frames of which the agent and HotSpot's tables tell another name or line",
			now.name_conflicts);
	if (now.untracked)
		profile_note(profile, "untracked",
			     "allocations of which it is not known whether they were freed",
			     now.untracked);
	if (now.events_lost)
		profile_note(profile, "events_lost",
			     "reports that a process began, executed a program or ended were lost",
			     now.events_lost);
	if (now.frozen)
		profile_note(profile, "frozen",
			     "stacks of virtual threads that lack callers, which are on the heap",
			     now.frozen);
	if (frames_keeps_lines(profile->frames))
		profile_note(profile, "no-line", "frames of Java methods without a line",
			     now.without_line);
	profile_note(profile, "frames", "frames of all samples", now.frames);
	profile_note(profile, "unnamed", "frames without a name", now.frames - now.frames_named);
}
