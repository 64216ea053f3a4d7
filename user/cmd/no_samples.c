/* SPDX-License-Identifier: Apache-2.0 */
/* A recording without samples: one sentence with the likely cause, and no file. */
#include "cmd/no_samples.h"

#include <string.h>

#include "base/log.h"
#include "base/str.h"

bool no_samples_is(const struct recorded *r, const struct record_options *o)
{
	struct recording_progress now;

	recording_progress(r->recording, &now);
	bool was_freed = now.held || (now.samples && o->sampling.live);

	return !r->cut->profile->weights.nr && !was_freed;
}

/* Adds the reason of the first JVM without an agent: it may explain the lack of samples. */
static void add_refusal(pid_t pid, enum agent_state state, const char *reason, void *ctx)
{
	struct str *why = ctx;

	if (why->len || !*reason || state == AGENT_ATTACHED)
		return;
	str_addf(why, "JVM %d has no agent: %s", (int)pid, reason);
}

static void add_idle(const struct record_options *o, struct str *why)
{
	bool is_cpu = o->events.list.nr == 1 && !strcmp(o->events.list.at[0].name, "cpu");
	const char *text = targets_text(o->targets);

	if (!o->command && targets_have_ended(o->targets)) {
		str_addf(why, "all processes selected by %s have ended", text);
		return;
	}
	if (o->command)
		str_add(why, "the command");
	else if (*text)
		str_addf(why, "no process selected by %s", text);
	else
		str_add(why, "no process");
	if (is_cpu)
		str_addf(why, " used %sCPU time", o->command ? "too little " : "");
	else
		str_addf(why, " had %s event of %s", o->command ? "no" : "an", o->event_list);
}

static void add_cause(const struct recorded *r, const struct record_options *o, struct str *why)
{
	struct recording_progress now;

	recording_progress(r->recording, &now);
	targets_add_missing(o->targets, why);
	if (!why->len && now.lost > now.missed)
		str_addf(why, "%llu were lost; take a larger --ring",
			 (unsigned long long)(now.lost - now.missed));
	if (!why->len && now.counts.nr_other_threads)
		str_addf(why, "%llu were of other threads than --thread-name %s selects",
			 (unsigned long long)now.counts.nr_other_threads, o->thread);
	if (!why->len && now.counts.nr_attach_left_out)
		str_addf(why, "%llu were of sysflame's own attach to JVMs; --own keeps them",
			 (unsigned long long)now.counts.nr_attach_left_out);
	if (!why->len && o->sampling.begin)
		str_addf(why, "no recorded process has reached %s", o->sampling.begin);
	if (!why->len && now.missed)
		str_addf(why, "%llu were lost: the kernel ran no program for them; record longer",
			 (unsigned long long)now.missed);
	if (!why->len)
		add_idle(o, why);
	struct str refusal = { 0 };
	agents_each(node_agents(r->node), add_refusal, &refusal);
	if (refusal.len)
		str_addf(why, "; %s", refusal.at);
	str_fini(&refusal);
}

void no_samples_say(const struct recorded *r, const struct record_options *o)
{
	auto_str struct str why = { 0 };

	add_cause(r, o, &why);
	log_error("no samples in %.1f s: %s; no profile is written",
		  (double)r->cut->profile->duration_ns / 1e9, why.at);
}
