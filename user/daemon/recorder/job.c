/* SPDX-License-Identifier: Apache-2.0 */
/* A recording that the web process asked for. */
#include "daemon/recorder/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/time.h"
#include "capture/kernel/privilege.h"
#include "capture/notes.h"
#include "capture/recording.h"
#include "daemon/channel/channel.h"
#include "daemon/recorder/redaction.h"
#include "export/format/sflm.h"
#include "profile/names.h"
#include "profile/profile.h"

/*
 * A profile as a sealed memory file in the format of docs/profile-format.md. Names the frames as
 * people read them, then redacts them. Returns a descriptor, with *bytes, or a negative errno.
 */
static int part_make(struct profile *p, const struct redaction *redaction, u64 *bytes)
{
	auto_str struct str file = { 0 };

	profile_name_frames(p, NAMES_SHOWN);
	redaction_profile(redaction, p);
	int err = sflm_write(p, &file);

	if (err)
		return err;
	*bytes = file.len;
	return channel_file(file.at, file.len);
}

#define STATE_EVERY_NS NS_PER_SEC
#define PART_EVERY_NS  (2 * NS_PER_SEC)
#define TARGET_NS      (5 * NS_PER_SEC) /* time for a process to match the target */
#define PART_SHARE     30               /* parts get longer with time: an hour has some 150 */

struct job {
	u32 id;
	struct outbox *out;
	struct events events;
	struct event_options sampling;
	struct targets *targets;
	struct recording *recording;
	struct sink *sink;
	u64 duration_ns;
	u64 state_ns, cut_ns; /* of the last state and of the last cut */
	u64 started_ns;
	enum control_target target;
	char *target_text;
	bool is_discarded, is_stopped, is_cut;
	bool has_one_part; /* one part only, because its samples have no time: --live, --leaks */
	struct str why;    /* warnings and errors */
};

static const enum target_kind kinds[NR_CONTROL_TARGETS] = {
	[CONTROL_TARGET_PID] = TARGET_PID,       [CONTROL_TARGET_COMM] = TARGET_COMM,
	[CONTROL_TARGET_USER] = TARGET_USER,     [CONTROL_TARGET_JVMS] = TARGET_JVM,
	[CONTROL_TARGET_CGROUP] = TARGET_CGROUP, [CONTROL_TARGET_CONTAINER] = TARGET_CONTAINER,
	[CONTROL_TARGET_POD] = TARGET_POD,
};

static int check_limits(const struct conf *c, const struct control_start *w, struct str *why)
{
	if (w->rate_hz > c->max_hz) {
		str_addf(why, "%u Hz is more than the %u Hz that recorder.conf allows", w->rate_hz,
			 c->max_hz);
		return -ERANGE;
	}
	if (w->duration_s > c->max_duration_s) {
		str_addf(why, "%u s is longer than the %u s that recorder.conf allows",
			 w->duration_s, c->max_duration_s);
		return -ERANGE;
	}
	return conf_check_events(c, w->events, why);
}

/* A PID outside of the daemon's bounds would never have a sample. */
static int check_bounds(const struct job *j, const struct node *n, struct str *why)
{
	pid_t pid;

	for (size_t i = 0; (pid = targets_pid(j->targets, i)); i++)
		if (!node_holds(n, pid)) {
			str_addf(why, "process %d is outside of --within, which bounds this daemon",
				 (int)pid);
			return -EPERM;
		}
	return 0;
}

static int parse_target(struct job *j, const struct node *n, const struct control_start *w,
			struct str *why)
{
	j->targets = targets_new();
	if (w->target == CONTROL_TARGET_NODE)
		return 0;
	if (!*w->target_text && w->target != CONTROL_TARGET_JVMS) {
		str_add(why, "the target has no name");
		return -EINVAL;
	}
	return targets_add(j->targets, kinds[w->target], false, w->target_text, why)
		       ?: targets_check_pids(j->targets, why)
		       ?: check_bounds(j, n, why);
}

static int parse(struct job *j, struct node *n, const struct conf *c, const struct control_start *w)
{
	int err = check_limits(c, w, &j->why) ?: parse_target(j, n, w, &j->why);

	if (err)
		return err;
	j->sampling = (struct event_options){
		.freq_hz = (int)(w->rate_hz ?: control_usual_hz(c->max_hz)),
		.lock_min_ns = NS_PER_MS,
		.offcpu_min_ns = NS_PER_MS,
		.alloc_interval = 512 << 10,
		.nativemem_interval = 512 << 10,
		.only_targets = targets_select(j->targets),
		.targets = j->targets,
		.workers = node_workers(n),
	};
	return events_parse(w->events, &j->sampling, &j->events, &j->why);
}

static int start(struct job *j, struct node *n, const struct conf *c, const struct control_start *w)
{
	const struct sink_options sink = { .levels = { { LEVEL_PROCESS }, 1 },
					   .has_services = true };
	int err = parse(j, n, c, w);

	if (err)
		return err;
	j->target = w->target;
	j->target_text = xstrdup(w->target_text);
	j->duration_ns = (w->duration_s ?: c->max_duration_s) * NS_PER_SEC;
	const struct recording_options options = {
		.events = &j->events,
		.sampling = j->sampling,
		.targets = j->targets,
		.agent = AGENT_AUTO,
		.duration_ns = j->duration_ns,
	};
	descriptors_raise((u32)j->events.list.nr);
	j->recording = recording_new(n, &options);
	j->sink = recording_add_sink(j->recording, &sink);
	log_keep(&j->why);
	err = recording_start(j->recording);
	log_keep(NULL);
	j->cut_ns = j->started_ns = time_mono_ns(); /* without the time to load the programs */
	return err;
}

static void send_ended(const struct job *j, int err)
{
	struct control_message m = { .kind = CONTROL_ENDED };

	m.ended.id = j->id;
	m.ended.err = err;
	m.ended.is_cut = j->is_cut;
	if (j->why.len)
		channel_text(m.ended.why, sizeof(m.ended.why), j->why.at);
	else if (err)
		channel_text(m.ended.why, sizeof(m.ended.why), strerror(-err));
	outbox_add(j->out, &m, -1);
}

struct job *job_start(struct node *n, const struct conf *conf, const struct control_start *wanted,
		      struct outbox *out)
{
	struct job *j = xcalloc(1, sizeof(*j));

	j->id = wanted->id;
	j->out = out;
	int err = start(j, n, conf, wanted);
	if (!err)
		return j;
	send_ended(j, err);
	job_free(j);
	return NULL;
}

u32 job_id(const struct job *j)
{
	return j->id;
}

void job_stop(struct job *j)
{
	if (!j->is_stopped)
		recording_stop(j->recording);
	j->is_stopped = true;
}

void job_cut(struct job *j, const char *why)
{
	if (j->is_stopped)
		return;
	str_addf(&j->why, "%s%s", j->why.len ? " " : "", why);
	j->is_cut = true;
	job_stop(j);
}

void job_discard(struct job *j)
{
	j->is_discarded = true;
	job_stop(j);
}

struct refusals {
	struct str text;
	u32 nr;
};

static void add_refusal(pid_t pid, const char *comm, const char *reason, void *ctx)
{
	struct refusals *all = ctx;

	str_addf(&all->text, "%s%s-%d: %s.", all->nr++ ? " " : "", comm, (int)pid, reason);
}

static void send_state(const struct job *j)
{
	static const enum control_state_kind states[] = {
		[RECORDING_BEGINS] = CONTROL_BEGINS,
		[RECORDING_RUNS] = CONTROL_RUNS,
		[RECORDING_ENDS] = CONTROL_ENDS,
		[RECORDING_DONE] = CONTROL_ENDS,
	};
	struct control_message m = { .kind = CONTROL_STATE };
	struct recording_progress now;
	struct refusals refusals = { 0 };

	recording_progress(j->recording, &now);
	recording_each_refused(j->recording, add_refusal, &refusals);
	m.state = (struct control_state){
		.id = j->id,
		.state = states[recording_state(j->recording)],
		.elapsed_ns = recording_elapsed_ns(j->recording),
		.samples = now.samples,
		.lost = now.lost,
		.truncated = now.truncated,
		.jvms = now.jvms,
		.jvms_refused = refusals.nr,
	};
	channel_text(m.state.refusals, sizeof(m.state.refusals), refusals.text.at ?: "");
	str_fini(&refusals.text);
	channel_text(m.state.event, sizeof(m.state.event), now.event ?: "");
	outbox_offer(j->out, &m);
}

static void send_part(struct job *j, struct cut *c)
{
	struct control_message m = { .kind = CONTROL_PART };
	struct profile *p = c->profile;

	m.part = (struct control_part){
		.id = j->id,
		.begin_wall_ns = p->start_wall_ns,
		.end_wall_ns = p->start_wall_ns + p->duration_ns,
		.lost = loss_counts_samples(&c->losses),
		.missed = loss_counts_missed(&c->losses),
	};
	for (u32 i = 0; i < j->events.list.nr; i++)
		m.part.samples += c->counts.by_event[i];
	int fd = part_make(p, j->out->redaction, &m.part.bytes);
	if (fd >= 0)
		outbox_add(j->out, &m, fd);
	else
		str_addf(&j->why, "%sa part of the profile is lost: %s", j->why.len ? "; " : "",
			 strerror(-fd));
}

/*
 * Before it has a target, a recording is neither cut nor reported, because its caller still waits
 * for the answer. A recording of the node needs none: its only selector may be --within, and the
 * group of that may still be empty.
 */
static bool has_target(const struct job *j)
{
	return j->target == CONTROL_TARGET_NODE || !targets_select(j->targets) ||
	       targets_have_matched(j->targets);
}

/* A typing error in a name is answered now, not by an empty profile in an hour. */
static bool is_without_target(struct job *j, u64 now_ns)
{
	static const struct {
		const char *before, *after; /* the name; NULL: without it */
	} texts[NR_CONTROL_TARGETS] = {
		[CONTROL_TARGET_NODE] = { "", NULL }, /* has_target */
		[CONTROL_TARGET_PID] = { "There is no process ", "." },
		[CONTROL_TARGET_COMM] = { "No process is called ", "." },
		[CONTROL_TARGET_USER] = { "No process runs as the user ", "." },
		[CONTROL_TARGET_JVMS] = { "No JVM runs on this node.", NULL },
		[CONTROL_TARGET_CGROUP] = { "No process is in a control group ", "." },
		[CONTROL_TARGET_CONTAINER] = { "No process is in a container ", "." },
		[CONTROL_TARGET_POD] = { "No process is in a pod ", "." },
	};
	u64 wait_ns = j->duration_ns < TARGET_NS ? j->duration_ns : TARGET_NS;

	if (j->is_stopped || has_target(j) || now_ns - j->started_ns < wait_ns)
		return false;
	const char *after = texts[j->target].after;
	str_clear(&j->why);
	str_addf(&j->why, "%s%s%s None came within %llu s.", texts[j->target].before,
		 after ? j->target_text : "", after ?: "",
		 (unsigned long long)(wait_ns / NS_PER_SEC));
	return true;
}

static void cut_in_time(struct job *j, u64 now_ns)
{
	u64 every_ns = recording_elapsed_ns(j->recording) / PART_SHARE;

	if (every_ns < PART_EVERY_NS)
		every_ns = PART_EVERY_NS;
	if (j->has_one_part || now_ns - j->cut_ns < every_ns)
		return;
	j->cut_ns = now_ns;
	j->has_one_part = recording_cut(j->recording, j->sink) == -ENOTSUP;
}

bool job_tick(struct job *j, u64 now_ns)
{
	enum recording_state state = recording_state(j->recording);
	struct cut *c;

	if (is_without_target(j, now_ns)) {
		send_ended(j, -ESRCH);
		return true;
	}
	if (state == RECORDING_BEGINS || !has_target(j))
		j->cut_ns = now_ns;
	if (state == RECORDING_RUNS && !j->is_stopped)
		cut_in_time(j, now_ns);
	if (state == RECORDING_RUNS && (recording_elapsed_ns(j->recording) >= j->duration_ns ||
					targets_have_ended(j->targets)))
		job_stop(j);
	while ((c = recording_take_cut(j->recording, j->sink))) {
		if (!j->is_discarded)
			send_part(j, c);
		cut_free(c);
	}
	if (has_target(j) && now_ns - j->state_ns >= STATE_EVERY_NS) {
		j->state_ns = now_ns;
		send_state(j);
	}
	if (state != RECORDING_DONE)
		return false;
	send_ended(j, j->is_discarded ? -ECANCELED : recording_error(j->recording));
	return true;
}

void job_free(struct job *j)
{
	if (!j)
		return;
	recording_free(j->recording);
	targets_free(j->targets);
	events_fini(&j->events);
	str_fini(&j->why);
	free(j->target_text);
	free(j);
}
