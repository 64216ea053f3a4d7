/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of a recording and of its cuts.
 * Part of capture/recording.h.
 */
#include <string.h>

#include "capture/recording_state.h"
#include "proc/mem.h"
#include "proc/open_request.h"
#include "sym/files/generated_code.h"

static u64 nr_cut(const struct sample_counts *counts)
{
	u64 nr = 0;

	for (u32 stat = STAT_FIRST_CUT; stat <= STAT_LAST_CUT; stat++)
		nr += counts->by_stop[stat];
	return nr;
}

/* Counts the samples in the profile by event; returns the sum. */
static u64 count_taken(const struct recording *r, struct recording_progress *out)
{
	u64 sum = 0;

	out->nr_events = (u32)r->options.events->list.nr;
	for (u32 i = 0; i < out->nr_events; i++) {
		out->events[i] = (struct recording_event){ r->options.events->list.at[i].name,
							   out->counts.by_event[i] };
		sum += out->counts.by_event[i];
	}
	return sum;
}

static void add_left_out(const struct node *n, struct loss_counts *out)
{
	const struct workers_usage files = workers_usage(n->workers);

	out->nr_maps_left_out = symbolizer_maps_left_out(n->symbolizer)->nr;
	out->nr_files_left_out = files.nr_late + files.nr_failed;
	out->nr_opens_late = open_requests_nr_late();
	out->nr_memory_left_out = mem_left_out()->nr;
	out->nr_mappings_left_out = processes_left_out(n->processes)->nr;
	out->nr_memory_drops = n->memory.nr_drops;
}

void recording_losses(const struct recording *r, struct loss_counts *out)
{
	const struct node *n = r->node;

	programs_stats(r->bpf, out->stats);
	unwinding_stats(n->unwinding, out->stats);
	out->stats[STAT_EVENT_LOST] += node_programs_nr_lost(n->bpf);
	out->stats[STAT_MAPPING_LOST] += n->nr_side_lost;
	out->stats[STAT_LEAK_UNTRACKED] += r->samples.live_allocs.nr_left_out;
	memset(out->events, 0, sizeof(out->events));
	for (u32 event = 0; event < r->options.events->list.nr; event++)
		programs_event_counts(r->bpf, event, out->events[event]);
	if (r->sources)
		sources_count_missed(r->sources, out->events, out->stats);
	add_left_out(n, out);
	out->nr_denied = r->nr_denied;
	out->nr_conflicts = symbolizer_nr_conflicts(n->symbolizer);
	out->nr_without_line = symbolizer_nr_without_line(n->symbolizer);
}

static void add_agents(const struct recording *r, struct recording_progress *out)
{
	struct agent_counts count;

	agents_count(r->node->agents, &count);
	out->jvms_asked = count.jvms;
	out->jvms_attached = count.attached;
	out->jvms_refused = count.refused;
	out->jvms_spared = count.spared;
	out->jvms_warned = count.warned;
	out->jvms = (u32)r->jvms_seen.nr + r->nr_jvms_gone;
}

u64 recording_run_ns(const struct recording *r)
{
	return r->bpf ? programs_run_ns(r->bpf) : 0;
}

void recording_progress(const struct recording *r, struct recording_progress *out)
{
	struct loss_counts now, losses;

	recording_losses(r, &now);
	loss_counts_between(&r->before, &now, &losses);
	*out = (struct recording_progress){
		.sampled = losses.stats[STAT_SAMPLES],
		.missed = loss_counts_missed(&losses),
		.lost = loss_counts_samples(&losses),
		.set_up_ns = r->set_up_ns,
		.set_up_worked_ns = r->set_up_worked_ns,
		.nr_cpus = sources_nr_cpus(r->sources),
		.event = sources_text(r->sources),
		.held = r->samples.live_allocs.nr_begun,
		.name_conflicts = losses.nr_conflicts,
		.without_line = losses.nr_without_line,
		.kernel_error = symbolizer_kernel_error(r->node->symbolizer),
	};
	if (r->samples.sinks.nr)
		out->counts = sink_counts(r->samples.sinks.at[0]);
	out->truncated = nr_cut(&out->counts);
	out->samples = count_taken(r, out);
	if (r->first_sample_ns > r->started_ns)
		out->start_to_first_sample_ns = r->first_sample_ns - r->started_ns;
	if (r->options.measure)
		programs_measured(r->bpf, &out->cost);
	add_agents(r, out);
}

void cut_each_reason(const struct cut *c, counter_fn visit, void *ctx)
{
	const u64 *stats = c->counts.by_stop;

	for (u32 stat = STAT_FIRST_CUT; stat <= STAT_LAST_CUT; stat++)
		if (stats[stat])
			visit(counter_of(stat), stats[stat], ctx);
}

u32 cut_nr_virtual(const struct recording *r, const struct cut *c, struct str *first)
{
	vec_each(e, &r->options.events->list)
		if (sources_is_of_carriers(e))
			return quality_nr_virtual(c->quality, first);
	return 0;
}

void cut_each_loss(const struct cut *c, counter_fn visit, void *ctx)
{
	static const u32 shown[] = { STAT_NO_SCRATCH, STAT_LEAK_UNTRACKED, STAT_EVENT_LOST,
				     STAT_MAPPING_LOST };

	for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
		if (c->losses.stats[shown[i]])
			visit(counter_of(shown[i]), c->losses.stats[shown[i]], ctx);
}
