/* SPDX-License-Identifier: Apache-2.0 */
/* The web process: its loop. */
#include "web/web.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/time.h"
#include "base/types.h"
#include "daemon/channel/channel.h"
#include "daemon/channel/handover.h"
#include "sandbox/rights.h"
#include "web/api/api.h"
#include "web/fleet/fleet.h"
#include "web/fleet/fleet_requests.h"
#include "web/http/server.h"
#include "web/recordings/push.h"
#include "web/recordings/service.h"
#include "web/recordings/sessions.h"
#include "web/recordings/users.h"

/*
 * No capability and no new privileges; no new process, program, connection or socket of its own;
 * and, where the kernel has Landlock, no file outside the directory `dir` but those that name users
 * and the time zone, and those of `fleet_dir`, which may be NULL. Call it after the workers were
 * started. Logs a missing feature of the kernel. Returns a negative errno if the process would keep
 * other rights.
 */
static int confine(int dir, const char *fleet_dir)
{
	/* The C library reads some of these for names and times. */
	const struct file_grant grants[] = {
		{ .fd = dir, .writes = true },     { .path = "/etc/passwd" },
		{ .path = "/etc/nsswitch.conf" },  { .path = "/etc/localtime" },
		{ .path = "/usr/share/zoneinfo" }, { .path = fleet_dir },
	};
	int err = privileges_keep(PRIVILEGED_WEB, 0);

	if (err)
		return err;
	if (prctl(PR_SET_DUMPABLE, 0))
		return -errno;
	err = file_filter_load(grants, ARRAY_SIZE(grants) - !fleet_dir);
	if (err == -ENOSYS || err == -EOPNOTSUPP)
		log_info("the kernel has no Landlock; the web process's user limits its files");
	else if (err)
		return err;
	return call_filter_load(PRIVILEGED_WEB);
}

#define TICK_MS        1000
#define RUNS_MS        250 /* while recordings run, or with a fleet */
#define BUSY_MS        50  /* while workers work: deadlines */
#define ASKS_MS        20  /* while a request to a fleet runs */
#define RECORDER_ENDED "the recorder had ended"
#define TLS_MAX        (1u << 20)
#define MESSAGES_MAX   256 /* messages of the recorder in a turn, before other work */

struct web {
	struct service sv;
	const struct web_options *o;
	struct server *server;
	int signal_fd;
	u64 ticked_ns;
	bool is_over;
};

static void lose_recorder(struct web *w, const char *why)
{
	if (w->sv.recorder.sock < 0)
		return;
	if (sessions_at(w->sv.sessions, 0))
		log_warn("%s; recordings that ran are kept as they are", why);
	auto_free char *announced =
		w->sv.recorder.is_ending ? xstrdup(w->sv.recorder.losses.why) : NULL;
	if (store_note_pause(w->sv.store, time_wall_ns(), announced ?: RECORDER_ENDED))
		log_debug("the time without a recorder is not noted");
	recorder_link_detach(&w->sv.recorder);
	sessions_lost_recorder(w->sv.sessions,
			       announced ?: "The recorder ended before the recording did.");
	w->sv.changed |= CHANGED_NODE | CHANGED_JVMS;
}

/* Asks for a new book: the next slices could refer to names in the slice that was not kept. */
static void ask_for_book(struct service *sv)
{
	struct control_message *m = sv->recorder.message;

	*m = (struct control_message){ .kind = CONTROL_BOOK };
	recorder_link_send(&sv->recorder, m);
}

static int keep_slice(struct service *sv, const struct control_slice *m, int fd)
{
	static struct store_use uses[CONTROL_SERVICES * CONTROL_SLICE_EVENTS]; /* scratch */
	size_t nr = 0;

	if (!channel_file_is(fd, m->bytes))
		return -EPROTO;
	void *bytes = mmap(NULL, m->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	for (u32 i = 0; i < m->nr; i++)
		for (u32 k = 0; k < m->nr_events; k++)
			uses[nr++] = (struct store_use){ m->events[k], m->services[i].name,
							 m->services[i].values[k] };
	sv->nr_samples += m->samples;
	sv->nr_lost += m->lost;
	sv->nr_missed += m->missed;
	push_saw_slice(sv->push, m->begin_wall_ns);
	int err = store_add_slice(sv->store, bytes, m->bytes, m->begin_wall_ns, m->end_wall_ns,
				  uses, nr);
	munmap(bytes, m->bytes);
	return err;
}

static void take_slice(struct service *sv, const struct control_slice *m, int fd)
{
	int err = keep_slice(sv, m, fd);

	store_health_note(&sv->store_health, err);
	if (err) {
		log_debug("a slice is not kept: %s", strerror(-err));
		ask_for_book(sv);
	} else {
		sv->covered_ns += m->end_wall_ns - m->begin_wall_ns;
		triggered_saw_slice(sv, m->end_wall_ns);
	}
}

/* A message about a recording or a slice. */
static int take_message(struct service *sv, int fd)
{
	const struct control_message *m = sv->recorder.message;

	switch (m->kind) {
	case CONTROL_STATE:
	case CONTROL_PART:
	case CONTROL_ENDED:
		sessions_message(sv->sessions, m, fd);
		return 0;
	case CONTROL_FIRED:
		triggered_take(sv, &m->fired, "rule");
		return 0;
	case CONTROL_SLICE:
		take_slice(sv, &m->slice, fd);
		return 0;
	case CONTROL_CRASHED:
		fleet_crashed(sv->fleet, &m->crashed);
		return 0;
	default: /* messages of these kinds go to the recorder only */
		return -EPROTO;
	}
}

static u32 change_of(u32 kind)
{
	return kind == CONTROL_NODE || kind == CONTROL_CAPS || kind == CONTROL_RESTART
		       ? CHANGED_NODE
	       : kind == CONTROL_JVMS ? CHANGED_JVMS
				      : 0;
}

/* Why there will be no slices. */
static void note_pause(struct service *sv)
{
	const struct control_node *n = &sv->recorder.node;
	const char *why = *n->continuous_why ? n->continuous_why : "it is switched off";
	u64 now_ns = time_wall_ns();
	u64 since_ns = n->continuous_since_wall_ns && n->continuous_since_wall_ns < now_ns
			       ? n->continuous_since_wall_ns
			       : now_ns;
	int err = n->continuous_hz ? store_note_pause(sv->store, now_ns, "")
				   : store_note_pause(sv->store, since_ns, why);

	store_health_note(&sv->store_health, err);
}

static void receive(struct web *w)
{
	struct recorder_link *r = &w->sv.recorder;

	for (int i = 0; i < MESSAGES_MAX; i++) {
		auto_close int fd = -1;
		int err = recorder_link_receive(r, &fd);
		if (err == -EAGAIN)
			return;
		if (!err)
			w->sv.changed |= change_of(r->message->kind);
		if (!err && r->message->kind == CONTROL_NODE)
			note_pause(&w->sv);
		if (err > 0)
			err = take_message(&w->sv, fd);
		if (!err)
			continue;
		if (err == -EPIPE)
			recorder_link_count_loss(r);
		lose_recorder(w, r->is_other     ? "the recorder is of another version"
				 : err == -EPIPE ? "the recorder has ended"
						 : "the recorder sent an invalid message");
		if (err != -EPIPE && !r->is_other)
			handover_ask(w->o->control_fd);
		return;
	}
}

/* A certificate and its key. */
static void take_tls(struct web *w, int file)
{
	auto_close int fd = file;
	char *cert = NULL;
	size_t len;
	int err = file_read_fd(fd, TLS_MAX, &cert, &len);
	const char *key = err ? NULL : memchr(cert, '\0', len);

	if (!err)
		err = key ? server_renew_tls(w->server, cert, key + 1) : -EINVAL;
	if (!err)
		log_info("HTTPS has the certificate and the key that were read again");
	else if (err != -EINVAL)
		log_error("HTTPS keeps its certificate: %s", strerror(-err));
	else
		log_error("HTTPS keeps its certificate; the key may not belong to the one that was "
			  "read again");
	if (cert)
		explicit_bzero(cert, len);
	free(cert);
}

/*
 * The supervisor sends a channel when it starts a recorder, or when one side asked for it; at
 * SIGHUP the certificate.
 */
static void take_handover(struct web *w)
{
	enum handover kind;
	int sock = handover_receive(w->o->control_fd, &kind);

	if (sock == -EAGAIN)
		return;
	if (sock < 0) {
		w->is_over = true;
		return;
	}
	if (kind == HANDOVER_TLS) {
		take_tls(w, sock);
		return;
	}
	receive(w); /* the last parts of a recorder that has ended */
	lose_recorder(w, "another channel to the recorder was opened");
	recorder_link_attach(&w->sv.recorder, sock);
}

static void tick_store(struct store *store)
{
	u64 now = time_wall_ns();

	if (store_watch_clock(store, now, time_boot_ns()))
		log_info("the clock was set, or the newest slice is more than a day old: for an "
			 "hour, nothing is removed for its age");
	store_tick(store, now);
}

static void tick(struct web *w)
{
	u64 now = time_mono_ns();

	sessions_tick(w->sv.sessions);
	fleet_tick(w->sv.fleet);
	fleet_requests_tick(w->sv.requests);
	push_tick(w->sv.push);
	if (now - w->ticked_ns < TICK_MS * NS_PER_MS)
		return;
	w->ticked_ns = now;
	tick_store(w->sv.store);
	thinning_tick(&w->sv);
	triggered_tick(&w->sv);
	server_tick(w->server);
	streams_tick(&w->sv);
}

/* Only a new process can have workers and senders again; the supervisor starts it. */
static void look_at_children(struct web *w)
{
	bool is_push = push_is_broken(w->sv.push);

	if (w->is_over || (!is_push && !workers_are_broken(w->sv.workers) &&
			   !fleet_requests_are_broken(w->sv.requests)))
		return;
	log_error("the web process starts anew, because the process that %s",
		  is_push ? "sends profiles has ended"
			  : "starts its workers has ended or does not answer");
	w->is_over = true;
}

/* How long to wait for messages at most: until the next work that is due at a certain time. */
static int patience_ms(const struct web *w)
{
	bool runs = sessions_at(w->sv.sessions, 0) || w->sv.fleet || w->sv.requests || w->sv.push;

	if (fleet_requests_run(w->sv.requests))
		return ASKS_MS;
	return queue_nr(w->sv.queue) ? BUSY_MS : runs ? RUNS_MS : TICK_MS;
}

/* Waits for something to do. */
static void await(struct web *w)
{
	enum {
		SIGNALS,
		CONTROL,
		SERVER,
		RECORDER,
		FLEET,
		REQUESTS,
		WORKERS,
	};
	struct pollfd polled[WORKERS + WORKERS_FDS + RECEIVERS_MAX] = {
		[SIGNALS] = { w->signal_fd, POLLIN, 0 },
		[CONTROL] = { w->o->control_fd, POLLIN, 0 },
		[SERVER] = { server_fd(w->server), POLLIN, 0 },
		[RECORDER] = { w->sv.recorder.sock, POLLIN, 0 },
		[FLEET] = { fleet_fd(w->sv.fleet), POLLIN, 0 },
		[REQUESTS] = { fleet_requests_fd(w->sv.requests), POLLIN, 0 },
	};
	int ms = patience_ms(w), fds[WORKERS_FDS];
	size_t nr = workers_fds(w->sv.workers, fds);

	for (size_t i = 0; i < nr; i++)
		polled[WORKERS + i] = (struct pollfd){ fds[i], POLLIN, 0 };
	nr += WORKERS;
	nr += push_polled(w->sv.push, polled + nr);
	poll(polled, nr, server_timeout_ms(w->server, ms));
	if (polled[SIGNALS].revents)
		w->is_over = true;
	if (polled[CONTROL].revents)
		take_handover(w);
}

static void loop(struct web *w)
{
	while (!w->is_over) {
		await(w);
		receive(w);
		queue_poll(w->sv.queue);
		tick(w);
		server_run(w->server);
		look_at_children(w);
	}
}

int web_start_workers(struct web_options *o)
{
	return web_workers_new(&o->workers);
}

/* Of struct triggered. */
static void tell_fleet(const struct service *sv, const struct fired *f)
{
	fleet_fired(sv->fleet, f);
}

static int open_service(struct web *w, const struct web_options *o)
{
	struct service *sv = &w->sv;
	const struct server_options served = { &o->site, routes, &sv->auth, sv };
	auto_str struct str why = { 0 };

	sv->workers = o->workers;
	sv->queue = queue_new(sv->workers);
	sv->streams = streams_new();
	sv->sessions = sessions_new(sv);
	recorder_link_init(&sv->recorder);
	users_read(&sv->users);
	if (o->node)
		copy_text(sv->host, sizeof(sv->host), o->node);
	else
		gethostname(sv->host, sizeof(sv->host) - 1);
	int err = auth_init(&sv->auth, &o->site);
	if (err) {
		log_error("a token has fewer than %d bytes", AUTH_TOKEN_MIN);
		return err;
	}
	err = store_open(o->dir, &o->limits, &sv->store, &why);
	if (err) {
		log_error("%s", why.at ?: strerror(-err));
		return err;
	}
	/* Until the recorder reports. */
	if (store_covered_until(sv->store))
		store_note_pause(sv->store, store_covered_until(sv->store), "sysflame did not run");
	auth_recall(&sv->auth, sv->store);
	triggered_recall(sv);
	sv->triggered.tell = tell_fleet;
	err = server_new(&served, &w->server);
	if (err) {
		log_error("cannot start the HTTP server%s",
			  o->site.tls_key ? "; the key may not belong to the certificate" : "");
		return err;
	}
	err = fleet_new(sv, o->fleet, &sv->fleet)
		      ?: fleet_requests_new(sv, o->asks, &sv->requests)
		      ?: push_new(sv, o->push, &sv->push);
	if (err)
		return err;
	err = confine(o->dir, o->fleet ? o->fleet->dir : NULL);
	if (err)
		log_error("cannot give up rights: %s", strerror(-err));
	return err;
}

static void close_service(struct web *w)
{
	struct service *sv = &w->sv;

	/* Everybody who waits gets an answer, because the library cannot stop otherwise. */
	sessions_end_waits(sv->sessions);
	queue_cancel(sv->queue);
	streams_end(sv->streams);
	server_free(w->server);
	fleet_free(sv->fleet);
	fleet_requests_free(sv->requests);
	push_free(sv->push);
	sessions_free(sv->sessions);
	queue_free(sv->queue);
	streams_free(sv->streams);
	triggered_fini(sv);
	alerts_fini(&sv->alerts);
	workers_free(sv->workers);
	if (w->o->asks)
		workers_free(w->o->asks->workers);
	if (sv->store)
		store_close(sv->store);
	recorder_link_fini(&sv->recorder);
	users_fini(&sv->users);
	auth_fini(&sv->auth);
}

static int block_signals(void)
{
	sigset_t ends;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	/*
	 * If signalfd fails, poll ignores the descriptor -1, and the process still ends with the
	 * supervisor.
	 */
	return signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
}

int web_run(const struct web_options *o)
{
	struct web w = {
		.sv = { .dir = o->dir,
			.max_disk_bytes = o->limits.max_disk_bytes,
			.max_profile_bytes = o->max_profile_bytes,
			.nr_restarts = o->nr_restarts,
			.started_wall_ns = time_wall_ns() },
		.o = o,
	};

	w.signal_fd = block_signals();
	int err = open_service(&w, o);
	if (!err) {
		sessions_adopt_orphans(w.sv.sessions);
		loop(&w);
	}
	close_service(&w);
	if (w.signal_fd >= 0)
		close(w.signal_fd);
	return err ? 1 : 0;
}
