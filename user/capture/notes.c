/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of a profile on its own quality. */
#include "capture/notes.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/str.h"
#include "base/time.h"
#include "capture/losses.h"
#include "capture/recording_state.h"
#include "proc/mem.h"
#include "sym/files/generated_code.h"

#define INCOMPLETE_MAX 50 /* processes */

static void note_counter(const struct counter *c, u64 nr, void *profile)
{
	profile_note(profile, c->key, c->text, nr);
}

struct incomplete_notes {
	struct profile *profile;
	u32 nr;
};

/*
 * The recording's start in the key keeps recordings of the same process apart when they are merged.
 */
static void note_incomplete(const struct incomplete *i, void *ctx)
{
	struct incomplete_notes *notes = ctx;

	if (notes->nr++ >= INCOMPLETE_MAX)
		return;
	char *key = xasprintf(NOTE_INCOMPLETE "%d-%llu", (int)i->pid,
			      (unsigned long long)(notes->profile->start_wall_ns / NS_PER_SEC));
	profile_note(notes->profile, key, i->text, i->nr_cut);
	free(key);
}

/*
 * Notes files that were left out. The summary has no line for them, so each is logged as a warning,
 * too.
 */
static void note_files_left_out(const struct node *n, const struct cut *c)
{
	u64 nr_maps = c->losses.nr_maps_left_out, nr = c->losses.nr_files_left_out;
	const struct maps_left_out *maps = symbolizer_maps_left_out(n->symbolizer);
	const struct workers_usage files = workers_usage(n->workers);

	if (nr_maps) {
		profile_note(c->profile, "perf_maps_left_out",
			     "processes whose perf map is left out, so that code has no names",
			     nr_maps);
		log_warn("the perf map of process %d of user %u%s is left out: %s; its generated "
			 "code has no names",
			 (int)maps->pid, maps->user, nr_maps > 1 ? " and of other processes" : "",
			 maps->why);
	}
	if (nr) {
		profile_note(c->profile, "files_left_out",
			     "files that took too long to read, or whose reader ended", nr);
		log_warn("%llu files, the last of user %u, are left out: reading one takes more "
			 "than %llu s of CPU time, or ended its reader; their code is cut or "
			 "unnamed",
			 (unsigned long long)nr, files.late_user, PARSER_CPU_NS / NS_PER_SEC);
	}
}

/* Rows and symbols of such a file may be missing for a while, or to the end. */
static void note_late_opens(const struct cut *c, bool cuts_many)
{
	u64 nr = c->losses.nr_opens_late;

	if (!nr)
		return;
	profile_note(c->profile, "files_not_opened",
		     "times that a file did not open in time: its stacks may be cut and its "
		     "functions unnamed",
		     nr);
	if (!cuts_many)
		return;
	log_warn("%llu times a file did not open in time: its file system does not answer, or too "
		 "many programs want a CPU; its stacks may be cut and its functions unnamed; "
		 "record for longer",
		 (unsigned long long)nr);
}

static void note_left_out(const struct node *n, const struct cut *c)
{
	u64 nr = c->losses.nr_mappings_left_out;
	const struct processes_left_out *l = processes_left_out(n->processes);
	auto_str struct str comm = { 0 };

	if (!nr)
		return;
	utf8_clean(&comm, l->comm, PROCESS_COMM_LEN * 3);
	profile_note(c->profile, "mappings_left_out",
		     "processes whose mappings are not all known: their user has too many, or "
		     "reading them takes too long",
		     nr);
	log_warn("not all mappings of %s-%d of user %u%s are known: those of one user may take %u "
		 "MB of memory and 5 %% of the time here; their stacks may be cut and unnamed",
		 comm.at, (int)l->pid, l->uid, nr > 1 ? " and of other processes" : "",
		 MAPPING_USER_BYTES >> 20);
}

static void note_memory_left_out(const struct cut *c)
{
	const struct mem_left_out *m = mem_left_out();
	u64 nr = c->losses.nr_memory_left_out;

	if (mem_reader_nr_direct())
		log_warn("the process that reads memory (sysflame-memory) was killed: the recorder "
			 "has read %llu times itself, without a deadline; record again",
			 (unsigned long long)mem_reader_nr_direct());
	if (!nr)
		return;
	profile_note(c->profile, "memory_left_out",
		     "reads of processes' memory given up: the memory did not arrive in time", nr);
	log_warn("memory of process %d of user %u%s did not arrive in time: its Java code may be "
		 "cut or unnamed; find out which file system or program supplies it",
		 (int)m->last.pid, m->user, nr > 1 ? " and of others" : "");
}

/* Most programs named: of those with a known run time, and of those without. */
#define OTHERS_MAX 3

/* Whether more samples are missing than noise explains; the summary uses the same rule. */
static bool has_missed(const struct recording *r, const struct cut *c)
{
	for (u32 i = 0; i < r->options.events->list.nr; i++) {
		const u64 *counts = c->losses.events[i];
		if ((counts[EVENT_SKIPPED] + counts[EVENT_DECLINED]) * 100 > counts[EVENT_DUE])
			return true;
	}
	return false;
}

/* The BPF programs of others that took the time. Without run times the first ones are named. */
static void note_others(const struct recording *r, const struct cut *c)
{
	other_program_list others = { 0 };
	auto_str struct str line = { 0 };

	if (!has_missed(r, c) || !sources_misses_some(r->sources))
		return;
	bool is_new = sources_others(r->sources, &others);
	u32 nr[2] = { 0 };
	vec_each(p, &others) {
		if (nr[p->is_timed] == OTHERS_MAX)
			continue;
		if (p->is_timed && p->run_ns < NS_PER_MS && r->node->timing_fd >= 0)
			continue;
		auto_free char *key = xasprintf("beside_%s_%s", p->name, p->comm);
		auto_str struct str program = { 0 };
		other_program_text(p, &program);
		auto_free char *text = xasprintf("ms for which the BPF program %s ran, beside "
						 "which samples are lost; 0: unknown",
						 program.at);
		profile_note(c->profile, key, text, p->run_ns / NS_PER_MS);
		str_addf(&line, "%s%s", line.len ? ", " : "", program.at);
		nr[p->is_timed]++;
		if (p->run_ns)
			str_addf(&line, " for %.2f s", (double)p->run_ns / NS_PER_SEC);
	}
	if (is_new && line.len)
		log_warn("samples are lost beside BPF programs of others: %s", line.at);
	vec_fini(&others);
}

/* Notes on samples and stacks. */
static void note_samples(const struct recording *r, struct cut *c)
{
	struct profile *profile = c->profile;
	const struct sample_counts *counts = &c->counts;
	u64 samples = 0, truncated = 0;

	for (u32 event = 0; event < ABI_EVENTS; event++)
		samples += counts->by_event[event];
	for (u32 stat = STAT_FIRST_CUT; stat <= STAT_LAST_CUT; stat++)
		truncated += counts->by_stop[stat];
	note_late_opens(c, truncated > samples / 100);
	profile_note(profile, "samples", "samples taken", samples);
	profile_note(profile, "lost", "samples lost", loss_counts_samples(&c->losses));
	losses_note(r, c);
	note_others(r, c);
	note_left_out(r->node, c);
	note_files_left_out(r->node, c);
	note_memory_left_out(c);
	if (c->losses.nr_denied)
		profile_note(profile, "denied",
			     "samples dropped, because their containers opted out of profiling",
			     c->losses.nr_denied);
	if (c->losses.nr_memory_drops)
		profile_note(profile, "memory_limit",
			     "times that names were dropped to stay below the memory limit",
			     c->losses.nr_memory_drops);
	cut_each_loss(c, note_counter, profile);
	profile_note(profile, "truncated", "user stacks that did not reach their root", truncated);
	profile_note(
		profile, "approximate",
		"samples with a frame whose caller was searched or assumed: one may be missing",
		counts->nr_approximate);
	if (counts->nr_inexact)
		profile_note(
			profile, "inexact_leaf",
			"samples whose innermost inlined frames are those of the next safepoint",
			counts->nr_inexact);
}

/* Notes on samples that were left out, and on names of frames. */
static void note_frames(struct cut *c)
{
	struct profile *profile = c->profile;
	const struct sample_counts *counts = &c->counts;

	if (counts->nr_other_threads)
		profile_note(profile, "other_threads",
			     "samples of threads that --thread-name leaves out",
			     counts->nr_other_threads);
	if (counts->nr_attach_left_out)
		profile_note(profile, "attach_left_out",
			     "samples of sysflame's own attach to JVMs, left out of this profile; "
			     "record --own keeps them",
			     counts->nr_attach_left_out);
	if (counts->nr_attach)
		profile_note(profile, "attach",
			     "samples of sysflame's own attach to JVMs, in [sysflame attach]",
			     counts->nr_attach);
	if (counts->reserved_bytes)
		profile_note(profile, "reserved",
			     "bytes that JVMs and threads reserved, left out of the leaks; "
			     "--reserved keeps them",
			     counts->reserved_bytes);
	if (c->losses.nr_conflicts)
		profile_note(profile, "conflicts",
			     "frames to which the agent and HotSpot's tables give different names "
			     "or lines",
			     c->losses.nr_conflicts);
	if (frames_keeps_lines(profile->frames))
		profile_note(profile, "no-line", "frames of Java methods without a line",
			     c->losses.nr_without_line);
	profile_note(profile, "frames", "frames of all samples", counts->nr_frames);
	profile_note(profile, "unnamed", "frames without a name",
		     counts->nr_frames - counts->nr_named);
	if (counts->nr_inferred)
		profile_note(
			profile, "inferred",
			"frames of files without symbols, named by the function's role or bounds",
			counts->nr_inferred);
	if (counts->nr_stripped)
		profile_note(profile, "grouped",
			     "frames without a name in libjvm or libc, grouped by exported "
			     "function or thread",
			     counts->nr_stripped);
}

/* The recording's start in the key, as above. */
static void note_requests(struct cut *c)
{
	struct profile *profile = c->profile;

	if (c->counts.nr_other_values)
		profile_note(
			profile, "request_values",
			"samples with an attribute whose value is [other]: its process has too "
			"many values of it",
			c->counts.nr_other_values);
	vec_each(f, &c->faulty) {
		auto_free char *why = request_faults_text(f->faults);
		auto_free char *key =
			xasprintf("request_faults-%u-%llu", f->pid,
				  (unsigned long long)(profile->start_wall_ns / NS_PER_SEC));
		auto_free char *text = xasprintf("samples of process %u whose context of a request "
						 "is ignored in part: %s",
						 f->pid, why);
		profile_note(profile, key, text, f->nr);
	}
	if (c->traces.nr_dropped)
		profile_note(profile, "traces_dropped",
			     "samples without trace and span: only the newest 131,072 values keep "
			     "theirs",
			     c->traces.nr_dropped);
	if (c->nr_other_faulty)
		profile_note(profile, "request_faults",
			     "samples of other processes whose context of a request is ignored in "
			     "part",
			     c->nr_other_faulty);
}

static void note_unmounted(const struct recording *r, struct cut *c)
{
	auto_str struct str first = { 0 };
	u32 nr = cut_nr_virtual(r, c, &first);

	if (nr)
		profile_note(c->profile, "unmounted",
			     "JVMs whose waits lack virtual threads that are not on a carrier", nr);
	if (c->nr_late_virtual > c->nr_virtual / 4)
		profile_note(c->profile, "late_waits",
			     "waits of virtual threads, read while the recorder had taken a CPU: "
			     "short ones count too much",
			     c->nr_late_virtual);
}

void notes_add(const struct recording *r, struct cut *c)
{
	struct incomplete_notes incomplete = { .profile = c->profile };

	note_samples(r, c);
	quality_each(c->quality, note_incomplete, &incomplete);
	cut_each_reason(c, note_counter, c->profile);
	note_frames(c);
	note_requests(c);
	note_unmounted(r, c);
}

#define NOTES_MAX 20 /* JVMs of one kind of note */

struct late_visit {
	const struct recording *recording;
	const struct cut *cut;
	late_jvm_fn visit;
	void *ctx;
};

/* Adds a phrase for each effect of `hooks`, "and" before the last. */
static void add_effects(struct str *out, u32 hooks)
{
	static const struct {
		enum agent_hook hook;
		const char *text;
	} effects[] = {
		{ AGENT_HOOK_ALLOC, "alloc is counted" },
		{ AGENT_HOOK_METHOD, "calls of methods are counted" },
		{ AGENT_HOOK_LOCK, "monitors have a class" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(effects); i++) {
		if (!(hooks & effects[i].hook))
			continue;
		hooks &= ~(u32)effects[i].hook;
		str_addf(out, "%s%s", !out->len ? "" : hooks ? ", " : " and ", effects[i].text);
	}
}

static void visit_late(struct process_id id, u32 hooks, u64 report_ns, void *ctx)
{
	const struct late_visit *v = ctx;
	const struct process *p = processes_find(v->recording->node->processes, id);
	auto_str struct str effects = { 0 };

	if (report_ns >= v->cut->span.end_ns)
		return;
	add_effects(&effects, hooks);
	const struct late_jvm late = {
		.pid = id.pid,
		.comm = p ? p->comm : "java",
		.effects = effects.at,
		.since_ns = report_ns - v->cut->span.begin_ns,
	};
	v->visit(&late, v->ctx);
}

void cut_each_late(const struct recording *r, const struct cut *c, late_jvm_fn visit, void *ctx)
{
	struct late_visit v = { r, c, visit, ctx };

	agents_each_late(r->node->agents, &r->hooks, c->span.begin_ns, visit_late, &v);
}

struct late_noting {
	struct profile *profile;
	u32 nr;
};

static void note_late(const struct late_jvm *late, void *ctx)
{
	struct late_noting *n = ctx;

	if (n->nr++ >= NOTES_MAX)
		return;
	auto_free char *key = xasprintf("late-%d", (int)late->pid);
	auto_free char *text =
		xasprintf("ms after the begin the agent in %s-%d reported; %s from then on",
			  late->comm, (int)late->pid, late->effects);
	profile_note(n->profile, key, text, late->since_ns / NS_PER_MS);
}

void late_note(const struct recording *r, struct cut *c)
{
	struct late_noting n = { .profile = c->profile };

	cut_each_late(r, c, note_late, &n);
	if (n.nr > NOTES_MAX)
		profile_note(n.profile, "late", "more JVMs whose agents reported after the begin",
			     n.nr - NOTES_MAX);
}

struct refused_visit {
	const struct recording *recording;
	refused_fn visit;
	void *ctx;
};

/* Whether the JVM's refusal was noted; NULL if the recording has not sampled the JVM. */
static u64 *find_mark(const struct recording *r, pid_t pid)
{
	const struct process *p = processes_newest(r->node->processes, pid);

	return p ? dict_find(&r->jvms_seen, process_id_hash(p->id)) : NULL;
}

static void visit_agent(pid_t pid, enum agent_state state, const char *reason, void *ctx)
{
	const struct refused_visit *v = ctx;
	const struct process *p = processes_newest(v->recording->node->processes, pid);
	auto_str struct str comm = { 0 };

	if (state != AGENT_REFUSED || !find_mark(v->recording, pid))
		return;
	utf8_clean(&comm, p->comm, PROCESS_COMM_LEN * 3);
	v->visit(pid, comm.at ?: "java", reason, v->ctx);
}

void recording_each_refused(const struct recording *r, refused_fn visit, void *ctx)
{
	struct refused_visit v = { r, visit, ctx };

	if (r->needs_hooks)
		agents_each(r->node->agents, visit_agent, &v);
}

struct refused_noting {
	struct recording *recording;
	struct profile *profile;
	u32 nr;
};

/* The second in the key keeps recordings of the same process apart when they are merged. */
static void note_refused(pid_t pid, const char *comm, const char *reason, void *ctx)
{
	struct refused_noting *n = ctx;
	u64 *is_noted = find_mark(n->recording, pid);

	if (*is_noted || n->nr++ >= NOTES_MAX)
		return;
	*is_noted = 1;
	auto_free char *key =
		xasprintf(NOTE_INCOMPLETE "refused-%d-%llu", (int)pid,
			  (unsigned long long)(n->profile->start_wall_ns / NS_PER_SEC));
	auto_free char *text =
		xasprintf("JVM without the agent, %s-%d: %s", comm, (int)pid, reason);
	profile_note(n->profile, key, text, 1);
}

void refused_note(struct recording *r, struct cut *c)
{
	struct refused_noting n = { r, c->profile, 0 };

	recording_each_refused(r, note_refused, &n);
}
