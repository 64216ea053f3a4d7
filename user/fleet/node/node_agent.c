/* SPDX-License-Identifier: Apache-2.0 */
/* A node of the fleet. */
#include "fleet/node/node_agent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/auto.h"
#include "base/log.h"
#include "base/str.h"
#include "base/time.h"
#include "base/vec.h"
#include "fleet/node/asker.h"
#include "fleet/wire/selector.h"

#define REFUSED_NS (60 * NS_PER_SEC) /* anybody may send a bad policy: one a minute is logged */

#define REPLY_MAX 192

enum run_state {
	RUN_STARTS, /* node_agent_started is to come */
	RUN_RUNS,   /* node_agent_ended is to come */
	RUN_DONE,   /* the result can be fetched */
};

struct run {
	u32 number;
	enum run_state state;
	struct fleet_request request;
	u64 busy_ppm; /* as in the answer to the census */
	struct selector selector;
	char reply[REPLY_MAX], person[64];
	char stopped[256]; /* why it was ended early or has no result; "" */
	bool is_dropped;   /* nobody wants the result */
	u64 begun_ns, heard_ns, done_ns;
	u64 well_ns;                   /* when the node last did not suffer */
	u64 cpu_ns;                    /* of the recorder at the start */
	u64 reserved_ns;               /* of the budget */
	struct node_agent_result said; /* of DONE, without bytes */
	u8 *bytes;
	size_t len;
	u8 sha256[FLEET_HASH_LEN];
};

struct node_agent {
	const struct node_agent_host *host;
	char name[64], labels[256];
	u64 instance, born_ns;
	char subjects[5][96];
	struct fleet_keys keys;
	struct askers askers;
	struct budget budget;
	bool has_budget; /* the number of CPUs is known */
	VEC(struct run *) runs;
	u32 last_number;
	struct fleet_policy policy; /* at_ms 0: none */
	u8 policy_key[FLEET_KEY_LEN];
	u64 policy_refused_ns; /* the last one that was logged */
};

static void node_agent_run_free(struct run *r)
{
	free(r->bytes);
	free(r);
}

static u64 node_agent_now_ns(const struct node_agent *n)
{
	return n->host->mono_ns(n->host->ctx);
}

/* The run with that id; NULL if there is none. */
static struct run *node_agent_find(struct node_agent *n, const u8 *id)
{
	vec_each(r, &n->runs)
		if (!memcmp((*r)->request.id, id, FLEET_ID_LEN))
			return *r;
	return NULL;
}

static void node_agent_drop(struct node_agent *n, struct run *r)
{
	for (size_t i = 0; i < n->runs.nr; i++) {
		if (n->runs.at[i] != r)
			continue;
		memmove(&n->runs.at[i], &n->runs.at[i + 1],
			(n->runs.nr - i - 1) * sizeof(n->runs.at[0]));
		n->runs.nr--;
		break;
	}
	node_agent_run_free(r);
}

static void node_agent_publish(const struct node_agent *n, const char *to,
			       const struct fleet_message *m)
{
	auto_str struct str bytes = { 0 };

	message_encode(m, &bytes);
	n->host->publish(n->host->ctx, to, bytes.at, bytes.len);
}

/* Publishes to a subject that belongs to this node alone. A STOP may have no reply subject. */
static void node_agent_publish_own(const struct node_agent *n, const char *to,
				   const struct fleet_message *m)
{
	auto_free char *own = xasprintf("%s.%s", to, n->name);

	if (*to)
		node_agent_publish(n, own, m);
}

/* Sends DONE. */
static void node_agent_say_done(const struct node_agent *n, const struct run *r,
				const struct node_agent_result *result)
{
	struct fleet_message m = { .kind = MESSAGE_DONE };
	struct fleet_done *d = &m.done;

	memcpy(d->id, r->request.id, sizeof(d->id));
	copy_text(d->node, sizeof(d->node), n->name);
	d->instance = n->instance;
	d->verdict = result->verdict;
	d->size = r->len;
	memcpy(d->sha256, r->sha256, sizeof(d->sha256));
	d->samples = result->samples;
	d->lost = result->lost;
	d->profile = result->profile;
	d->nr_died = result->nr_died;
	d->covered_ms = result->covered_ms;
	copy_text(d->why, sizeof(d->why), result->why);
	node_agent_publish_own(n, r->reply, &m);
}

static void stop_run(struct node_agent *n, struct run *r, const char *why)
{
	if (*r->stopped)
		return;
	copy_text(r->stopped, sizeof(r->stopped), why);
	if (r->request.want == WANT_RECORDING)
		n->host->stop(n->host->ctx, r->number);
}

static bool is_target(const struct run *r, const u8 *target)
{
	static const u8 all[FLEET_ID_LEN];

	return r->state != RUN_DONE && !*r->stopped &&
	       (!memcmp(target, all, sizeof(all)) || !memcmp(target, r->request.id, FLEET_ID_LEN));
}

/* Ends requests of the key's person; an operator may end those of others. */
static enum verdict take_stop(struct node_agent *n, const struct fleet_request *stop,
			      const struct fleet_key *key, struct str *why)
{
	auto_free char *by = xasprintf("%s stopped it.", key->person);
	u32 nr = 0, nr_others = 0;

	vec_each(at, &n->runs) {
		struct run *r = *at;
		if (!is_target(r, stop->target))
			continue;
		if (key->role != FLEET_OPERATOR && strcmp(r->person, key->person) != 0) {
			nr_others++;
			continue;
		}
		stop_run(n, r, by);
		auto_free char *what =
			xasprintf("fleet: stop \"%s\" of %s", r->request.selector, r->person);
		n->host->audit(n->host->ctx, key->person, what);
		nr++;
	}
	if (nr)
		return VERDICT_ACCEPT;
	str_add(why, nr_others ? "Requests of others take an operator."
			       : "No such request is being served.");
	return nr_others ? VERDICT_POLICY : VERDICT_NO_MATCH;
}

/* Answers that this node has no such request, so that the controller stops waiting. */
static void say_unknown(const struct node_agent *n, const u8 *id, const char *reply)
{
	struct fleet_message m = { .kind = MESSAGE_DONE, .done.verdict = VERDICT_FAILED };

	memcpy(m.done.id, id, sizeof(m.done.id));
	copy_text(m.done.node, sizeof(m.done.node), n->name);
	m.done.instance = n->instance;
	copy_text(m.done.why, sizeof(m.done.why),
		  "It does not know the request: it has restarted.");
	node_agent_publish_own(n, reply, &m);
}

static void node_agent_take_alive(struct node_agent *n, const char *reply,
				  const struct fleet_alive *alive)
{
	struct run *r = node_agent_find(n, alive->id);

	if (!r) {
		say_unknown(n, alive->id, reply);
		return;
	}
	r->heard_ns = node_agent_now_ns(n);
	if (r->state == RUN_DONE) /* the controller may have missed it */
		node_agent_say_done(n, r, &r->said);
}

/* The reason for which the node is overloaded; NULL: it is not. */
static const char *strain_of(const struct node_agent_facts *f)
{
	if (f->cpu_ppm > NODE_AGENT_CPU_PPM)
		return "The recorder used more than 5 % of a CPU.";
	if (f->pressure_pct > NODE_AGENT_PRESSURE)
		return "Processes of the node waited for CPUs for more than 60 % of the time.";
	return NULL;
}

static bool loses_much(struct node_agent *n, const struct run *r)
{
	u64 samples = 0, lost = 0;

	return n->host->progress(n->host->ctx, r->number, &samples, &lost) &&
	       samples + lost >= NODE_AGENT_LOST_LEAST &&
	       lost * 100 > (samples + lost) * NODE_AGENT_LOST;
}

/* The reason for which a recording ends now; NULL: it goes on. */
static const char *fault_of(struct node_agent *n, struct run *r, const struct node_agent_facts *f)
{
	const char *strain = strain_of(f);

	if (!strain)
		r->well_ns = node_agent_now_ns(n);
	if (n->host->is_disabled(n->host->ctx))
		return "Somebody switched the node off.";
	if (n->policy.is_off)
		return "The fleet's policy disables all nodes.";
	if (node_agent_now_ns(n) - r->heard_ns > NODE_AGENT_SILENT_S * NS_PER_SEC)
		return "The controller has been silent for 60 s.";
	if (r->request.want != WANT_RECORDING)
		return NULL;
	if (strain && node_agent_now_ns(n) - r->well_ns > NODE_AGENT_STRAIN_S * NS_PER_SEC)
		return strain;
	return loses_much(n, r) ? "More than 20 % of the samples were lost." : NULL;
}

static void fail_run(struct node_agent *n, struct run *r)
{
	const struct node_agent_result late = { .verdict = VERDICT_FAILED,
						.why = "The result took too long." };

	node_agent_say_done(n, r, &late);
	n->host->stop(n->host->ctx, r->number);
	r->is_dropped = true;
}

/* The answer to a request. */
struct reply {
	const struct fleet_request *request;
	const char *to;
	enum verdict verdict;
	const char *why;
};

struct node_agent *node_agent_new(const char *name, const char *labels,
				  const struct node_agent_host *host)
{
	struct node_agent *n = xcalloc(1, sizeof(*n));

	n->host = host;
	n->born_ns = node_agent_now_ns(n);
	copy_text(n->name, sizeof(n->name), name);
	snprintf(n->labels, sizeof(n->labels), "node=%s%s%s", name, *labels ? "," : "", labels);
	if (getrandom(&n->instance, sizeof(n->instance), 0) != sizeof(n->instance))
		n->instance = host->mono_ns(host->ctx);
	copy_text(n->subjects[0], sizeof(n->subjects[0]), "sysflame.v1.req.all");
	copy_text(n->subjects[1], sizeof(n->subjects[1]), "sysflame.v1.ctl");
	snprintf(n->subjects[2], sizeof(n->subjects[2]), "sysflame.v1.node.%s.get", name);
	copy_text(n->subjects[3], sizeof(n->subjects[3]), POLICY_SUBJECT);
	snprintf(n->subjects[4], sizeof(n->subjects[4]), "sysflame.v1.node.%s.policy", name);
	return n;
}

void node_agent_free(struct node_agent *n)
{
	if (!n)
		return;
	vec_each(r, &n->runs)
		node_agent_run_free(*r);
	vec_fini(&n->runs);
	keys_fini(&n->keys);
	askers_fini(&n->askers);
	free(n);
}

static void limit_budget(struct node_agent *n)
{
	if (n->has_budget)
		budget_limit(&n->budget, n->policy.cpu_ppm ?: POLICY_CPU_PPM, node_agent_now_ns(n));
}

bool node_agent_has_policy(const struct node_agent *n)
{
	return *n->policy.by != '\0';
}

/*
 * Drops the policy if its signer's key is gone. Keeps its time, so that no earlier policy can
 * replace it. The policy itself may return with the key.
 */
static void check_policy(struct node_agent *n)
{
	const struct fleet_key *key = keys_find(&n->keys, n->policy_key);

	if (!node_agent_has_policy(n) || (key && key->role == FLEET_OPERATOR))
		return;
	log_warn("fleet: the policy of %s holds no longer: the key is no operator's any more",
		 n->policy.by);
	n->policy = (struct fleet_policy){ .at_ms = n->policy.at_ms };
	limit_budget(n);
}

static void refuse_policy(struct node_agent *n, const char *why)
{
	if (n->policy_refused_ns && node_agent_now_ns(n) - n->policy_refused_ns < REFUSED_NS)
		return;
	n->policy_refused_ns = node_agent_now_ns(n);
	log_warn("fleet: a policy was refused: %s", why);
}

static void take_policy(struct node_agent *n, const struct fleet_signed *m)
{
	const struct fleet_message message = { .kind = MESSAGE_POLICY, .sealed = *m };
	struct fleet_policy p;
	auto_str struct str what = { 0 }, bytes = { 0 };
	const char *why = policy_open(m, &n->keys, n->host->wall_ms(n->host->ctx), &p);

	if (!why && p.at_ms < n->policy.at_ms)
		why = "it is older than the one that holds";
	if (why)
		refuse_policy(n, why);
	if (why || (p.at_ms == n->policy.at_ms && node_agent_has_policy(n)))
		return;
	memcpy(n->policy_key, m->key, sizeof(n->policy_key));
	message_encode(&message, &bytes); /* without what was around it, which nobody signed */
	if (n->host->keep_policy)
		n->host->keep_policy(n->host->ctx, bytes.at, bytes.len);
	n->policy = p;
	limit_budget(n);
	str_add(&what, "fleet: policy: ");
	policy_print(&p, &what);
	log_info("%s; of %s", what.at, p.by);
	if (p.has_unknown)
		log_warn("fleet: limits of the policy are of a later version and have no effect");
	n->host->audit(n->host->ctx, p.by, what.at);
}

void node_agent_set_keys(struct node_agent *n, struct fleet_keys *keys)
{
	keys_fini(&n->keys);
	n->keys = *keys;
	*keys = (struct fleet_keys){ 0 };
	check_policy(n);
}

const char *node_agent_subject(const struct node_agent *n, u32 i)
{
	return i < ARRAY_SIZE(n->subjects) ? n->subjects[i] : NULL;
}

static struct run *find_number(struct node_agent *n, u32 number)
{
	vec_each(r, &n->runs)
		if ((*r)->number == number)
			return *r;
	return NULL;
}

/*
 * Lists running requests. Each begins with the start of the id, as `fleet stop` takes it; the rest
 * is for people.
 */
static void list_runs(const struct node_agent *n, struct fleet_answer *a)
{
	char id[2 * FLEET_ID_LEN + 1];
	u32 nr = 0;

	for (size_t i = 0; i < n->runs.nr && nr < FLEET_RUNS; i++) {
		const struct run *r = n->runs.at[i];
		if (r->state == RUN_DONE)
			continue;
		hex_print(r->request.id, FLEET_ID_LEN, id);
		snprintf(a->runs[nr++], sizeof(a->runs[0]), "%s %llu %u %s %s", id,
			 (unsigned long long)((node_agent_now_ns(n) - r->begun_ns) / NS_PER_SEC),
			 r->request.duration_s, r->person,
			 *r->request.selector ? r->request.selector : "-");
	}
}

static void answer(const struct node_agent *n, const struct reply *r,
		   const struct node_agent_facts *f)
{
	struct fleet_message m = { .kind = MESSAGE_ANSWER };
	struct fleet_answer *a = &m.answer;

	memcpy(a->id, r->request->id, sizeof(a->id));
	copy_text(a->node, sizeof(a->node), n->name);
	copy_text(a->labels, sizeof(a->labels), n->labels);
	copy_text(a->version, sizeof(a->version), SYSFLAME_VERSION);
	copy_text(a->why, sizeof(a->why), r->why);
	a->instance = n->instance;
	a->verdict = r->verdict;
	if (f) {
		a->policy_ms = node_agent_has_policy(n) ? n->policy.at_ms : 0;
		a->nr_cpus = f->nr_cpus;
		a->nr_jvms = f->nr_jvms;
		a->busy_ppm = f->busy_ppm;
		copy_text(a->url, sizeof(a->url), f->url ?: "");
		copy_text(a->kernel, sizeof(a->kernel), f->kernel ?: "");
		a->nr_services = f->nr_services;
		a->nr_all_services = f->nr_all_services;
		memcpy(a->services, f->services, sizeof(a->services));
	}
	if (r->request->want == WANT_CENSUS)
		list_runs(n, a);
	node_agent_publish_own(n, r->to, &m);
}

static size_t nr_active(const struct node_agent *n)
{
	size_t nr = 0;

	for (size_t i = 0; i < n->runs.nr; i++)
		nr += n->runs.at[i]->state != RUN_DONE;
	return nr;
}

void node_agent_set_budget(struct node_agent *n, u32 nr_cpus, u64 left_ns)
{
	budget_init(&n->budget, nr_cpus, node_agent_now_ns(n));
	n->has_budget = true;
	if (left_ns < n->budget.left_ns)
		n->budget.left_ns = left_ns;
	limit_budget(n);
}

u64 node_agent_budget_left(struct node_agent *n)
{
	return n->has_budget ? budget_left(&n->budget, node_agent_now_ns(n)) : 0;
}

static enum verdict check_budget(struct node_agent *n, const struct fleet_request *r,
				 const struct node_agent_facts *f, struct str *why)
{
	u64 cost = budget_estimate(f->nr_cpus, r->hz, r->duration_s);

	if (!n->has_budget && f->nr_cpus)
		node_agent_set_budget(n, f->nr_cpus, UINT64_MAX);
	u64 left = node_agent_budget_left(n);
	if (r->want != WANT_RECORDING || cost <= left)
		return VERDICT_ACCEPT;
	str_addf(why, "It would cost about %llu ms of CPU time; %llu ms are left of today's.",
		 (unsigned long long)(cost / NS_PER_MS), (unsigned long long)(left / NS_PER_MS));
	return VERDICT_BUDGET;
}

/* One place more for operators: nobody else can keep them out. */
static enum verdict check_room(const struct node_agent *n, const struct fleet_request *r,
			       const struct fleet_key *k, const struct node_agent_facts *f,
			       struct str *why)
{
	size_t most = POLICY_REQUESTS_MAX + (k->role == FLEET_OPERATOR);

	if (r->want == WANT_RECORDING && !f->has_recorder) {
		str_add(why, "The recorder does not run at the moment.");
		return VERDICT_FAILED;
	}
	if (r->want == WANT_CENSUS || nr_active(n) < most)
		return VERDICT_ACCEPT;
	str_addf(why, "%zu requests are being served.", nr_active(n));
	return VERDICT_BUSY;
}

/* Nonces from before the start are unknown. The check uses the uptime: setting the clock is
 * harmless. */
static bool is_before_start(const struct node_agent *n, const struct fleet_request *r, u64 wall_ms)
{
	u64 up_ms = (node_agent_now_ns(n) - n->born_ns) / NS_PER_MS + 1;

	return r->sent_ms < wall_ms && wall_ms - r->sent_ms > up_ms;
}

/* Whether a signed request is new. Anybody who has seen it may send it again. */
static enum verdict check_novelty(const struct node_agent *n, struct asker *a,
				  const struct fleet_request *r, struct str *why)
{
	u64 now = n->host->wall_ms(n->host->ctx);
	enum verdict v = policy_time(r, now, why);

	if (v)
		return v;
	if (is_before_start(n, r, now)) {
		str_add(why, "The request was sent before this node started: it may have been "
			     "served already.");
		return VERDICT_EXPIRED;
	}
	if (asker_add_nonce(a, r->nonce, now, r->sent_ms + POLICY_CLOCK_MS + 1)) {
		str_add(why, "The same request was seen before.");
		return VERDICT_REPLAY;
	}
	return VERDICT_ACCEPT;
}

/*
 * The CPU use that this node reported in the census with the same seed. The controller computes
 * ranks and weights from that number, so it must not change.
 */
static u64 promised_busy(const struct node_agent *n, struct asker *a, const struct fleet_request *r,
			 const struct selector *s)
{
	for (u32 i = 0; i < PROMISES; i++)
		if (!memcmp(a->promises[i].seed, r->sampling.seed, FLEET_ID_LEN))
			return a->promises[i].busy_ppm;
	struct promise *p = &a->promises[a->nr_promises++ % PROMISES];
	memcpy(p->seed, r->sampling.seed, FLEET_ID_LEN);
	p->busy_ppm = events_are_cpu(r->events) && n->host->busy_ppm
			      ? n->host->busy_ppm(n->host->ctx, s)
			      : 0;
	return p->busy_ppm;
}

static enum verdict check_match(const struct node_agent *n, struct asker *a,
				const struct fleet_request *r, struct selector *s, u64 *busy_ppm,
				struct str *why)
{
	if (selector_parse(r->selector, s, why))
		return VERDICT_POLICY;
	if (!selector_admits(s, n->labels))
		str_add(why, "The node's labels do not match.");
	else if (!n->host->runs(n->host->ctx, s))
		str_add(why, "No such process runs here.");
	else {
		*busy_ppm = promised_busy(n, a, r, s);
		if (sampling_takes(&r->sampling, n->name, *busy_ppm))
			return VERDICT_ACCEPT;
		str_add(why, "The request did not choose this node.");
	}
	return VERDICT_NO_MATCH;
}

static void start(struct node_agent *n, const struct fleet_request *request,
		  const struct selector *s, const struct fleet_key *key, const char *reply,
		  const struct node_agent_facts *f)
{
	struct run *r = xcalloc(1, sizeof(*r));
	const struct node_agent_work work = { ++n->last_number, &r->request, &r->selector,
					      r->person };
	static const char *const verbs[NR_WANTS] = { "census", "record", "slices of",
						     "audit list for", "stop" };
	auto_free char *what = NULL;

	*r = (struct run){ .number = work.number,
			   .request = *request,
			   .selector = *s,
			   .begun_ns = node_agent_now_ns(n),
			   .heard_ns = node_agent_now_ns(n),
			   .well_ns = node_agent_now_ns(n),
			   .cpu_ns = f->cpu_ns,
			   .busy_ppm = f->busy_ppm };
	copy_text(r->reply, sizeof(r->reply), reply);
	copy_text(r->person, sizeof(r->person), key->person);
	if (request->want == WANT_RECORDING)
		r->reserved_ns = budget_estimate(f->nr_cpus, request->hz, request->duration_s);
	budget_take(&n->budget, r->reserved_ns, node_agent_now_ns(n));
	vec_push(&n->runs, r);
	what = xasprintf("fleet: %s \"%s\"%s%s", verbs[request->want], request->selector,
			 *request->reason ? ": " : "", request->reason);
	n->host->audit(n->host->ctx, r->person, what);
	n->host->start(n->host->ctx, &work);
}

static enum verdict check(struct node_agent *n, const struct fleet_request *r,
			  const struct fleet_key *k, struct selector *s, struct node_agent_facts *f,
			  struct str *why)
{
	enum verdict v = VERDICT_ACCEPT;

	if (r->want == WANT_STOP)
		return take_stop(n, r, k, why);
	if (n->host->is_disabled(n->host->ctx)) {
		str_add(why, "The file /run/sysflame/disable exists.");
		v = VERDICT_DISABLED;
	}
	if (!v && n->policy.is_off) {
		str_addf(why, "The fleet's policy of %s disables all nodes%s%s.", n->policy.by,
			 *n->policy.reason ? ": " : "", n->policy.reason);
		v = VERDICT_DISABLED;
	}
	v = v ? v : check_match(n, askers_find(&n->askers, k->key), r, s, &f->busy_ppm, why);
	v = v ? v : policy_allows(r, s, k, &f->caps, why);
	v = v ? v : check_room(n, r, k, f, why);
	return v ? v : check_budget(n, r, f, why);
}

static void audit_refusal(const struct node_agent *n, const char *who, const char *what,
			  enum verdict v, const char *why)
{
	auto_free char *text = xasprintf("fleet: refused %s: %s: %s", what, verdict_name(v), why);

	n->host->refusal(n->host->ctx, who, text);
}

/* Lists a refusal. One entry a minute for each key and verdict has the number of the others. */
static void list_refusal(struct node_agent *n, struct asker *a, const char *who,
			 const struct reply *r)
{
	auto_free char *what = xasprintf("\"%s\"", r->request->selector);

	if (asker_lists(a, r->verdict, node_agent_now_ns(n)))
		audit_refusal(n, who, what, r->verdict, r->why);
}

static void list_others(struct node_agent *n)
{
	vec_each(at, &n->askers.all)
		for (int v = 0; v < NR_VERDICTS; v++) {
			struct asker *a = *at;
			u32 nr = asker_take_unlisted(a, v, node_agent_now_ns(n));
			if (!nr)
				continue;
			const struct fleet_key *key = keys_find(&n->keys, a->key);
			auto_free char *what = xasprintf("%u more", nr);
			audit_refusal(n, key ? key->person : "-", what, v,
				      "within a minute or more.");
		}
}

/*
 * Lists and answers a request that is refused. Anybody can repeat it, so all refusals together have
 * a limit.
 */
static void refuse(struct node_agent *n, struct asker *a, const char *who, const struct reply *r)
{
	struct asker *strangers = askers_find(&n->askers, NULL);

	list_refusal(n, a, who, r);
	if (!asker_may(strangers, node_agent_now_ns(n)))
		return;
	asker_count(strangers, node_agent_now_ns(n));
	answer(n, r, NULL);
}

/*
 * Whether the request is new and of its signer, who asks no faster than may be. A key that has
 * asked too fast costs no further check of signatures. Nobody else can make a key ask.
 */
static bool admit(struct node_agent *n, const struct fleet_key *key, const struct fleet_signed *m,
		  struct reply *to)
{
	struct asker *a = askers_find(&n->askers, key ? key->key : NULL);
	auto_str struct str why = { 0 };
	u64 now = node_agent_now_ns(n);

	if (key && !asker_may(a, now)) {
		to->verdict = VERDICT_BUSY;
		to->why = "This key sends more than one request a second.";
		refuse(n, a, key->person, to);
		return false;
	}
	if (!key || !key_has_signed(KEY_FOR_REQUEST, m)) {
		to->verdict = VERDICT_SIGNATURE;
		to->why = key ? "The signature is not right." : "This node does not know the key.";
	} else {
		to->verdict = check_novelty(n, a, to->request, &why);
		to->why = why.len ? why.at : "";
	}
	if (to->verdict)
		refuse(n, askers_find(&n->askers, NULL),
		       to->verdict == VERDICT_SIGNATURE ? "-" : key->person, to);
	else
		asker_count(a, now);
	return !to->verdict;
}

static void take_request(struct node_agent *n, const char *reply, const struct fleet_signed *m)
{
	const struct fleet_key *key = keys_find(&n->keys, m->key);
	auto_str struct str why = { 0 };
	struct fleet_request r;
	struct node_agent_facts f = { 0 };
	struct selector s;

	if (request_decode(m->request, m->len, &r) || (!*reply && r.want != WANT_STOP))
		return;
	if (!r.hz)
		r.hz = POLICY_HZ_PROFILER;
	struct reply to = { &r, reply, VERDICT_ACCEPT, "" };
	if (!admit(n, key, m, &to))
		return;
	n->host->look(n->host->ctx, &f);
	f.caps.fleet = node_agent_has_policy(n) ? &n->policy : NULL;
	to.verdict = check(n, &r, key, &s, &f, &why);
	to.why = why.len ? why.at : "";
	if (to.verdict && r.want != WANT_CENSUS &&
	    (r.want != WANT_STOP || to.verdict != VERDICT_NO_MATCH))
		list_refusal(n, askers_find(&n->askers, key->key), key->person, &to);
	if (to.verdict || r.want == WANT_CENSUS || r.want == WANT_STOP)
		answer(n, &to, &f);
	else
		start(n, &r, &s, key, reply, &f);
}

void node_agent_started(struct node_agent *n, u32 number, enum verdict v, const char *why)
{
	struct run *r = find_number(n, number);
	struct node_agent_facts f = { 0 };

	if (!r || r->state != RUN_STARTS)
		return;
	const struct reply to = { &r->request, r->reply, v, why };
	n->host->look(n->host->ctx, &f);
	f.busy_ppm = r->busy_ppm;
	answer(n, &to, &f);
	r->state = RUN_RUNS;
	if (!v)
		return;
	budget_give(&n->budget, r->reserved_ns);
	node_agent_drop(n, r);
}

/* Makes room for a result: the oldest go. */
static void drop_oldest(struct node_agent *n, size_t len)
{
	size_t all = len;

	for (size_t i = 0; i < n->runs.nr; i++)
		all += n->runs.at[i]->len;
	for (size_t i = 0; i < n->runs.nr && all > NODE_AGENT_RESULTS;) {
		struct run *r = n->runs.at[i];
		if (r->state != RUN_DONE) {
			i++;
			continue;
		}
		all -= r->len;
		node_agent_drop(n, r);
	}
}

/*
 * The estimate for the whole duration was taken out at the start. A recording that ended early
 * costs that of its time, and none costs less than the recorder used.
 */
static void settle_budget(struct node_agent *n, const struct run *r, u64 covered_ms)
{
	struct node_agent_facts f = { 0 };
	u64 whole_ms = r->request.duration_s * 1000ull;
	u64 ms = covered_ms && covered_ms < whole_ms ? covered_ms : whole_ms;

	if (!r->reserved_ns)
		return;
	n->host->look(n->host->ctx, &f);
	u64 used = f.cpu_ns > r->cpu_ns ? f.cpu_ns - r->cpu_ns : 0;
	u64 cost = budget_estimate(f.nr_cpus, r->request.hz, (u32)((ms + 999) / 1000));
	cost = cost > used ? cost : used;
	if (cost > r->reserved_ns)
		budget_take(&n->budget, cost - r->reserved_ns, node_agent_now_ns(n));
	else
		budget_give(&n->budget, r->reserved_ns - cost);
}

/* A message with half a character would be malformed. */
static void add_reason(struct run *r, const char *why)
{
	auto_free char *both = xasprintf("%s%s%s", r->stopped, *r->stopped && *why ? " " : "", why);
	auto_str struct str clean = { 0 };

	str_add(&clean, "");
	utf8_clean(&clean, both, sizeof(r->stopped) - 1);
	copy_text(r->stopped, sizeof(r->stopped), clean.at);
}

void node_agent_ended(struct node_agent *n, u32 number, const struct node_agent_result *result)
{
	struct run *r = find_number(n, number);
	struct node_agent_result out = *result;

	if (!r || r->state != RUN_RUNS)
		return;
	settle_budget(n, r, out.covered_ms);
	if (r->is_dropped) {
		node_agent_drop(n, r);
		return;
	}
	if (!out.verdict && out.len > FLEET_BLOB_MAX) {
		out.verdict = VERDICT_FAILED;
		out.why = "The profile is larger than 4 MiB: select fewer processes, or a shorter "
			  "time.";
	}
	r->state = RUN_DONE;
	r->done_ns = node_agent_now_ns(n);
	if (!out.verdict) {
		drop_oldest(n, out.len);
		r->bytes = xmemdup(out.bytes, out.len);
		r->len = out.len;
		digest(r->bytes, r->len, r->sha256);
	}
	add_reason(r, out.why);
	r->said = out;
	r->said.bytes = NULL;
	r->said.why = r->stopped;
	node_agent_say_done(n, r, &r->said);
}

void node_agent_died(struct node_agent *n, u32 number, u32 nr)
{
	struct run *r = find_number(n, number);

	if (!r || r->state != RUN_DONE || nr <= r->said.nr_died)
		return;
	r->said.nr_died = nr;
	node_agent_say_done(n, r, &r->said);
}

/* Sends a chunk. A chunk without data says that there is no such result. */
static void take_get(struct node_agent *n, const char *reply, const struct fleet_get *get)
{
	struct fleet_message m = { .kind = MESSAGE_CHUNK };
	struct run *r = node_agent_find(n, get->id);
	u8 hash[FLEET_HASH_LEN];

	if (get->instance != n->instance)
		return;
	digest(get->secret, sizeof(get->secret), hash);
	memcpy(m.chunk.id, get->id, sizeof(m.chunk.id));
	copy_text(m.chunk.node, sizeof(m.chunk.node), n->name);
	m.chunk.instance = n->instance;
	m.chunk.offset = get->offset;
	if (r && r->state == RUN_DONE && get->offset < r->len &&
	    !memcmp(hash, r->request.pull_hash, sizeof(hash))) {
		m.chunk.data = r->bytes + get->offset;
		m.chunk.len =
			get->len < r->len - get->offset ? get->len : (u32)(r->len - get->offset);
	}
	node_agent_publish(n, reply, &m);
}

void node_agent_tick(struct node_agent *n)
{
	struct node_agent_facts f = { 0 };

	list_others(n);
	if (n->runs.nr)
		n->host->look(n->host->ctx, &f);
	for (size_t i = n->runs.nr; i-- > 0;) {
		struct run *r = n->runs.at[i];
		u64 since = (r->state == RUN_DONE ? r->done_ns : r->begun_ns);
		u64 length_s = r->request.want == WANT_RECORDING ? r->request.duration_s : 0;
		if (r->state == RUN_DONE) {
			if (node_agent_now_ns(n) - since > NODE_AGENT_RESULT_S * NS_PER_SEC)
				node_agent_drop(n, r);
			continue;
		}
		const char *why = fault_of(n, r, &f);
		if (why)
			stop_run(n, r, why);
		if (!r->is_dropped && r->state == RUN_RUNS &&
		    node_agent_now_ns(n) - since > (length_s + NODE_AGENT_ENDING_S) * NS_PER_SEC)
			fail_run(n, r);
	}
}

/*
 * Checks the reply subject: with any other one, an asker could make this node publish to arbitrary
 * subjects.
 */
static bool reply_is_valid(const char *reply)
{
	return !strncmp(reply, "_INBOX.", 7) && strlen(reply) < REPLY_MAX &&
	       strcspn(reply, " *>\t\r\n") == strlen(reply);
}

void node_agent_message(struct node_agent *n, const char *reply, const void *bytes, size_t len)
{
	struct fleet_message m;

	if (message_decode(bytes, len, &m))
		return;
	if (m.kind == MESSAGE_SIGNED && (!*reply || reply_is_valid(reply)))
		take_request(n, reply, &m.sealed);
	else if (m.kind == MESSAGE_GET && reply_is_valid(reply))
		take_get(n, reply, &m.get);
	else if (m.kind == MESSAGE_POLICY)
		take_policy(n, &m.sealed);
	else if (m.kind == MESSAGE_ALIVE && (!*reply || reply_is_valid(reply)))
		node_agent_take_alive(n, reply, &m.alive);
	message_fini(&m);
}
