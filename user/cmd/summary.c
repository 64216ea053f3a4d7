/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording tells the person at the terminal. */
#include "cmd/summary.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd/terminal.h"
#include "export/text.h"

#define NR_TOP 10

/* 1234567 as "1,234,567"; `text` needs 28 bytes. */
static const char *grouped(u64 number, char *text)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
	char *out = text;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = '\0';
	return text;
}

static double percent(u64 part, u64 whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

void summary_live(const struct session *s, u64 elapsed_ns)
{
	struct session_progress now;
	char samples[28], lost[28];

	session_progress(s, &now);
	fprintf(stderr, "\r%.1f s   %s samples   %s lost   %u JVMs \033[K",
		(double)elapsed_ns / 1e9, grouped(now.samples, samples), grouped(now.lost, lost),
		now.jvms);
	fflush(stderr);
}

void summary_live_end(void)
{
	fputs("\r\033[K", stderr);
}

/* A JVM that is still pending at the end says why, if it has said anything. */
static void print_refusal(pid_t pid, enum agent_state state, const char *reason, void *ctx)
{
	if (state == AGENT_REFUSED || state == AGENT_PENDING)
		log_info("           %d refused: %s", (int)pid,
			 *reason ? reason : "it has not answered so far; record for longer");
	else if (*reason)
		log_warn("%d is incomplete: %s", (int)pid, reason);
}

static void print_jvms(struct session *s, const struct session_progress *now)
{
	if (!now->jvms)
		return;
	log_info("JVMs       %u found, %u attached, %u refused", now->jvms, now->jvms_attached,
		 now->jvms_asked - now->jvms_attached);
	agents_each(session_agents(s), print_refusal, NULL);
}

static void print_reason(const char *why, u64 nr, void *ctx)
{
	char number[28];

	log_info("           %s %s", grouped(nr, number), why);
}

static void print_cost(const struct session_progress *now)
{
	const struct sampling_cost *c = &now->cost;
	struct rusage usage;
	char runs[28];

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
	log_info("first      %.1f ms from the start to the first sample",
		 (double)now->start_to_first_sample_ns / 1e6);
	log_info("memory     %.1f MB resident at most", (double)usage.ru_maxrss / 1024);
}

void summary_print(struct session *s, const char *path, u64 size_bytes)
{
	struct session_progress now;
	char a[28], b[28];

	session_progress(s, &now);
	double seconds = (double)session_profile(s)->duration_ns / 1e9;
	log_info("samples    %s in %.1f s on %d CPUs (%s)", grouped(now.samples, a), seconds,
		 now.nr_cpus, now.event);
	log_info("lost       %s", grouped(now.lost, a));
	if (now.throttled)
		log_warn("%s of them because so many samples would hold the program up: sums are "
			 "too "
			 "small; take a larger interval or --period",
			 grouped(now.throttled, a));
	if (now.sparse)
		log_info("sparse     %s samples of waits stand for more than the minimum, as there "
			 "were so many",
			 grouped(now.sparse, a));
	log_info("truncated  %s (%.2f %%)", grouped(now.truncated, a),
		 percent(now.truncated, now.samples));
	session_each_reason(s, print_reason, NULL);
	if (now.approximate)
		log_info("           %s have a frame whose caller was searched or assumed",
			 grouped(now.approximate, a));
	log_info("named      %.2f %% of %s frames", percent(now.frames_named, now.frames),
		 grouped(now.frames, b));
	if (now.java_frames)
		log_info("           %.2f %% of %s Java frames",
			 percent(now.java_frames_named, now.java_frames),
			 grouped(now.java_frames, b));
	if (now.name_conflicts)
		log_warn("%s frames differ between the agent and HotSpot's tables, in a name or "
			 "line",
			 grouped(now.name_conflicts, a));
	if (now.untracked)
		log_warn("of %s allocations it is not known whether they were freed: too many are "
			 "followed; take a larger interval",
			 grouped(now.untracked, a));
	if (now.events_lost)
		log_warn("%s reports that a process began, executed a program or ended were lost: "
			 "some may be without names or probes; take a larger --ring",
			 grouped(now.events_lost, a));
	if (now.kernel_error)
		log_warn("%s", now.kernel_error);
	if (now.cost.runs)
		print_cost(&now);
	print_jvms(s, &now);
	if (strcmp(path, "-"))
		log_info("wrote      %s, %s bytes", path, grouped(size_bytes, a));
}

void summary_top(struct session *s)
{
	const struct profile *p = session_profile(s);
	auto_tree struct tree t = { 0 };

	if (!p->types.nr)
		return;
	tree_make(p, 0, &t);
	if (t.nodes.at[0].total)
		text_top(p, 0, &t, NR_TOP, terminal_width(STDOUT_FILENO), stdout);
	fflush(stdout);
}

bool summary_refused(const struct session *s)
{
	struct session_progress now;

	session_progress(s, &now);
	return now.jvms_asked > now.jvms_attached;
}
