/* SPDX-License-Identifier: Apache-2.0 */
/* The injector child: starts the attach listener, delivers the agent, sends the command. */
#include "jvm/attach/injector.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/signals.h"
#include "base/time.h"
#include "jvm/attach/agent_file.h"
#include "jvm/attach/attach.h"
#include "jvm/attach/deliver.h"
#include "jvm/attach/inject.h"
#include "jvm/attach/loaded_agent.h"
#include "jvm/attach/readiness.h"
#include "jvm/hotspot/hotspot.h"
#include "jvm/process/javaproc.h"
#include "jvm/process/memfds.h"
#include "proc/mem.h"
#include "sandbox/message.h"
#include "sandbox/rights.h"

#define REPLY_MS   6000 /* a replay of 20,000 methods takes 0.25 s */
#define COLLECT_MS 12000

#define WARNING_JDK 21

static void add_hooks(const struct job *j, struct str *options)
{
	const struct agent_hooks *h = &j->order->hooks;

	if (h->refs)
		str_add(options, ";refs=1");
	if (h->alloc_interval)
		str_addf(options, ";alloc=%llu", (unsigned long long)h->alloc_interval);
	if (h->lock_min_ns)
		str_addf(options, ";lock=%llu", (unsigned long long)h->lock_min_ns);
	if (*h->methods && !j->result.drops_code)
		str_addf(options, ";methods=%s", h->methods);
}

static void add_session(struct job *j, struct str *options)
{
	struct javaproc jvm;

	str_add(options, ";inline=1");
	int err = javaproc_read(j->t.status.pid, &jvm);
	if (process_root_become_if_denied(&j->t, err || !atoi(jvm.jdk) ? -EACCES : 0)) {
		if (!err)
			javaproc_fini(&jvm);
		err = javaproc_read(j->t.status.pid, &jvm);
		process_root_unbecome(&j->t);
	}
	if (err)
		return;
	if (!readiness_for_live_events(jvm.jdk))
		str_add(options, ";live=0");
	javaproc_fini(&jvm);
}

static void make_options(struct job *j, struct str *options)
{
	static const char *const commands[] = {
		[INJECT_START] = "start",   [INJECT_METHODS] = "methods", [INJECT_HOOKS] = "hooks",
		[INJECT_REPLAY] = "replay", [INJECT_REFS] = "refs",       [INJECT_STOP] = "stop",
		[INJECT_STOP_ALL] = "stop",
	};

	str_addf(options, "v=1;cmd=%s;nonce=%s", commands[j->order->command],
		 j->order->command == INJECT_STOP_ALL ? "all" : j->order->nonce);
	if (j->order->command == INJECT_REFS && j->order->hooks.collect)
		str_add(options, ";gc=1");
	if (j->order->command == INJECT_START || j->order->command == INJECT_HOOKS)
		add_hooks(j, options);
	if (j->order->command == INJECT_START)
		add_session(j, options);
}

static int send_command(struct job *j, int fd, const char *path)
{
	auto_str struct str options = { 0 }, request = { 0 }, reply = { 0 }, text = { 0 };

	make_options(j, &options);
	int err = attach_load_request(path, options.at, &request);
	if (!err)
		err = attach_talk(fd, &request,
				  j->order->command == INJECT_REFS ? COLLECT_MS : REPLY_MS, &reply);
	if (err && job_has_ended(j))
		return job_conclude(j, INJECT_REFUSED, "it has ended");
	if (err == -ETIMEDOUT)
		return job_conclude(
			j, INJECT_RETRY,
			"it did not answer in time; see whether `jcmd` reaches it, or try later");
	if (err)
		return job_conclude(
			j, INJECT_RETRY,
			"it closed the attach connection early; see whether `jcmd` reaches it");
	switch (attach_load_reply(reply.at, reply.len, &text)) {
	case ATTACH_LOADED:
		return 0;
	case ATTACH_RETURNED:
		return job_conclude(j, INJECT_REFUSED,
				    "the agent failed to start in it; install sysflame and "
				    "libjvmmap.so from one build");
	case ATTACH_GARBLED:
		return job_conclude(
			j, INJECT_RETRY,
			"its attach listener gave no sensible answer; see what `jcmd` gets");
	case ATTACH_REFUSED:
		break;
	}
	if (strstr(text.at, "live phase"))
		return job_conclude(j, INJECT_WAIT, JOB_STILL_STARTING);
	str_addf(&j->why, "the JVM did not load the agent: %s",
		 text.len ? text.at : "no reason given");
	return job_conclude(j, INJECT_REFUSED, j->why.at);
}

/* Loads the agent's file again: the agent in the JVM gets the command. */
static int deliver_and_send(struct job *j, enum delivery_way way)
{
	struct delivery d;

	/* Connect first: a slow listener must not leave our file in its /tmp for long. */
	int fd = listener_reach(j);
	if (fd < 0)
		return -1;
	if (job_is_orphan(j)) {
		close(fd);
		return job_conclude(j, INJECT_RETRY, "its reader has ended");
	}
	job_read_facts(j);
	if (j->order->command == INJECT_START &&
	    !task_facts_allow(&j->facts, j->t.status.pid, false, &j->why)) {
		close(fd);
		return job_conclude(j, INJECT_REFUSED, j->why.at);
	}
	int err = deliver(&j->t, j->order->agent_path, j->order->nonce, way, &d, &j->why);
	if (err) {
		close(fd);
		return job_conclude(j, INJECT_REFUSED, j->why.at);
	}
	strcpy(j->result.loaded_path, d.path);
	str_clear(&j->why);
	err = send_command(j, fd, d.path);
	close(fd);
	delivery_undo(&j->t, &d);
	return err;
}

/* glibc identifies a library by the name under which it was loaded, even if that file is gone. */
static int send_to_loaded(struct job *j)
{
	int fd = listener_reach(j);

	if (fd < 0)
		return -1;
	int err = send_command(j, fd, j->order->loaded_path);
	close(fd);
	return err;
}

/* Sends a further command of a session. */
static int send_again(struct job *j)
{
	if (loaded_agent_has_path(j) && send_to_loaded(j) == 0)
		return 0;
	if (loaded_agent_is_unreachable(j, j->order->loaded_path))
		return job_conclude(j, INJECT_REFUSED, INJECT_NO_COMMAND);
	return deliver_and_send(j, j->order->way);
}

/* The agent cannot report this itself: it has no buffer. */
static void explain_no_ring(struct job *j)
{
	if (memfds_count(j->t.status.pid) < WIRE_SESSIONS_MAX) {
		job_conclude(j, INJECT_REFUSED,
			     "the agent could not make its buffer: a seccomp filter, a "
			     "descriptor limit or SELinux; see `sysflame jvms`");
		return;
	}
	job_conclude(j, INJECT_RETRY,
		     "others use all places for readers in it (" WIRE_TEXT(
			     WIRE_SESSIONS_MAX) "); wait until one ends");
	j->result.is_lasting = false;
}

static void open_ring(struct job *j)
{
	j->result.clock_off_ns = j->t.clock_off_ns;
	int fd = memfds_open(j->t.status.pid, j->order->nonce);
	if (process_root_become_if_denied(&j->t, fd)) {
		fd = memfds_open(j->t.status.pid, j->order->nonce);
		process_root_unbecome(&j->t);
	}
	j->result.ring_fd = fd >= 0 ? fd : -1;
	if (fd >= 0) {
		memfds_claim(fd);
		j->result.outcome = INJECT_DONE;
	} else if (fd == -EACCES || fd == -EPERM) {
		job_explain(j, fd);
	} else {
		explain_no_ring(j);
	}
}

/* Ends one session, or all of them for NULL. */
static void stop_sessions(struct job *j, const char *nonce)
{
	if (process_root_become_if_denied(&j->t, memfds_stop(j->t.status.pid, nonce))) {
		memfds_stop(j->t.status.pid, nonce);
		process_root_unbecome(&j->t);
	}
}

/* Ends the session in the JVM, because its buffer will not be read. */
static void give_up_session(struct job *j)
{
	close(take_fd(j->result.ring_fd));
	stop_sessions(j, j->order->nonce);
}

/* A job for another command to the JVM of `j`. */
static struct job job_beside(const struct job *j, const struct inject_order *order)
{
	struct job other = {
		.order = order, .t = j->t, .result = { .ring_fd = -1 }, .fd = -1, .facts_fd = -1
	};

	strcpy(other.socket_name, j->socket_name);
	return other;
}

/*
 * The file at our path was replaced after the JVM had loaded an agent from it. The JVM still knows
 * that agent by this path. Load ours under another name.
 */
static void go_beside(struct job *j)
{
	struct inject_order stop = *j->order;

	stop.command = INJECT_STOP;
	struct job other = job_beside(j, &stop);
	give_up_session(j);
	deliver_and_send(&other, j->order->way);
	str_fini(&other.why);
	if (deliver_and_send(j, DELIVERY_APART))
		return;
	open_ring(j);
	if (j->result.ring_fd < 0 || memfds_version(j->result.ring_fd) == WIRE_ABI)
		return;
	give_up_session(j);
	job_conclude(j, INJECT_REFUSED,
		     "it has an agent of another version from this very file; restart it");
}

/*
 * Whether a change of a class would drop all compiled code. That happens unless the JVM has
 * recorded from its start which code depends on which method. JDK 23 and newer always record that
 * (JDK-8324241), older ones if an agent was loaded at the start (code_dependencies.h). Changes that
 * also replace the methods and fields of a class, in builds of JetBrains, drop everything each
 * time.
 */
static bool drops_code(const struct hotspot *h, u64 dependencies)
{
	bool is_set;

	if (!hotspot_flag(h, "AllowEnhancedClassRedefinition", &is_set) && is_set)
		return true;
	if (!hotspot_flag(h, "AlwaysRecordEvolDependencies", &is_set) && is_set)
		return false;
	return !dependencies || hotspot_variable(h, dependencies, &is_set) || !is_set;
}

static void note_dropping(struct job *j, const struct hotspot *h)
{
	j->result.libjvm = hotspot_libjvm(h);
	j->result.drops_code = drops_code(h, j->order->dependencies);
}

/*
 * Whether the JVM prints three lines of warning for an agent that is loaded after its start (JEP
 * 451). A JVM does so for the first load of each library only.
 */
static bool warns_of_agents(const struct hotspot *h)
{
	struct hotspot_info info;
	bool is_set = false;

	hotspot_info(h, &info);
	if (info.jdk && info.jdk < WARNING_JDK)
		return false;
	return hotspot_flag_is_of_command_line(h, "EnableDynamicAgentLoading", &is_set) || !is_set;
}

/* Reads the VM's own flags and options, if possible. */
static enum readiness ask_vm(struct job *j)
{
	struct hotspot *h;

	/*
	 * Without this capability the processes that read memory, which have our ids, may not read
	 * the JVM.
	 */
	if (capability_has(CAP_SYS_PTRACE))
		mem_read_apart();
	int err = hotspot_open(proc_status_id(&j->t.status), &h);
	if (process_root_become_if_denied(&j->t, err)) {
		err = hotspot_open(proc_status_id(&j->t.status), &h);
		process_root_unbecome(&j->t);
	}
	j->is_early = err == -EAGAIN;
	j->is_silent = err && mem_left_out()->nr;
	j->result.drops_code = *j->order->hooks.methods;
	if (err)
		return READY;
	j->result.has_vm = true;
	if (*j->order->hooks.methods)
		note_dropping(j, h);
	bool is_known = !hotspot_flag(h, "ReduceSignalUsage", &j->is_reduced);
	j->handles_quit = is_known && !j->is_reduced;
	j->warns = warns_of_agents(h);
	enum readiness ready = readiness_of_vm(h, &j->why);
	hotspot_free(h);
	return ready;
}

/* A separate command changes the classes, see jvmmap/agent.c. */
static void start_methods(struct job *j)
{
	struct inject_order methods = *j->order;

	methods.command = INJECT_METHODS;
	strcpy(methods.loaded_path, j->result.loaded_path);
	struct job other = job_beside(j, &methods);
	if (send_again(&other)) {
		give_up_session(j);
		job_conclude(j, other.result.outcome, other.result.reason);
	}
	str_fini(&other.why);
}

/* Sends the order to the agent that was loaded from `path`. */
static void send_beside(const struct job *j, struct inject_order *order, const char *path)
{
	strcpy(order->loaded_path, path);
	struct job other = job_beside(j, order);
	send_to_loaded(&other);
	str_fini(&other.why);
}

#define ABANDONED_MAX 16 /* most sessions that one attach ends, for each path */

static int find_abandoned(const struct job *j, char (*nonces)[WIRE_NONCE_LEN + 1])
{
	const pid_t pid = j->t.status.pid;
	const u64 now = time_mono_ns() - (u64)j->t.clock_off_ns;
	int nr = memfds_abandoned(pid, now, nonces, ABANDONED_MAX);

	if (process_root_become_if_denied(&j->t, nr)) {
		nr = memfds_abandoned(pid, now, nonces, ABANDONED_MAX);
		process_root_unbecome(&j->t);
	}
	return nr;
}

/*
 * Ends sessions whose readers were killed, in the JVM's other agents: these close them only in an
 * event, and an idle JVM has none.
 */
static void end_abandoned(const struct job *j)
{
	char nonces[ABANDONED_MAX][WIRE_NONCE_LEN + 1], path[DELIVERY_PATH_MAX];
	struct inject_order stop = *j->order;

	stop.command = INJECT_STOP;
	for (enum agent_path which = 0; which < NR_AGENT_PATHS; which++) {
		int nr = find_abandoned(j, nonces);
		for (int i = 0; i < nr; i++) {
			if (!loaded_agent_path(j, which, nonces[i], path) ||
			    !strcmp(path, j->result.loaded_path))
				continue;
			strcpy(stop.nonce, nonces[i]);
			send_beside(j, &stop, path);
		}
	}
}

static void start_session(struct job *j)
{
	enum readiness ready = readiness_to_attach(&j->t, &j->why);

	if (ready == READY)
		ready = ask_vm(j);
	if (ready != READY || !agent_file_is_good(j->order->agent_path, &j->why)) {
		job_conclude(j, ready == NOT_YET ? INJECT_RETRY : INJECT_REFUSED, j->why.at);
		return;
	}
	if (j->is_silent) {
		j->result.left_pid = mem_left_out()->reader;
		job_conclude(j, INJECT_SILENT, INJECT_NO_MEMORY);
		return;
	}
	if (!j->result.has_vm && !j->order->may_have_no_vm) {
		job_conclude(j, INJECT_DOUBT, "no VM can be read in it; it comes after the others");
		return;
	}
	j->warns = j->warns && !loaded_agent_is_ours(j);
	if (j->warns && !j->order->may_warn) {
		job_conclude(j, INJECT_SPARED, INJECT_WOULD_WARN);
		return;
	}
	leftovers_remove(&j->t);
	if (deliver_and_send(j, j->order->way))
		return;
	j->result.has_warned = j->warns;
	open_ring(j);
	if (j->result.ring_fd >= 0 && memfds_version(j->result.ring_fd) != WIRE_ABI)
		go_beside(j);
	end_abandoned(j);
	if (j->result.ring_fd < 0)
		return;
	j->result.takes_no_command = loaded_agent_is_unreachable(j, j->result.loaded_path);
	if (*j->order->hooks.methods && !j->result.drops_code && !j->result.takes_no_command)
		start_methods(j);
}

/*
 * Ends the sessions of the agent's file and of its copy at once. Those of AGENT_OTHER_COPY and of
 * other versions end at the JVM's next event.
 */
static void stop_all(struct job *j)
{
	struct inject_order stop = *j->order;
	char path[DELIVERY_PATH_MAX];

	stop_sessions(j, NULL);
	bool is_loaded = loaded_agent_is_ours(j);
	if (is_loaded && !agent_file_is_trusted(j->order->agent_path, &j->why))
		job_conclude(j, INJECT_REFUSED, j->why.at);
	else if (!is_loaded || deliver_and_send(j, j->order->way) == 0)
		j->result.outcome = INJECT_DONE;
	for (enum agent_path which = AGENT_FILE; which <= AGENT_COPY; which++)
		if (*j->result.loaded_path && loaded_agent_path(j, which, NULL, path) &&
		    strcmp(path, j->result.loaded_path))
			send_beside(j, &stop, path);
}

static void clean_up(struct job *j)
{
	leftovers_remove(&j->t);
	stop_sessions(j, j->order->nonce);
	j->result.outcome = INJECT_DONE;
}

static void carry_out(struct job *j)
{
	int err = process_root_open(j->order->id, &j->t);

	if (err) {
		job_explain(j, err);
		return;
	}
	if (j->order->program_ns > j->t.program_ns)
		j->t.program_ns = j->order->program_ns;
	snprintf(j->socket_name, sizeof(j->socket_name), ".java_pid%d", j->t.status.nspid);
	snprintf(j->trigger_name, sizeof(j->trigger_name), ".attach_pid%d", j->t.status.nspid);
	switch (j->order->command) {
	case INJECT_START:
		start_session(j);
		break;
	case INJECT_STOP_ALL:
		stop_all(j);
		break;
	case INJECT_HOOKS:
		if (*j->order->hooks.methods)
			ask_vm(j);
		/* fall through */
	case INJECT_METHODS:
	case INJECT_REPLAY:
	case INJECT_REFS:
	case INJECT_STOP:
		if (send_again(j) == 0)
			j->result.outcome = INJECT_DONE;
		break;
	case INJECT_CLEAN:
		clean_up(j);
		break;
	}
	process_root_close(&j->t);
}

static bool send_result(const struct inject_result *result, int fd)
{
	struct worker_message m;

	inject_result_encode(result, &m);
	return !message_send(fd, &m, &result->ring_fd, result->ring_fd >= 0);
}

void injector_prepare(void)
{
	/*
	 * Ctrl-C is for the recorder, which then waits for us. Do not start a new session: the
	 * scheduler groups processes by session, and a new group may wait for many seconds on a
	 * busy machine.
	 */
	setpgid(0, 0);
	signals_leave_to_parent();
	prctl(PR_SET_NAME, "sysflame-inject");
	alarm(INJECT_MAX_MS / 1000 + 5);
}

int injector_run(const struct inject_order *order, int fd, int facts_fd)
{
	struct job j = {
		.order = order,
		.result = { .outcome = INJECT_REFUSED, .ring_fd = -1 },
		.fd = order->command == INJECT_START ? fd : -1,
		.facts_fd = facts_fd,
	};
	struct inject_order stop = *order;

	carry_out(&j);
	bool is_reported = send_result(&j.result, fd);
	if (is_reported || order->command != INJECT_START || j.result.outcome != INJECT_DONE)
		return 0;
	/* The recorder is gone: end the session, because no process will read its buffer. */
	stop.command = INJECT_STOP;
	strcpy(stop.loaded_path, j.result.loaded_path);
	struct job end = { .order = &stop, .result = { .ring_fd = -1 }, .fd = -1, .facts_fd = -1 };
	carry_out(&end);
	return 0;
}
