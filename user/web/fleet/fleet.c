/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon as a node of a fleet. */
#include "web/fleet/fleet.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/time.h"
#include "base/types.h"
#include "base/vec.h"
#include "daemon/channel/protocol.h"
#include "fleet/node/node_agent.h"
#include "fleet/wire/entry.h"
#include "fleet/wire/link.h"
#include "proc/container.h"
#include "store/store.h"
#include "web/fleet/fleet_connection.h"
#include "web/fleet/fleet_facts.h"
#include "web/jobs/queue.h"
#include "web/recordings/range.h"
#include "web/recordings/recorder_link.h"
#include "web/recordings/service.h"
#include "web/recordings/sessions.h"
#include "web/recordings/triggered.h"

#define DISABLE_PATH "/run/sysflame/disable"
#define KEYS_BYTES   (4u << 20)
#define TICK_NS      (200 * NS_PER_MS)
#define KEYS_NS      (2 * NS_PER_SEC) /* between looks at the file of keys */
#define MESSAGES_MAX 256              /* before others get their turn */

#define POLICY_FILE      "fleet.policy" /* in the daemon's directory */
#define POLICY_BYTES     2048
#define POLICY_DELAY_NS  NS_PER_SEC /* wait until the server knows the subscriptions */
#define POLICY_JITTER_NS (2 * NS_PER_SEC)
#define POLICY_LAST      "{\"last_by_subj\":\"" POLICY_SUBJECT "\"}"
#define BUDGET_FILE      "fleet.budget"
#define WORTH_NS         (50 * NS_PER_MS) /* a smaller change is not written */
/* between two signs of life; a stream keeps them for 90 s */
#define SEEN_NS     (30 * NS_PER_SEC)
#define REFUSED     "fleet: refused " /* beginning of entries that strangers can cause */
#define REFUSED_MAX 1000
#define LINES_MAX   (1000 + REFUSED_MAX)

/* The budget of CPU time outlives a restart in a file of the daemon's directory. */
struct fleet_budget {
	int dir;
	bool is_read;
	u64 left_ns; /* as written last */
};

#define FLEET_WATCH_NS (60 * NS_PER_SEC) /* after the end of a recording */

/* Counts the JVMs of a recording that crash, until 60 s after its end. */
struct fleet_watch {
	u32 number;
	u64 ended_ns; /* CLOCK_MONOTONIC; 0: the recording runs */
	u32 nr_died;
	char params[NR_SELECTOR_PROCESS][128];
};

/* A clock that was set back refills nothing. */
static u64 read_left(int dir, u32 nr_cpus)
{
	auto_close int fd = openat(dir, BUDGET_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char text[64] = "";
	u64 left_ns, wall_ns, now_ns = time_wall_ns();

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 ||
	    sscanf(text, "%" SCNu64 " %" SCNu64, &left_ns, &wall_ns) != 2)
		return UINT64_MAX;
	return budget_refilled(nr_cpus, left_ns, now_ns > wall_ns ? now_ns - wall_ns : 0);
}

/* A file in the daemon's directory that outlives a restart; replaced at once. */
static void keep_file(int dir, const char *name, const void *bytes, size_t len)
{
	auto_free char *new = xasprintf("%s.new", name);
	auto_close int fd =
		openat(dir, new, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len || fsync(fd) ||
	    renameat(dir, new, dir, name))
		log_warn("fleet: %s is not kept over a restart: %m", name);
}

static void write_left(int dir, u64 left_ns)
{
	auto_free char *text = xasprintf("%" PRIu64 " %" PRIu64 "\n", left_ns, (u64)time_wall_ns());

	keep_file(dir, BUDGET_FILE, text, strlen(text));
}

/* Reads the file once the number of CPUs is known; afterwards writes what has changed. */
static void fleet_budget_tick(struct fleet_budget *b, struct node_agent *n, u32 nr_cpus)
{
	if (!nr_cpus)
		return;
	if (!b->is_read) {
		b->is_read = true;
		node_agent_set_budget(n, nr_cpus, read_left(b->dir, nr_cpus));
		b->left_ns = node_agent_budget_left(n);
	}
	u64 left_ns = node_agent_budget_left(n);
	/*
	 * The budget grows all the time; that is written rarely. A withdrawal must survive a
	 * restart, so it is written at once.
	 */
	if (left_ns + WORTH_NS > b->left_ns && left_ns < b->left_ns + 100 * WORTH_NS)
		return;
	b->left_ns = left_ns;
	write_left(b->dir, left_ns);
}

static bool is_selected(const char (*params)[128], const struct control_crashed *c)
{
	const char *service = params[SELECTOR_SERVICE], *container = params[SELECTOR_CONTAINER];
	const char *pod = params[SELECTOR_POD], *namespace = params[SELECTOR_NAMESPACE];
	struct container in = { .name = (char *)c->container_name,
				.pod = (char *)c->pod,
				.namespace = (char *)c->namespace };

	copy_text(in.id, sizeof(in.id), c->container);
	copy_text(in.pod_uid, sizeof(in.pod_uid), c->pod_uid);
	return (!*service || !strcmp(service, c->service)) &&
	       (!*container || container_matches(&in, container)) &&
	       (!*pod || container_matches_pod(&in, pod)) &&
	       (!*namespace || !strcmp(namespace, c->namespace));
}

/* Appends the newest entries of the list, a line for each. Negative errno. */
static int fleet_entries_read(struct store *s, struct str *out)
{
	struct store_audit_list l = { 0 };
	int err = store_audit_read(s, LINES_MAX, &l);

	vec_each(a, &l.list) {
		entry_add(out, a->at_ns / NS_PER_MS, a->who, a->what);
		str_add_char(out, '\n');
	}
	store_audit_list_fini(&l);
	return err;
}

/* A request of the fleet that the daemon works on. */
struct node_request {
	struct fleet *fleet;
	u32 number;
	u64 session; /* 0: it has none */
	char params[NR_SELECTOR_PROCESS][128];
	u64 samples, lost, profile, covered_ms;
	char why[256]; /* the recording is not whole */
	bool is_converting, is_stopped;
};

struct fleet {
	struct service *sv;
	const struct web_fleet *o;
	struct link *link;
	struct node_agent *agent;
	struct node_agent_host host;
	VEC(struct node_request *) requests;
	VEC(struct fleet_watch) watches;
	struct fleet_budget budget;
	u64 ask_policy_ns; /* when to ask JetStream for the policy; 0: already asked */
	int pressure_fd;   /* -1: unknown */
	struct fleet_connection connection;
	struct timespec keys_time;
	u64 keys_ns, ticked_ns;
	u64 seen_ns; /* when the next sign of life is due */
};

/* Publishes on "SUBJECT.NODE", for a stream. Without a stream the message is lost. */
static void publish_own(struct fleet *f, const char *subject, const void *bytes, size_t len)
{
	auto_free char *own = xasprintf("%s%s", subject, f->o->node);

	if (!f->link || link_publish(f->link, own, "", bytes, len))
		log_debug("fleet: a message to %s was not sent", own);
}

static void publish_entry(struct fleet *f, const char *subject, u64 at_ms, const char *who,
			  const char *what)
{
	auto_str struct str line = { 0 };

	entry_add(&line, at_ms, who, what);
	publish_own(f, subject, line.at, line.len);
}

/* A random delay of at most `most_ns`, because a whole fleet connects at once after a restart. */
static u64 jitter(u64 most_ns)
{
	u64 random = time_mono_ns();

	getrandom(&random, sizeof(random), GRND_NONBLOCK);
	return random % most_ns;
}

/* A sign of life. */
static void say_seen(struct fleet *f, u64 now_ns)
{
	if (!f->connection.is_up || now_ns < f->seen_ns)
		return;
	f->seen_ns = now_ns + SEEN_NS / 2 + jitter(SEEN_NS / 2);
	publish_own(f, STREAM_SEEN, SYSFLAME_VERSION, strlen(SYSFLAME_VERSION));
}

static struct node_request *find_request(struct fleet *f, u32 number)
{
	vec_each(e, &f->requests)
		if ((*e)->number == number)
			return *e;
	return NULL;
}

static struct fleet_watch *find_watch(struct fleet *f, u32 number)
{
	vec_each(w, &f->watches)
		if (w->number == number)
			return w;
	return NULL;
}

static void drop_request(struct node_request *e)
{
	struct fleet *f = e->fleet;
	struct fleet_watch *w = find_watch(f, e->number);

	if (w)
		w->ended_ns = time_mono_ns();

	for (size_t i = 0; i < f->requests.nr; i++)
		if (f->requests.at[i] == e)
			f->requests.at[i--] = f->requests.at[--f->requests.nr];
	free(e);
}

static void drop_watches(struct fleet *f, u64 now_ns)
{
	size_t kept = 0;

	vec_each(w, &f->watches)
		if (!w->ended_ns || now_ns - w->ended_ns <= FLEET_WATCH_NS)
			f->watches.at[kept++] = *w;
	f->watches.nr = kept;
}

/*
 * The first DONE has the JVMs that had crashed by then. Later crashes are reported by further
 * DONEs.
 */
void fleet_crashed(struct fleet *f, const struct control_crashed *c)
{
	if (!f)
		return;
	vec_each(w, &f->watches) {
		if (!is_selected(w->params, c))
			continue;
		log_warn("fleet: a JVM that is recorded, %d (%s), ended by SIG%s", c->pid,
			 c->service, sigabbrev_np((int)c->signal));
		w->nr_died++;
		if (w->ended_ns)
			node_agent_died(f->agent, w->number, w->nr_died);
	}
}

static void end_request(struct node_request *e, enum verdict v, const char *why,
			const struct payload *bytes)
{
	struct fleet_watch *w = find_watch(e->fleet, e->number);
	const struct node_agent_result r = {
		.verdict = v,
		.why = why,
		.bytes = bytes ? bytes->at : NULL,
		.len = bytes ? bytes->nr : 0,
		.samples = e->samples,
		.lost = e->lost,
		.profile = e->profile,
		.covered_ms = e->covered_ms,
		.nr_died = w ? w->nr_died : 0,
	};

	node_agent_ended(e->fleet->agent, e->number, &r);
	drop_request(e);
}

/* A job_done_fn: the profile that the controller gets. */
static void converted(void *ctx, int err, struct payload *result)
{
	struct node_request *e = ctx;

	if (err == -ECANCELED)
		drop_request(e);
	else if (err == -EBADMSG)
		end_request(e, VERDICT_FAILED, result->at, NULL);
	else if (err)
		end_request(e, VERDICT_FAILED, "The profile could not be made.", NULL);
	else
		end_request(e, VERDICT_ACCEPT, e->why, result);
}

static int convert(struct node_request *e)
{
	struct service *sv = e->fleet->sv;
	const struct input in = { .store = sv->store, .kind = INPUT_FILE, .id = e->profile };
	struct job_order order = {
		.task = WEB_CONVERT,
		.params = { .nr_inputs = 1, .format = "sflm", .may_be_empty = true },
		.fds = { input_file(&in, 0), -1 },
		.is_needed = true,
		.done = converted,
		.ctx = e,
	};
	struct web_params *p = &order.params;

	if (order.fds[0] < 0)
		return order.fds[0];
	e->is_converting = true;
	copy_text(p->service, sizeof(p->service), e->params[SELECTOR_SERVICE]);
	copy_text(p->container, sizeof(p->container), e->params[SELECTOR_CONTAINER]);
	copy_text(p->pod, sizeof(p->pod), e->params[SELECTOR_POD]);
	copy_text(p->namespace, sizeof(p->namespace), e->params[SELECTOR_NAMESPACE]);
	copy_text(p->with, sizeof(p->with), e->params[SELECTOR_LABEL]);
	return queue_add(sv->queue, &order);
}

/* The recording is in the store. */
static void fetch_recording(struct node_request *e)
{
	struct stored s;
	int err = store_get(e->fleet->sv->store, e->session, &s);

	if (err) {
		end_request(e, VERDICT_FAILED, "The recording was not kept.", NULL);
		return;
	}
	e->profile = s.id;
	e->samples = s.samples;
	e->lost = s.lost;
	e->covered_ms = s.duration_ns / NS_PER_MS;
	if (s.state == STORED_PARTIAL)
		copy_text(e->why, sizeof(e->why), s.error ?: "");
	if (s.state == STORED_FAILED)
		end_request(e, VERDICT_FAILED, s.error, NULL);
	else if (convert(e))
		end_request(e, VERDICT_FAILED, "The recording cannot be read.", NULL);
	stored_fini(&s);
}

/* The recording is stored once there is room, but the asker does not wait that long. */
static void give_up(struct node_request *e, const struct session *s)
{
	auto_free char *why = xasprintf("%s%sIt cannot be stored: the disk is full or read-only.",
					s->why ?: "", s->why ? " " : "");

	end_request(e, VERDICT_FAILED, why, NULL);
}

static void fetch_recordings(struct fleet *f)
{
	for (size_t i = f->requests.nr; i-- > 0;) {
		struct node_request *e = f->requests.at[i];
		struct session *s = e->session && !e->is_converting
					    ? sessions_find(f->sv->sessions, e->session)
					    : NULL;
		if (s && s->nr_stores)
			give_up(e, s);
		else if (e->session && !e->is_converting && !s)
			fetch_recording(e);
	}
}

static u64 host_mono_ns(void *ctx)
{
	return time_mono_ns();
}

static u64 host_wall_ms(void *ctx)
{
	return time_wall_ns() / NS_PER_MS;
}

static bool host_is_disabled(void *ctx)
{
	return !access(DISABLE_PATH, F_OK);
}

static void host_look(void *ctx, struct node_agent_facts *out)
{
	const struct fleet *f = ctx;

	fleet_facts_look(f->sv, f->pressure_fd, out);
	out->url = f->o->page_url;
}

static bool host_runs(void *ctx, const struct selector *s)
{
	return fleet_facts_runs(((struct fleet *)ctx)->sv, s);
}

/* A recording that is starting is stopped when it has started. */
static void stop_session(struct node_request *e)
{
	struct session *s = e->session ? sessions_find(e->fleet->sv->sessions, e->session) : NULL;

	e->is_stopped = true;
	if (s)
		sessions_stop(s);
}

/* A session_answer_fn. */
static void answered(void *ctx, int err, const char *why, u64 id)
{
	struct node_request *e = ctx;

	e->session = id;
	node_agent_started(e->fleet->agent, e->number, err ? VERDICT_POLICY : VERDICT_ACCEPT, why);
	if (err)
		drop_request(e);
	else if (e->is_stopped)
		stop_session(e);
}

static void choose_target(const struct selector *s, struct control_start *start)
{
	const char *container = s->processes[SELECTOR_CONTAINER], *pod = s->processes[SELECTOR_POD];

	if (*container)
		start->target = CONTROL_TARGET_CONTAINER;
	else if (*pod)
		start->target = CONTROL_TARGET_POD;
	copy_text(start->target_text, sizeof(start->target_text), *container ? container : pod);
}

static int start_recording(struct node_request *e, const struct node_agent_work *w)
{
	auto_free char *name = xasprintf("fleet: %s%s%s", w->person,
					 *w->request->reason ? ": " : "", w->request->reason);
	struct session_order o = {
		.start = { .rate_hz = w->request->hz, .duration_s = w->request->duration_s },
		.name = name,
		.who = w->person,
		.answer = answered,
		.ctx = e,
	};

	choose_target(w->selector, &o.start);
	copy_text(o.start.events, sizeof(o.start.events), w->request->events);
	struct fleet_watch watch = { .number = w->number };
	memcpy(watch.params, e->params, sizeof(watch.params));
	vec_push(&e->fleet->watches, watch);
	return sessions_start(e->fleet->sv->sessions, &o);
}

/* The node has accepted. */
static void end_without_slices(struct node_request *e, const struct range *r)
{
	bool is_new = r->to_ms * NS_PER_MS + STORE_LATE_NS > time_wall_ns();
	auto_free char *why =
		is_new ? xasprintf("The slices of this time are not written yet; they are after "
				   "%llu s.",
				   STORE_LATE_NS / NS_PER_SEC)
		       : xstrdup("There are no slices of this time.");

	end_request(e, VERDICT_FAILED, why, NULL);
}

static int start_range(struct node_request *e, const struct node_agent_work *w)
{
	u64 to_ms = time_wall_ns() / NS_PER_MS - w->request->ago_s * 1000ull;
	struct range r = RANGE_ALL(to_ms - w->request->duration_s * 1000ull, to_ms);

	r.event = w->request->events;
	r.service = e->params[SELECTOR_SERVICE];
	r.container = e->params[SELECTOR_CONTAINER];
	r.pod = e->params[SELECTOR_POD];
	r.namespace = e->params[SELECTOR_NAMESPACE];
	r.with = e->params[SELECTOR_LABEL];
	range_widen(e->fleet->sv, &r);
	struct store_coverage c = { 0 };
	if (!store_coverage(e->fleet->sv->store, r.from_ms * NS_PER_MS, r.to_ms * NS_PER_MS, &c))
		e->covered_ms = c.covered_ns / NS_PER_MS;
	r.may_be_empty = true;
	store_coverage_fini(&c);
	node_agent_started(e->fleet->agent, e->number, VERDICT_ACCEPT, "");
	if (!e->covered_ms) {
		end_without_slices(e, &r);
		return 0;
	}
	return range_render(e->fleet->sv, &r, "sflm", converted, e);
}

static void start_audit(struct node_request *e)
{
	auto_str struct str text = { 0 };

	node_agent_started(e->fleet->agent, e->number, VERDICT_ACCEPT, "");
	int err = fleet_entries_read(e->fleet->sv->store, &text);
	const struct payload bytes = { .at = text.at, .nr = text.len };
	end_request(e, err || !text.len ? VERDICT_FAILED : VERDICT_ACCEPT,
		    err ? "The list cannot be read." : "", &bytes);
}

static void host_start(void *ctx, const struct node_agent_work *w)
{
	struct fleet *f = ctx;
	struct node_request *e = xcalloc(1, sizeof(*e));
	bool is_recording = w->request->want == WANT_RECORDING;
	bool is_audit = w->request->want == WANT_AUDIT;

	e->fleet = f;
	e->number = w->number;
	memcpy(e->params, w->selector->processes, sizeof(e->params));
	vec_push(&f->requests, e);
	int err = is_recording ? start_recording(e, w) : is_audit ? 0 : start_range(e, w);
	if (is_audit)
		start_audit(e);
	if (!err)
		return;
	if (is_recording) {
		node_agent_started(f->agent, e->number, VERDICT_BUSY,
				   "As many recordings run as may, or there is no recorder.");
		drop_request(e);
	} else {
		end_request(e, VERDICT_BUSY, "Too many jobs wait.", NULL);
	}
}

static void host_stop(void *ctx, u32 number)
{
	struct node_request *e = find_request(ctx, number);

	if (e)
		stop_session(e);
}

static bool host_progress(void *ctx, u32 number, u64 *samples, u64 *lost)
{
	struct fleet *f = ctx;
	struct node_request *e = find_request(f, number);
	struct session *s = e && e->session ? sessions_find(f->sv->sessions, e->session) : NULL;

	if (!s)
		return false;
	*samples = s->state.samples;
	*lost = s->state.lost;
	return true;
}

static void host_publish(void *ctx, const char *subject, const void *bytes, size_t len)
{
	struct fleet *f = ctx;

	/* Whoever misses it asks again. */
	if (!f->link || link_publish(f->link, subject, "", bytes, len))
		log_debug("fleet: a message to %s was not sent", subject);
}

static u64 host_busy_ppm(void *ctx, const struct selector *s)
{
	return fleet_facts_busy_ppm(((struct fleet *)ctx)->sv, s);
}

static void host_keep_policy(void *ctx, const void *bytes, size_t len)
{
	keep_file(((struct fleet *)ctx)->budget.dir, POLICY_FILE, bytes, len);
}

static void load_policy(struct fleet *f)
{
	auto_close int fd = openat(f->budget.dir, POLICY_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	u8 bytes[POLICY_BYTES];
	ssize_t len = fd < 0 ? 0 : read(fd, bytes, sizeof(bytes));

	if (len > 0)
		node_agent_message(f->agent, "", bytes, (size_t)len);
}

/*
 * Asks for the policy. Without JetStream, its stream or the right to it, no answer comes and
 * nothing changes.
 */
static void ask_policy(struct fleet *f, u64 now_ns)
{
	if (!f->ask_policy_ns || now_ns < f->ask_policy_ns)
		return;
	f->ask_policy_ns = 0;
	auto_free char *reply = xasprintf("sysflame.v1.node.%s.policy", f->o->node);
	link_publish(f->link, "$JS.API." STREAM_GET_POLICY, reply, POLICY_LAST,
		     strlen(POLICY_LAST));
	link_publish(f->link, STREAM_FROM_LEAF(STREAM_GET_POLICY), reply, POLICY_LAST,
		     strlen(POLICY_LAST));
}

static void host_audit(void *ctx, const char *person, const char *what)
{
	struct fleet *f = ctx;
	u64 at_ns = store_audit(f->sv->store, person, what);

	publish_entry(f, "sysflame.v1.audit.node.", at_ns / NS_PER_MS, person, what);
}

/*
 * Lists a refusal in the node's own list only. In a stream, refusals would push out the entries of
 * requests that were served.
 */
static void host_refusal(void *ctx, const char *person, const char *what)
{
	struct store *s = ((struct fleet *)ctx)->sv->store;

	store_audit(s, person, what);
	store_audit_bound(s, REFUSED, REFUSED_MAX);
}

/*
 * The keys stay as they are if the file is missing or malformed. The signer of the policy that is
 * kept may be among new ones.
 */
static void read_keys(struct fleet *f)
{
	auto_free char *path = xasprintf("%s/keys", f->o->dir), *text = NULL;
	struct fleet_keys keys = { 0 };
	auto_str struct str why = { 0 };
	struct stat st;
	size_t len;
	int err = stat(path, &st) ? -errno : file_read(path, KEYS_BYTES, &text, &len);

	if (!err && st.st_mtim.tv_sec == f->keys_time.tv_sec &&
	    st.st_mtim.tv_nsec == f->keys_time.tv_nsec)
		return;
	if (!err) {
		f->keys_time = st.st_mtim;
		err = keys_parse(text, &keys, &why);
	}
	if (err) {
		log_error("fleet: %s: %s", path, why.len ? why.at : strerror(-err));
		keys_fini(&keys);
		return;
	}
	bool has_policy = node_agent_has_policy(f->agent);
	node_agent_set_keys(f->agent, &keys);
	if (!has_policy)
		load_policy(f);
}

static void take_events(struct fleet *f)
{
	struct link_event e;

	for (int i = 0; f->link && i < MESSAGES_MAX; i++) {
		int err = link_receive(f->link, &e);
		if (err == -EPIPE) {
			fleet_connection_end(&f->connection);
			f->sv->changed |= CHANGED_NODE;
			link_free(take(f->link));
		}
		if (err)
			return;
		if (e.kind == LINK_MESSAGE)
			node_agent_message(f->agent, e.reply, e.bytes, e.len);
		else
			f->sv->changed |=
				fleet_connection_take(&f->connection, &e) ? CHANGED_NODE : 0;
		if (e.kind == LINK_UP)
			f->ask_policy_ns =
				time_mono_ns() + POLICY_DELAY_NS + jitter(POLICY_JITTER_NS);
	}
}

void fleet_tick(struct fleet *f)
{
	if (!f)
		return;
	u64 now = time_mono_ns();
	take_events(f);
	if (now - f->ticked_ns < TICK_NS)
		return;
	f->ticked_ns = now;
	fetch_recordings(f);
	drop_watches(f, now);
	node_agent_tick(f->agent);
	say_seen(f, now);
	if (f->link)
		ask_policy(f, now);
	fleet_budget_tick(&f->budget, f->agent, f->sv->recorder.caps.nr_cpus);
	if (now - f->keys_ns > KEYS_NS) {
		f->keys_ns = now;
		read_keys(f);
	}
}

void fleet_fired(struct fleet *f, const struct fired *fired)
{
	auto_free char *what = *fired->refused ? xasprintf("trigger: %s; not recorded: %s",
							   fired->why, fired->refused)
					       : xasprintf("trigger: %s; profile %llu", fired->why,
							   (unsigned long long)fired->recording);

	if (f)
		publish_entry(f, "sysflame.v1.audit.trigger.", fired->at_ms, fired->name, what);
}

int fleet_fd(const struct fleet *f)
{
	return f && f->link ? link_fd(f->link) : -1;
}

json_t *fleet_state_json(const struct fleet *f)
{
	if (!f)
		return json_null();
	json_t *o = fleet_connection_json(&f->connection);
	json_object_set_new(o, "node", json_string(f->o->node));
	return o;
}

int fleet_new(struct service *sv, const struct web_fleet *o, struct fleet **out)
{
	if (!o)
		return 0;
	const struct link_options link = { .url = o->url, .name = o->node, .dir = o->dir };
	struct fleet *f = xcalloc(1, sizeof(*f));
	f->sv = sv;
	f->o = o;
	f->host = (struct node_agent_host){
		f,          host_mono_ns, host_wall_ms,  host_is_disabled, host_look,
		host_runs,  host_start,   host_stop,     host_progress,    host_publish,
		host_audit, host_refusal, host_busy_ppm, host_keep_policy,
	};
	f->pressure_fd = open("/proc/pressure/cpu", O_RDONLY | O_CLOEXEC);
	f->budget.dir = sv->dir;
	f->agent = node_agent_new(o->node, o->labels, &f->host);
	int err = link_start(&link, &f->link);
	if (err) {
		log_error("fleet: cannot start: %s", strerror(-err));
		fleet_free(f);
		return err;
	}
	/* Without keys it refuses everybody. */
	read_keys(f);
	for (u32 i = 0; node_agent_subject(f->agent, i); i++)
		link_subscribe(f->link, node_agent_subject(f->agent, i));
	*out = f;
	return 0;
}

void fleet_free(struct fleet *f)
{
	if (!f)
		return;
	link_free(f->link);
	node_agent_free(f->agent);
	fleet_connection_fini(&f->connection);
	vec_each(e, &f->requests)
		free(*e);
	vec_fini(&f->requests);
	vec_fini(&f->watches);
	if (f->pressure_fd >= 0)
		close(f->pressure_fd);
	free(f);
}
