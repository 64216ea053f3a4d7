/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of session_progress.
 * Part of capture/session.h.
 */
#include <string.h>

#include "capture/session_state.h"

static u64 nr_cut(const struct session *s)
{
	u64 nr = 0;

	for (u32 stat = STAT_FIRST_CUT; stat <= STAT_LAST_CUT; stat++)
		nr += s->samples.live_allocs.taken.by_stop[stat];
	return nr;
}

/* Counts the samples in the profile by event; returns the sum. */
static u64 count_taken(const struct session *s, struct session_progress *out)
{
	u64 sum = 0;

	out->nr_events = (u32)s->options.events->list.nr;
	for (u32 i = 0; i < out->nr_events; i++) {
		out->events[i] = (struct session_event){ s->options.events->list.at[i].name,
							 s->samples.live_allocs.taken.by_event[i] };
		sum += out->events[i].samples;
	}
	return sum;
}

void session_progress(const struct session *s, struct session_progress *out)
{
	u64 stats[NR_STATS];

	programs_stats(s->bpf, stats);
	unwinding_stats(s->unwinding, stats);
	*out = (struct session_progress){
		.lost = stats[STAT_RING_FULL] + stats[STAT_NO_SCRATCH] + stats[STAT_BUSY] +
			stats[STAT_WAIT_LOST] + stats[STAT_THROTTLED],
		.truncated = nr_cut(s),
		.approximate = s->samples.nr_approximate,
		.frames = s->samples.nr_frames,
		.frames_named = s->samples.nr_named,
		.frames_inferred = s->samples.nr_inferred,
		.java_frames = s->samples.nr_java,
		.java_frames_named = s->samples.nr_java_named,
		.set_up_ns = s->set_up_ns,
		.set_up_worked_ns = s->set_up_worked_ns,
		.nr_cpus = sources_nr_cpus(s->sources),
		.event = sources_text(s->sources),
		.held = s->samples.live_allocs.nr_begun,
		.other_threads = s->samples.nr_other_threads,
		.reserved_bytes = s->samples.reserved_bytes,
		.name_conflicts = symbolizer_nr_conflicts(s->symbolizer),
		.frozen = stats[STAT_FROZEN],
		.without_line = symbolizer_nr_without_line(s->symbolizer),
		.inexact = symbolizer_nr_inexact(s->symbolizer),
		.kernel_error = symbolizer_kernel_error(s->symbolizer),
	};
	out->samples = count_taken(s, out);
	if (s->first_sample_ns > s->started_ns)
		out->start_to_first_sample_ns = s->first_sample_ns - s->started_ns;
	if (s->options.measure)
		programs_measured(s->bpf, &out->cost);
	u32 asked;
	agents_count(s->agents, &asked, &out->jvms_attached, &out->jvms_refused);
	out->jvms = (u32)s->jvms_seen.nr;
	out->jvms_asked = asked;
}

void session_each_reason(const struct session *s, session_counter_fn visit, void *ctx)
{
	u64 stats[NR_STATS];

	memcpy(stats, s->samples.live_allocs.taken.by_stop, sizeof(stats));
	quality_correct(s->quality, stats);
	for (u32 stat = STAT_FIRST_CUT; stat <= STAT_LAST_CUT; stat++)
		if (stats[stat])
			visit(counter_of(stat), stats[stat], ctx);
}

void session_each_loss(const struct session *s, session_counter_fn visit, void *ctx)
{
	static const u32 shown[] = { STAT_NO_SCRATCH, STAT_LEAK_UNTRACKED, STAT_EVENT_LOST };
	u64 stats[NR_STATS];

	programs_stats(s->bpf, stats);
	stats[STAT_LEAK_UNTRACKED] += s->samples.live_allocs.nr_left_out;
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
		if (stats[shown[i]])
			visit(counter_of(shown[i]), stats[shown[i]], ctx);
}

void session_each_incomplete(const struct session *s, incomplete_fn visit, void *ctx)
{
	quality_each(s->quality, visit, ctx);
}
