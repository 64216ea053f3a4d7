/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of a profile on its own quality. */
#include "capture/notes.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/time.h"
#include "base/utf8.h"
#include "capture/losses.h"
#include "capture/session_state.h"
#include "proc/mem.h"

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

/* The summary has no line for these, so they are warnings as well. */
static void note_files_left_out(struct session *s)
{
	const struct maps_left_out *maps = symbolizer_maps_left_out(s->symbolizer);
	const struct workers_usage files = workers_usage(s->workers);
	u64 nr = files.nr_late + files.nr_failed;

	if (maps->nr) {
		profile_note(s->profile, "perf_maps_left_out",
			     "processes whose perf map is left out, so that code has no names",
			     maps->nr);
		log_warn("the perf map of process %d of user %u%s is left out: %s; its generated "
			 "code has no names",
			 (int)maps->pid, maps->user, maps->nr > 1 ? " and of other processes" : "",
			 maps->why);
	}
	if (nr) {
		profile_note(s->profile, "files_left_out",
			     "files that took too long to read, or whose reader ended", nr);
		log_warn("%llu files, the last of user %u, are left out: reading one takes more "
			 "than %llu s of CPU time, or ended its reader; their code is cut or "
			 "unnamed",
			 (unsigned long long)nr, files.late_user, WORK_CPU_NS / NS_PER_SEC);
	}
}

static void note_left_out(struct session *s)
{
	const struct processes_left_out *l = processes_left_out(s->processes);
	auto_str struct str comm = { 0 };

	if (!l->nr)
		return;
	utf8_clean(&comm, l->comm, PROCESS_COMM_LEN * 3);
	profile_note(s->profile, "mappings_left_out",
		     "processes whose mappings are not all known: their user has too many", l->nr);
	log_warn("not all mappings of %s-%d of user %u%s are known: those of one user may take %u "
		 "MB of memory here; their stacks may be cut and unnamed",
		 comm.at, (int)l->pid, l->uid, l->nr > 1 ? " and of other processes" : "",
		 MAPPING_USER_BYTES >> 20);
}

static void note_memory_left_out(struct session *s)
{
	const struct mem_left_out *m = mem_left_out();

	if (!m->nr)
		return;
	profile_note(s->profile, "memory_left_out",
		     "reads of processes' memory given up: the memory did not arrive in time",
		     m->nr);
	log_warn("memory of process %d of user %u%s did not arrive in time: its Java code may be "
		 "cut or unnamed; find out which file system or program supplies it",
		 (int)m->last.pid, m->user, m->nr > 1 ? " and of others" : "");
}

void notes_add(struct session *s)
{
	struct profile *profile = s->profile;
	struct session_progress now;

	session_progress(s, &now);
	profile_note(profile, "samples", "samples taken", now.samples);
	profile_note(profile, "lost", "samples lost", now.lost);
	losses_note(s);
	note_left_out(s);
	note_files_left_out(s);
	note_memory_left_out(s);
	if (s->memory.nr_drops)
		profile_note(profile, "memory_limit",
			     "times that names were dropped to stay below the memory limit",
			     s->memory.nr_drops);
	session_each_loss(s, note_counter, profile);
	profile_note(profile, "truncated", "user stacks that did not reach their root",
		     now.truncated);
	profile_note(
		profile, "approximate",
		"samples with a frame whose caller was searched or assumed: one may be missing",
		now.approximate);
	if (now.inexact)
		profile_note(
			profile, "inexact_leaf",
			"samples whose innermost inlined frames are those of the next safepoint",
			now.inexact);
	struct incomplete_notes incomplete = { .profile = profile };
	session_each_incomplete(s, note_incomplete, &incomplete);
	session_each_reason(s, note_counter, profile);
	if (now.other_threads)
		profile_note(profile, "other_threads",
			     "samples of threads that --thread-name leaves out", now.other_threads);
	if (now.reserved_bytes)
		profile_note(profile, "reserved",
			     "bytes that JVMs and threads reserved, left out of the leaks; "
			     "--reserved keeps them",
			     now.reserved_bytes);
	if (now.name_conflicts)
		profile_note(profile, "conflicts",
			     "frames to which the agent and HotSpot's tables give different names "
			     "or lines",
			     now.name_conflicts);
	if (now.frozen)
		profile_note(profile, "frozen",
			     "stacks of virtual threads that lack the callers on the heap",
			     now.frozen);
	if (frames_keeps_lines(profile->frames))
		profile_note(profile, "no-line", "frames of Java methods without a line",
			     now.without_line);
	profile_note(profile, "frames", "frames of all samples", now.frames);
	profile_note(profile, "unnamed", "frames without a name", now.frames - now.frames_named);
	if (now.frames_inferred)
		profile_note(profile, "inferred",
			     "frames of files without symbols, named by the function's role",
			     now.frames_inferred);
}
