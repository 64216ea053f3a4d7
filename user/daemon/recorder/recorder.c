/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder process. */
#include "daemon/recorder/recorder.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/time.h"
#include "capture/events/events.h"
#include "capture/node.h"
#include "capture/sweep.h"
#include "daemon/channel/channel.h"
#include "daemon/channel/handover.h"
#include "daemon/recorder/conf.h"
#include "daemon/recorder/continuous.h"
#include "daemon/recorder/job.h"
#include "daemon/recorder/outbox.h"
#include "daemon/recorder/readings.h"
#include "daemon/recorder/triggers.h"
#include "proc/status.h"

#define EVERY_NS     (5 * NS_PER_SEC)
#define JVMS_MAX     4096
#define PPM          1000000
#define RELEASE_ENDS "+-" /* of the version in "17.0.15+6-Debian" */

/* The JVMs of the node for the web process, with the CPU time that they use. */
struct seen {
	struct process_id id;
	u64 cpu_ns;
};

struct jvm_list {
	struct node *node;
	u64 at_ns; /* when the last list was made */
	/* processes of the last list, and of the list that is being made */
	VEC(struct seen) before, now;
	VEC(struct control_jvm) jvms;
};

static struct jvm_list *jvm_list_new(struct node *n)
{
	struct jvm_list *l = xcalloc(1, sizeof(*l));

	l->node = n;
	return l;
}

static void jvm_list_free(struct jvm_list *l)
{
	if (!l)
		return;
	vec_fini(&l->before);
	vec_fini(&l->now);
	vec_fini(&l->jvms);
	free(l);
}

/* CPU time since the last list, in millionths of a CPU. */
static u64 used_ppm(const struct jvm_list *l, struct process_id id, u64 now_cpu_ns, u64 passed_ns)
{
	vec_each(s, &l->before)
		if (process_id_same(s->id, id) && passed_ns && now_cpu_ns >= s->cpu_ns)
			return (u64)((double)(now_cpu_ns - s->cpu_ns) / (double)passed_ns * PPM);
	return 0;
}

struct adding {
	struct jvm_list *list;
	u64 passed_ns;
};

/* Reads the user again: no event reports a change of the user. */
static void read_user(struct process *p)
{
	struct proc_status now;

	if (!proc_status_read(p->id.pid, &now) && process_id_same(proc_status_id(&now), p->id))
		process_set_user(p, now.uid);
}

static void add(struct process *p, void *ctx)
{
	const struct adding *a = ctx;
	struct jvm_list *l = a->list;

	read_user(p);
	const struct container *c = node_container(l->node, p);
	const char *release = node_jvm_release(l->node, p);
	struct control_jvm jvm = { .pid = p->id.pid,
				   .uid = p->uid,
				   .started = p->id.start_ns / PROC_TICK_NS };
	char version[sizeof(jvm.jdk)];

	if (l->jvms.nr == JVMS_MAX)
		return;
	struct seen seen = { p->id, time_process_ns(p->id.pid) };
	vec_push(&l->now, seen);
	jvm.cpu_ppm = used_ppm(l, p->id, seen.cpu_ns, a->passed_ns);
	copy_text(version, sizeof(version), release);
	version[strcspn(version, RELEASE_ENDS)] = '\0';
	channel_text(jvm.jdk, sizeof(jvm.jdk), version);
	channel_text(jvm.service, sizeof(jvm.service), node_names(l->node, p)->service);
	channel_text(jvm.main, sizeof(jvm.main), node_names(l->node, p)->main);
	channel_text(jvm.container, sizeof(jvm.container), c ? c->id : "");
	channel_text(jvm.container_name, sizeof(jvm.container_name), c ? c->name : "");
	vec_push(&l->jvms, jvm);
}

static void send_list(const struct jvm_list *l, struct outbox *out)
{
	size_t at = 0;

	do {
		struct control_message m = { .kind = CONTROL_JVMS };
		size_t nr = l->jvms.nr - at < CONTROL_JVMS_MAX ? l->jvms.nr - at : CONTROL_JVMS_MAX;
		m.jvms.first = !at;
		m.jvms.nr = (u32)nr;
		if (nr)
			memcpy(m.jvms.at, &l->jvms.at[at], nr * sizeof(m.jvms.at[0]));
		at += nr;
		m.jvms.last = at == l->jvms.nr;
		outbox_add(out, &m, -1);
	} while (at < l->jvms.nr);
}

/* Sends the list if it is time for it. */
static void jvm_list_tick(struct jvm_list *l, u64 now_ns, struct outbox *out)
{
	struct adding a = { l, now_ns - l->at_ns };

	if (l->at_ns && now_ns - l->at_ns < EVERY_NS)
		return;
	if (!l->at_ns)
		a.passed_ns = 0;
	l->at_ns = now_ns;
	l->jvms.nr = l->now.nr = 0;
	node_each_jvm(l->node, add, &a);
	send_list(l, out);
	typeof(l->before) old;
	memcpy(&old, &l->before, sizeof(old));
	memcpy(&l->before, &l->now, sizeof(old));
	memcpy(&l->now, &old, sizeof(old));
}

#define REPORT_NS NS_PER_SEC
/* between reads of the heap's size, which walk through its free parts */
#define HEAP_NS       (10 * NS_PER_SEC)
#define SWEEP_NS      (60 * NS_PER_SEC)
#define END_NS        (3 * NS_PER_SEC) /* for the last parts after SIGTERM */
#define TURN_MESSAGES 16
#define STATM_MAX     256
_Static_assert(CONTROL_EXCLUDED_MAX >= EXCLUDED_MAX, "a report has room for all");

struct recorder {
	struct recorder_options o;
	struct conf conf;
	struct node *node;
	struct jvm_list *jvms;
	struct readings *readings;
	struct redaction *redaction;
	struct triggers *triggers;
	struct continuous *continuous; /* NULL: off */
	struct outbox out;
	VEC(struct job *) jobs;
	int signal_fd;
	u64 reported_ns, own_ns, swept_ns, measured_ns;
	struct mallinfo2 heap;    /* at measured_ns */
	bool is_ending, is_alone; /* the supervisor is gone */
};

static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The patterns of the command line and of the configuration. */
static int set_redaction(struct recorder *r, const struct conf *conf, struct str *why)
{
	const char *texts[REDACTION_MAX + 1];
	size_t nr = r->o.nr_redact < REDACTION_MAX ? r->o.nr_redact : REDACTION_MAX;

	for (size_t i = 0; i < nr; i++)
		texts[i] = r->o.redact[i];
	texts[nr] = conf->redact;
	return redaction_set(r->redaction, texts, nr + 1, why);
}

/* Keeps the configuration as it was if the new one is wrong. */
static int read_conf(struct recorder *r)
{
	auto_str struct str why = { 0 };
	struct conf conf;
	int err = conf_read(r->o.conf, &conf, &why);

	if (err == -ENOENT && !r->o.needs_conf) {
		conf = conf_default();
		err = 0;
	}
	err = err ?: set_redaction(r, &conf, &why);
	if (err)
		log_error("%s: %s", r->o.conf, why.at);
	else
		r->conf = conf;
	return err;
}

static void send_caps(struct recorder *r)
{
	struct control_message m = { .kind = CONTROL_CAPS };
	struct utsname name;

	m.caps = (struct control_caps){ .max_hz = r->conf.max_hz,
					.max_duration_s = r->conf.max_duration_s,
					.max_recordings = r->conf.max_recordings,
					.nr_cpus = (u32)sysconf(_SC_NPROCESSORS_ONLN) };
	if (!uname(&name))
		channel_text(m.caps.kernel, sizeof(m.caps.kernel), name.release);
	outbox_add(&r->out, &m, -1);
}

static void send_event(const char *name, const char *unit, const char *help, const char *why_not,
		       void *ctx)
{
	struct recorder *r = ctx;
	struct control_message m = { .kind = CONTROL_EVENT };

	why_not = why_not ?: conf_why_not(&r->conf, name);
	channel_text(m.event.name, sizeof(m.event.name), name);
	channel_text(m.event.unit, sizeof(m.event.unit), unit ?: "");
	channel_text(m.event.help, sizeof(m.event.help), help ?: "");
	channel_text(m.event.why_not, sizeof(m.event.why_not), why_not ?: "");
	outbox_add(&r->out, &m, -1);
}

static void introduce(struct recorder *r)
{
	const struct control_message hello = { .kind = CONTROL_HELLO,
					       .hello.version = CONTROL_VERSION };

	outbox_add(&r->out, &hello, -1);
	send_caps(r);
	events_each(false, send_event, r);
}

static void drop_jobs(struct recorder *r)
{
	vec_each(j, &r->jobs)
		job_free(*j);
	r->jobs.nr = 0;
}

/* A new web process does not know the recordings that the previous one asked for. */
static void take_channel(struct recorder *r)
{
	int fd = handover_receive(r->o.control_fd, NULL);

	if (fd == -EAGAIN)
		return;
	if (fd < 0) {
		r->is_alone = r->is_ending = true;
		return;
	}
	drop_jobs(r);
	outbox_use(&r->out, fd);
	introduce(r);
	if (r->continuous)
		continuous_begin_book(r->continuous);
}

static struct job *find_job(const struct recorder *r, u32 id)
{
	vec_each(j, &r->jobs)
		if (job_id(*j) == id)
			return *j;
	return NULL;
}

static void refuse(struct recorder *r, u32 id, int err, const char *why)
{
	struct control_message m = { .kind = CONTROL_ENDED, .ended = { .id = id, .err = err } };

	channel_text(m.ended.why, sizeof(m.ended.why), why);
	outbox_add(&r->out, &m, -1);
}

static void start_job(struct recorder *r, const struct control_start *wanted)
{
	if (find_job(r, wanted->id)) {
		log_warn("the web process used the number %u twice", wanted->id);
		return;
	}
	if (r->jobs.nr >= r->conf.max_recordings) {
		auto_free char *why = xasprintf("%zu recordings run already, as many as "
						"recorder.conf allows; stop one first",
						r->jobs.nr);
		refuse(r, wanted->id, -EBUSY, why);
		return;
	}
	struct job *j = job_start(r->node, &r->conf, wanted, &r->out);
	if (j)
		vec_push(&r->jobs, j);
}

static int handle(struct recorder *r, const struct control_message *m)
{
	struct job *j;

	switch (m->kind) {
	case CONTROL_HELLO:
		return m->hello.version == CONTROL_VERSION ? 0 : -EPROTO;
	case CONTROL_START:
		start_job(r, &m->start);
		return 0;
	case CONTROL_STOP:
	case CONTROL_DISCARD:
		j = find_job(r, m->id.id);
		if (j && m->kind == CONTROL_STOP)
			job_stop(j);
		else if (j)
			job_discard(j);
		return 0;
	case CONTROL_BOOK:
		if (r->continuous)
			continuous_begin_book(r->continuous);
		return 0;
	case CONTROL_WATCH:
		readings_want(r->readings, time_mono_ns());
		return 0;
	default:
		return -EPROTO;
	}
}

/* A web process that breaks the protocol or reads nothing loses its channel and gets another. */
static void give_up_channel(struct recorder *r, int err)
{
	if (err != -EPIPE) {
		log_warn("the web process %s; its channel is closed",
			 err == -EOVERFLOW ? "reads no messages" : "broke the protocol");
		handover_ask(r->o.control_fd);
	}
	drop_jobs(r);
	outbox_use(&r->out, -1);
}

static void serve_channel(struct recorder *r)
{
	static struct control_message m; /* scratch */
	int err = 0, fd;

	for (int i = 0; i < TURN_MESSAGES && !err && r->out.sock >= 0; i++) {
		err = channel_receive(r->out.sock, &m, &fd);
		if (!err && fd >= 0) {
			close(fd);
			err = -EPROTO;
		}
		err = err ?: handle(r, &m);
	}
	if (err && err != -EAGAIN)
		give_up_channel(r, err);
}

static void serve_signals(struct recorder *r)
{
	struct signalfd_siginfo info;

	while (read(r->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGHUP) {
			r->is_ending = true;
			continue;
		}
		if (!read_conf(r)) {
			triggers_use(r->triggers, &r->conf);
			log_info(access(r->o.conf, F_OK) ? "%s is missing: the defaults hold"
							 : "%s was read again",
				 r->o.conf);
			if (r->out.sock >= 0)
				introduce(r);
		}
	}
}

static u64 memory_bytes(void)
{
	auto_free char *text = NULL;
	size_t len;

	if (file_read("/proc/self/statm", STATM_MAX, &text, &len))
		return 0;
	const char *resident = strchr(text, ' '); /* pages, the second number: proc_pid_statm(5) */
	return resident ? strtoull(resident, NULL, 10) * (u64)getpagesize() : 0;
}

static void measure_heap(struct recorder *r, u64 now_ns)
{
	if (r->measured_ns && now_ns - r->measured_ns < HEAP_NS)
		return;
	r->measured_ns = now_ns;
	r->heap = mallinfo2();
}

static void add_cache(const struct cache_use *use, void *ctx)
{
	struct control_node *out = ctx;

	if (out->nr_caches == CONTROL_CACHES_MAX)
		return;
	struct control_cache *c = &out->caches[out->nr_caches++];
	channel_text(c->name, sizeof(c->name), use->name);
	c->nr = use->nr;
	c->bytes = use->bytes;
	c->budget_bytes = use->budget_bytes;
}

static void report_excluded(const struct excluded_list *list, struct control_node *out)
{
	for (u32 i = 0; list && i < list->nr; i++) {
		const struct excluded *e = &list->at[i];
		if (!excluded_runs(e))
			continue;
		struct control_excluded *to = &out->excluded[out->nr_excluded++];
		to->pid = e->id.pid;
		channel_text(to->comm, sizeof(to->comm), e->comm);
	}
}

static void report(struct recorder *r, u64 now_ns)
{
	struct control_message m = { .kind = CONTROL_NODE };

	if (now_ns - r->reported_ns < REPORT_NS)
		return;
	u64 own_ns = node_cpu_ns(r->node);
	m.node.cpu_ppm =
		own_ns > r->own_ns ? (own_ns - r->own_ns) * PPM / (now_ns - r->reported_ns) : 0;
	r->own_ns = own_ns;
	r->reported_ns = now_ns;
	m.node.memory_bytes = memory_bytes();
	measure_heap(r, now_ns);
	m.node.heap_bytes = r->heap.uordblks + r->heap.hblkhd;
	m.node.heap_free_bytes = r->heap.fordblks;
	node_each_cache(r->node, add_cache, &m.node);
	if (r->continuous) {
		continuous_each_cache(r->continuous, add_cache, &m.node);
		continuous_report(r->continuous, &m.node);
	}
	report_excluded(r->o.excluded, &m.node);
	outbox_offer(&r->out, &m);
}

/* A node_options.jvm_killed. SIGKILL and SIGTERM are no crash: other processes send them. */
static void report_crash(struct process *p, u32 signal, void *ctx)
{
	struct recorder *r = ctx;
	struct control_message m = { .kind = CONTROL_CRASHED };
	struct control_crashed *c = &m.crashed;

	if (signal != SIGSEGV && signal != SIGBUS && signal != SIGILL && signal != SIGABRT)
		return;
	const struct container *in = node_container(r->node, p);
	c->pid = p->id.pid;
	c->signal = signal;
	channel_text(c->service, sizeof(c->service), node_names(r->node, p)->service);
	channel_text(c->container, sizeof(c->container), in ? in->id : "");
	channel_text(c->container_name, sizeof(c->container_name), in ? in->name : "");
	channel_text(c->pod, sizeof(c->pod), in ? in->pod : "");
	channel_text(c->pod_uid, sizeof(c->pod_uid), in ? in->pod_uid : "");
	channel_text(c->namespace, sizeof(c->namespace), in ? in->namespace : "");
	outbox_add(&r->out, &m, -1);
}

static void advance_jobs(struct recorder *r, u64 now_ns)
{
	size_t kept = 0;

	vec_each(j, &r->jobs) {
		if (job_tick(*j, now_ns))
			job_free(*j);
		else
			r->jobs.at[kept++] = *j;
	}
	r->jobs.nr = kept;
}

static void tick(struct recorder *r)
{
	u64 sampled = 0, lost = 0;

	node_tick(r->node);
	pulse_beat(r->o.pulse);
	u64 now_ns = time_mono_ns();
	bool is_alone = !r->jobs.nr;
	advance_jobs(r, now_ns);
	if (r->continuous)
		continuous_tick(r->continuous, now_ns, is_alone);
	if (r->continuous)
		continuous_counts(r->continuous, &sampled, &lost);
	jvm_list_tick(r->jvms, now_ns, &r->out);
	readings_tick(r->readings, now_ns, &r->out);
	triggers_tick(r->triggers, now_ns, sampled, lost, &r->out);
	report(r, now_ns);
	if (now_ns - r->swept_ns >= SWEEP_NS) {
		r->swept_ns = now_ns;
		/* A burst of short processes leaves many small free pieces. */
		malloc_trim(0);
	}
	int err = r->out.sock < 0 ? 0 : outbox_flush(&r->out);
	if (err)
		give_up_channel(r, err);
}

/* Only a new process can have helpers again: the rights for it are gone. */
static void look_at_helpers(struct recorder *r)
{
	static const char *const texts[NR_NODE_HELPERS] = {
		[NODE_HELPER_ZYGOTE] = "the process that starts its workers (sysflame-zygote)",
		[NODE_HELPER_MEMORY] =
			"the process that starts its readers of memory (sysflame-memory)",
		[NODE_HELPER_ATTACH] = "the process that attaches (sysflame-attach)",
	};
	static const u32 ids[NR_NODE_HELPERS] = {
		[NODE_HELPER_ZYGOTE] = CONTROL_HELPER_ZYGOTE,
		[NODE_HELPER_MEMORY] = CONTROL_HELPER_MEMORY,
		[NODE_HELPER_ATTACH] = CONTROL_HELPER_ATTACH,
	};
	struct control_message m = { .kind = CONTROL_RESTART };
	enum node_helper helper = r->is_ending ? NR_NODE_HELPERS : node_lost_helper(r->node);

	if (helper == NR_NODE_HELPERS)
		return;
	const char *lost = texts[helper];
	m.restart.helper = ids[helper];
	log_error("the recorder starts anew, because %s has ended or does not answer", lost);
	auto_free char *why = xasprintf(
		"The recorder started anew, because %s had ended or did not answer.", lost);
	channel_text(m.restart.why, sizeof(m.restart.why), why);
	outbox_add(&r->out, &m, -1);
	vec_each(j, &r->jobs)
		job_cut(*j, why);
	r->is_ending = true;
}

static void turn(struct recorder *r)
{
	struct pollfd fds[] = {
		{ .fd = r->signal_fd, .events = POLLIN },
		{ .fd = r->is_alone ? -1 : r->o.control_fd, .events = POLLIN },
		{ .fd = r->out.sock, .events = POLLIN },
		{ .fd = node_fd(r->node), .events = POLLIN },
	};

	excluded_rest();
	poll(fds, ARRAY_SIZE(fds), node_tick_ms(r->node));
	if (fds[0].revents)
		serve_signals(r);
	if (fds[1].revents)
		take_channel(r);
	if (fds[2].revents && r->out.sock >= 0)
		serve_channel(r);
	if (fds[3].revents)
		node_woken(r->node);
	look_at_helpers(r);
	tick(r);
}

/* Ends the recordings and sends their last parts. */
static void end(struct recorder *r)
{
	u64 end_ns = time_mono_ns() + END_NS;

	vec_each(j, &r->jobs)
		job_stop(*j);
	if (r->continuous)
		continuous_stop(r->continuous);
	while (time_mono_ns() < end_ns && r->out.sock >= 0 &&
	       (r->jobs.nr || (r->continuous && !continuous_has_ended(r->continuous))))
		turn(r);
}

static int start(struct recorder *r)
{
	const struct node_options options = {
		.agent = r->o.has_agents ? AGENT_AUTO : AGENT_NEVER,
		.agent_path = r->o.agent_path,
		.within = r->o.within,
		.labels = r->o.labels,
		.nr_labels = r->o.nr_labels,
		.times_programs = true,
		.ends_without_helpers = true,
		.jvm_killed = report_crash,
		.jvm_killed_ctx = r,
	};

	r->signal_fd = open_signals();
	r->out.redaction = r->redaction = redaction_new();
	int err = read_conf(r);
	if (err)
		return err;
	/* Its children inherit it. */
	excluded_begin(r->o.excluded, &r->o.pulse->target);
	r->node = node_new(&options);
	err = node_start(r->node);
	if (err)
		return err;
	r->jvms = jvm_list_new(r->node);
	r->readings = readings_new(r->node);
	r->triggers = triggers_new(r->node);
	triggers_use(r->triggers, &r->conf);
	const struct continuous_options continuous = { r->o.continuous, r->o.has_agents,
						       r->o.limits, r->readings };
	if (r->o.continuous)
		r->continuous = continuous_new(r->node, &continuous, &r->out);
	return 0;
}

int recorder_run(const struct recorder_options *o)
{
	struct recorder r = { .o = *o, .out.sock = -1, .signal_fd = -1 };
	int err = start(&r);

	while (!err && !r.is_ending)
		turn(&r);
	if (!err)
		end(&r);
	drop_jobs(&r);
	vec_fini(&r.jobs);
	continuous_free(r.continuous);
	jvm_list_free(r.jvms);
	readings_free(r.readings);
	triggers_free(r.triggers);
	node_free(r.node);
	outbox_fini(&r.out);
	redaction_free(r.redaction);
	if (r.signal_fd >= 0)
		close(r.signal_fd);
	return err ? 1 : 0;
}
