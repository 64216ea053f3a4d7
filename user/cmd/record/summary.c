/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the reports of a recording on standard error. */
#include "cmd/record/summary.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "capture/losses.h"
#include "cmd/cmd.h"
#include "export/writers/amount.h"
#include "export/writers/text.h"
#include "profile/unnamed.h"

#define NR_TOP          10
#define NR_INCOMPLETE   6   /* processes */
#define NR_UNNAMED      4   /* files without symbols */
#define UNNAMED_LEAST   0.1 /* percent of the profile */
#define BUILD_ID_PREFIX 10  /* digits; so many differ between any two files of a release */

void summary_live(const struct recording *r, u64 elapsed_ns)
{
	struct recording_progress now;
	char samples[GROUPED_BYTES], lost[GROUPED_BYTES];

	recording_progress(r, &now);
	fprintf(stderr, "\r%.1f s   %s sample%s   %s lost   %u JVM%s \033[K",
		(double)elapsed_ns / 1e9, grouped(now.samples, samples), plural(now.samples),
		grouped(now.lost, lost), now.jvms, plural(now.jvms));
	fflush(stderr);
}

void summary_part(const struct cut *c, const char *path, u64 size_bytes)
{
	u64 nr_samples = 0, nr_lost = loss_counts_samples(&c->losses);
	char bytes[GROUPED_BYTES], samples[GROUPED_BYTES], lost[GROUPED_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(c->counts.by_event); i++)
		nr_samples += c->counts.by_event[i];
	fprintf(stderr, "%swrote      %s, %s bytes, %s sample%s, %s lost\n",
		isatty(STDERR_FILENO) ? "\r\033[K" : "", path, grouped(size_bytes, bytes),
		grouped(nr_samples, samples), plural(nr_samples), grouped(nr_lost, lost));
}

void summary_live_end(void)
{
	fputs("\r\033[K", stderr);
}

/* A JVM that is still pending at the end was not attached in time. */
static void print_refusal(pid_t pid, enum agent_state state, const char *reason, void *ctx)
{
	if (state == AGENT_REFUSED)
		log_info("           %d refused: %s", (int)pid, reason);
	else if (state == AGENT_SPARED)
		log_debug("%d: %s", (int)pid, reason);
	else if (state == AGENT_PENDING)
		log_info(
			"           %d pending: %s", (int)pid,
			*reason ? reason
				: "the attach went on when the recording ended; record for longer");
	else if (*reason)
		log_warn("%d is incomplete: %s", (int)pid, reason);
}

#define LATE_MAX 10

static void print_late(const struct late_jvm *late, void *ctx)
{
	u32 *nr = ctx;

	if ((*nr)++ < LATE_MAX)
		log_info("           %d %s: %s from %.2f s on, when its agent reported",
			 (int)late->pid, late->comm, late->effects, (double)late->since_ns / 1e9);
}

static void print_jvms(const struct recorded *r, const struct recording_progress *now)
{
	const u32 pending =
		now->jvms_asked - now->jvms_attached - now->jvms_refused - now->jvms_spared;
	char more[32] = "", spared[48] = "";
	u32 nr_late = 0;

	if (!now->jvms)
		return;
	if (pending)
		snprintf(more, sizeof(more), ", %u pending", pending);
	if (now->jvms_spared)
		snprintf(spared, sizeof(spared), ", %u read from outside", now->jvms_spared);
	log_info("JVMs       %u found, %u attached, %u refused%s%s", now->jvms, now->jvms_attached,
		 now->jvms_refused, spared, more);
	if (now->jvms_warned)
		log_info("           %u printed three lines of warning about the agent; start %s "
			 "with "
			 "-XX:+EnableDynamicAgentLoading",
			 now->jvms_warned, now->jvms_warned == 1 ? "it" : "them");
	agents_each(node_agents(r->node), print_refusal, NULL);
	cut_each_late(r->recording, r->cut, print_late, &nr_late);
	if (nr_late > LATE_MAX)
		log_info("           and %u more whose agents reported later", nr_late - LATE_MAX);
}

static void print_reason(const struct counter *c, u64 nr, void *ctx)
{
	char number[GROUPED_BYTES];

	log_info("           %s %s", grouped(nr, number), c->text);
}

static void print_counter(const struct counter *c, u64 nr, void *ctx)
{
	char number[GROUPED_BYTES];

	log_warn("%s %s; %s", grouped(nr, number), c->text, c->remedy);
}

static void print_incomplete(const struct incomplete *i, void *ctx)
{
	u32 *nr = ctx;
	char number[GROUPED_BYTES];

	if ((*nr)++ < NR_INCOMPLETE)
		log_warn("%s %s", grouped(i->nr_cut, number), i->text);
}

static void print_virtual(const struct recorded *r)
{
	auto_str struct str first = { 0 };
	u32 nr = cut_nr_virtual(r->recording, r->cut, &first);

	if (nr > 1)
		str_addf(&first, " and %u more JVM%s", nr - 1, plural(nr - 1));
	if (nr)
		log_warn("waits of virtual threads that left their carriers are missing: %s ha%s "
			 "such threads",
			 first.at, nr > 1 ? "ve" : "s");
}

/* The processes with the largest shares of incomplete stacks. */
static void print_quality(const struct cut *c)
{
	u32 nr = 0;

	quality_each(c->quality, print_incomplete, &nr);
	if (nr > NR_INCOMPLETE)
		log_warn("stacks of %u more process%s lack callers; the profile's notes name them",
			 nr - NR_INCOMPLETE, nr - NR_INCOMPLETE == 1 ? "" : "es");
}

/* A smaller part of missing samples is a line of the summary, not a warning. */
#define NOISE_PART 100

static void print_loss(const struct loss *l, void *ctx)
{
	char number[GROUPED_BYTES];

	if (l->nr_due && l->nr <= l->nr_due / NOISE_PART) {
		log_info("           %s of %s (%.2f %% of those due): %s", grouped(l->nr, number),
			 l->event, percent(l->nr, l->nr_due), l->why);
		return;
	}
	char share[32] = "";
	if (l->nr_due)
		snprintf(share, sizeof(share), " (%.1f %% of those due)",
			 percent(l->nr, l->nr_due));
	log_warn("%s sample%s of %s%s %s lost, because %s: its sums are too small; %s",
		 grouped(l->nr, number), plural(l->nr), l->event, share,
		 l->nr == 1 ? "was" : "were", l->why, l->remedy);
}

static void print_sparse(const struct loss *l, void *ctx)
{
	char number[GROUPED_BYTES];

	log_info("sparse     %s samples of %s stand for more than one would alone, as there were "
		 "so many",
		 grouped(l->nr, number), l->event);
}

static void print_cost(const struct recording_progress *now)
{
	const struct sampling_cost *c = &now->cost;
	struct rusage usage;
	char runs[GROUPED_BYTES];

	getrusage(RUSAGE_SELF, &usage);
	log_info("bpf        %.2f us per run, %s runs",
		 (double)(c->run_ns - c->frame_pointer_ns) / 1e3 / (double)c->runs,
		 grouped(c->runs, runs));
	if (c->walks)
		log_info("walk       %.2f us for %.1f frames, %.3f us a frame; frame pointers %.2f "
			 "us",
			 (double)c->walk_ns / 1e3 / (double)c->walks,
			 (double)c->frames / (double)c->walks,
			 (double)c->walk_ns / 1e3 / (double)c->frames,
			 (double)c->frame_pointer_ns / 1e3 / (double)c->walks);
	log_info("set-up     %.0f ms, %.0f ms of them on a CPU", (double)now->set_up_ns / 1e6,
		 (double)now->set_up_worked_ns / 1e6);
	log_info("first      %.1f ms from the start to the first sample",
		 (double)now->start_to_first_sample_ns / 1e6);
	log_info("memory     %.1f MB resident at most", (double)usage.ru_maxrss / 1024);
}

/* "           alloc 12, lock 0", if several events were recorded. */
static void print_events(const struct recording_progress *now)
{
	auto_str struct str line = { 0 };
	char number[GROUPED_BYTES];

	for (u32 i = 0; i < now->nr_events; i++)
		str_addf(&line, "%s%s %s", i ? ", " : "", now->events[i].name,
			 grouped(now->events[i].samples, number));
	if (now->nr_events > 1)
		log_info("           %s", line.at);
}

/* sysflame's own work in JVMs. */
static void print_attach(const struct sample_counts *counts, u64 nr_samples)
{
	u64 out = counts->nr_attach_left_out, kept = counts->nr_attach;
	char number[GROUPED_BYTES];

	if (out)
		log_info("attach     %s sample%s of sysflame's own attach to JVMs (%.2f %%) %s "
			 "left out; --own keeps them",
			 grouped(out, number), plural(out), percent(out, nr_samples + out),
			 out == 1 ? "is" : "are");
	if (kept)
		log_info("attach     %s sample%s of sysflame's own attach to JVMs (%.2f %%) %s "
			 "in [sysflame attach]",
			 grouped(kept, number), plural(kept), percent(kept, nr_samples),
			 kept == 1 ? "is" : "are");
}

/*
 * Prints the commands that would name these functions. apt's lists have the build ids of Debian's
 * -dbgsym packages, if its debug archive is among the sources.
 */
static void print_remedy(const struct recorded *r, const char *path, const char *build_ids)
{
	if (r->has_servers)
		return;
	if (r->format->has_view && strcmp(path, "-"))
		log_info("           sysflame report %s --debuginfod -o %s", path, path);
	else
		log_info("           sysflame record --debuginfod fetches their symbols");
	if (!*build_ids || file_access("/usr/bin/apt-cache", X_OK))
		return;
	log_info("           or, if apt has Debian's debug archive, its packages:");
	log_info("           apt install $(apt-cache dumpavail | awk -v RS= '");
	log_info("             /%s/ { print $2 }')", build_ids);
}

/* The files whose functions have no names, and how much of the profile has such functions. */
static void print_unnamed(const struct recorded *r, const char *path)
{
	const struct profile *p = r->cut->profile;
	u64 whole = p->types.nr ? profile_total(p, 0) : 0;
	auto_str struct str build_ids = { 0 };
	unnamed_files files = { 0 };
	u32 nr = 0, nr_more = 0;

	if (!whole)
		return;
	unnamed_files_find(p, &files);
	vec_each(f, &files) {
		double share = percent(f->weight, whole);
		if (share < UNNAMED_LEAST)
			break;
		if (nr++ >= NR_UNNAMED) {
			nr_more++;
			continue;
		}
		log_info("%s in %.1f %% of the profile: functions of %s",
			 nr == 1 ? "no symbols" : "          ", share, f->name);
		log_info("           build id %s", *f->build_id ? f->build_id : "unknown");
		if (*f->build_id)
			str_addf(&build_ids, "%s%.*s", build_ids.len ? "|" : "", BUILD_ID_PREFIX,
				 f->build_id);
	}
	if (nr_more)
		log_info("           and of %u more file%s", nr_more, plural(nr_more));
	if (nr)
		print_remedy(r, path, build_ids.len ? build_ids.at : "");
	unnamed_files_fini(&files);
}

void summary_print(const struct recorded *r, const char *path, u64 size_bytes)
{
	const struct sample_counts *counts;
	struct recording_progress now;
	char a[GROUPED_BYTES], b[GROUPED_BYTES];

	recording_progress(r->recording, &now);
	counts = &now.counts;
	double seconds = (double)r->cut->profile->duration_ns / 1e9;
	log_info("samples    %s in %.1f s on %d CPU%s (%s)", grouped(now.samples, a), seconds,
		 now.nr_cpus, plural((u64)now.nr_cpus), now.event);
	print_events(&now);
	print_attach(counts, now.samples);
	log_info("lost       %s", grouped(now.lost, a));
	losses_each(r->recording, r->cut, print_loss, NULL);
	losses_each_sparse(r->recording, r->cut, print_sparse, NULL);
	cut_each_loss(r->cut, print_counter, NULL);
	log_info("truncated  %s (%.2f %%)", grouped(now.truncated, a),
		 percent(now.truncated, now.samples));
	cut_each_reason(r->cut, print_reason, NULL);
	if (counts->nr_approximate)
		log_info("           %s sample%s with a frame whose caller was searched or assumed",
			 grouped(counts->nr_approximate, a), plural(counts->nr_approximate));
	if (counts->nr_inexact)
		log_info("           %s sample%s whose innermost inlined frames are those of the "
			 "next safepoint",
			 grouped(counts->nr_inexact, a), plural(counts->nr_inexact));
	log_info("named      %.2f %% of %s frame%s", percent(counts->nr_named, counts->nr_frames),
		 grouped(counts->nr_frames, b), plural(counts->nr_frames));
	if (counts->nr_inferred)
		log_info("           %s of them by the role or bounds of stripped functions",
			 grouped(counts->nr_inferred, a));
	if (counts->nr_stripped)
		log_info("           %s without a name are grouped by thread or exported function; "
			 "debug symbols of the JDK and libc name them",
			 grouped(counts->nr_stripped, a));
	if (counts->nr_java)
		log_info("           %.2f %% of %s Java frame%s",
			 percent(counts->nr_java_named, counts->nr_java),
			 grouped(counts->nr_java, b), plural(counts->nr_java));
	if (now.name_conflicts)
		log_warn("%s frames differ between the agent and HotSpot's tables, in a name or "
			 "line",
			 grouped(now.name_conflicts, a));
	print_unnamed(r, path);
	if (counts->reserved_bytes)
		log_info("reserved   %s bytes of JVMs and threads are left out of the leaks; "
			 "--reserved keeps them",
			 grouped(counts->reserved_bytes, a));
	if (now.kernel_error)
		log_warn("%s", now.kernel_error);
	if (now.cost.runs)
		print_cost(&now);
	print_jvms(r, &now);
	print_quality(r->cut);
	print_virtual(r);
	if (strcmp(path, "-"))
		log_info("wrote      %s, %s bytes", path, grouped(size_bytes, a));
}

void summary_top(const struct recorded *r)
{
	const struct profile *p = r->cut->profile;
	auto_tree struct tree t = { 0 };

	if (!p->types.nr)
		return;
	tree_make(p, 0, &t);
	if (t.nodes.at[0].total)
		text_top(p, 0, &t, NR_TOP, terminal_width(STDOUT_FILENO), stdout);
	fflush(stdout);
}

bool summary_refused(const struct recorded *r)
{
	struct recording_progress now;

	recording_progress(r->recording, &now);
	return now.jvms_asked > now.jvms_attached;
}

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
