/* SPDX-License-Identifier: Apache-2.0 */
/* How a recording goes. */
#include "capture/session_state.h"

void session_progress(const struct session *s, struct session_progress *out)
{
	u64 stats[NR_STATS];

	bpf_stats(s->bpf, stats);
	unwinding_stats(s->unwinding, stats);
	*out = (struct session_progress){
		.samples = stats[STAT_SAMPLES] + s->nr_pending,
		.lost = stats[STAT_RING_FULL] + stats[STAT_NO_SCRATCH] + stats[STAT_BUSY] +
			stats[STAT_WAIT_LOST] + stats[STAT_THROTTLED],
		.throttled = stats[STAT_THROTTLED],
		.sparse = stats[STAT_SPARSE],
		.truncated = stats[STAT_SAMPLES] - stats[STAT_ROOT] - stats[STAT_NO_USER] +
			     s->nr_pending_cut,
		.approximate = s->samples.nr_approximate,
		.frames = s->samples.nr_frames,
		.frames_named = s->samples.nr_named,
		.java_frames = s->samples.nr_java,
		.java_frames_named = s->samples.nr_java_named,
		.nr_cpus = sources_nr_cpus(s->sources),
		.event = sources_text(s->sources),
		.other_threads = s->samples.nr_other_threads,
		.name_conflicts = symbolizer_nr_conflicts(s->symbolizer),
		.untracked = stats[STAT_LEAK_UNTRACKED] + s->samples.held.nr_left_out,
		.events_lost = stats[STAT_EVENT_LOST],
		.frozen = stats[STAT_FROZEN],
		.without_line = symbolizer_nr_without_line(s->symbolizer),
		.kernel_error = symbolizer_kernel_error(s->symbolizer),
	};
	if (s->first_sample_ns > s->started_ns)
		out->start_to_first_sample_ns = s->first_sample_ns - s->started_ns;
	if (s->options.measure)
		bpf_measured(s->bpf, &out->cost);
	u32 asked;
	agents_count(s->agents, &asked, &out->jvms_attached, &out->jvms_refused);
	out->jvms = (u32)s->jvms_seen.nr;
	out->jvms_asked = asked;
}

void session_each_reason(const struct session *s, session_reason_fn visit, void *ctx)
{
	u64 stats[NR_STATS];

	bpf_stats(s->bpf, stats);
	unwinding_stats(s->unwinding, stats);
	for (u32 stat = STAT_FIRST_CUT; stat <= STAT_LAST_CUT; stat++)
		if (stats[stat])
			visit(stat_text[stat], stats[stat], ctx);
}
