/* SPDX-License-Identifier: Apache-2.0 */
/* One request to a fleet. */
#include "fleet/controller/controller.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/str.h"
#include "base/time.h"
#include "base/types.h"
#include "fleet/controller/choice.h"
#include "fleet/controller/coverage.h"
#include "fleet/controller/gather.h"
#include "fleet/wire/key.h"
#include "fleet/wire/message.h"
#include "fleet/wire/policy.h"
#include "fleet/wire/selector.h"

#define SILENCE_NS    (500 * NS_PER_MS) /* after all known nodes have answered: others may, too */
#define FIRST_NS      (10 * NS_PER_SEC) /* for the first answer: many nodes check a signature */
#define STEP_NS       (250 * NS_PER_MS) /* of silence between two steps, at most */
#define ALIVE_NS      (15 * NS_PER_SEC)
#define REMIND_NS     (5 * NS_PER_SEC)
#define SLICES_HZ_MAX 1000
#define SLICES_MORE_S 1200 /* two slices of 10 min at the range's ends */
#define LIST_NODES    200  /* more nodes have no sums by method */
#define TAG_NODES     20   /* with more nodes, samples lose the label of their node */

/* The request to all nodes that match. The caller adds id, time and the hash of its secret. */
static struct fleet_request order_request(const struct controller_order *o, enum fleet_want want)
{
	struct fleet_request r = { .want = want,
				   .hz = o->hz,
				   .duration_s = o->duration_s,
				   .ago_s = o->ago_s,
				   .sampling.to_rank = UINT32_MAX };

	memcpy(r.selector, o->selector, sizeof(r.selector));
	memcpy(r.events, o->events, sizeof(r.events));
	memcpy(r.reason, o->reason, sizeof(r.reason));
	memcpy(r.sampling.seed, o->sampling_seed, sizeof(r.sampling.seed));
	memcpy(r.target, o->target, sizeof(r.target));
	return r;
}

struct controller {
	struct controller_order order;
	const struct controller_host *host;
	enum controller_phase phase;
	u8 secret[FLEET_ID_LEN], pull_hash[FLEET_HASH_LEN];
	struct gather census, nodes;
	struct gather_host gather_host;
	bool has_nodes;       /* `census` and `nodes` are in use */
	u64 now_ns, phase_ns; /* its begin */
	u64 stepped_ns, silent_ns, nr_heard, alive_ns;
	bool has_heard; /* in this phase */
	struct choice choice;
	u32 wave;
	u64 wave_ms; /* its begin, since 1970 */
	bool is_stopping, is_noted;
	struct combine combine;
	char *error, *stopped;
	bool is_usage;
};

static struct gather *gather_of_phase(struct controller *c)
{
	return c->phase == CONTROLLER_CENSUS ? &c->census : &c->nodes;
}

static u64 count_heard(struct controller *c)
{
	return gather_of_phase(c)->nr_answers + c->nodes.pulls.nr_chunks;
}

static void enter(struct controller *c, enum controller_phase phase)
{
	c->phase = phase;
	c->phase_ns = c->now_ns;
	c->silent_ns = 0;
	c->nr_heard = count_heard(c);
	c->has_heard = false;
}

static u64 since(const struct controller *c)
{
	return c->now_ns - c->phase_ns;
}

__attribute__((format(printf, 2, 3))) static void report(struct controller *c, const char *fmt, ...)
{
	auto_free char *text = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		abort();
	va_end(args);
	c->host->report(c->host->ctx, text);
}

/* Takes the sentence over. */
static void fail(struct controller *c, char *error, bool is_usage)
{
	free(c->error);
	c->error = error;
	c->is_usage = is_usage;
	enter(c, CONTROLLER_ENDED);
}

static bool random_bytes(void *at, size_t len)
{
	return getrandom(at, len, 0) == (ssize_t)len;
}

static void publish(void *ctx, const char *subject, const char *reply, const void *bytes,
		    size_t len)
{
	struct controller *c = ctx;

	if (!c->host->request)
		c->host->publish(c->host->ctx, subject, reply, bytes, len);
}

static struct fleet_request request_of(const struct controller *c, enum fleet_want want)
{
	struct fleet_request r = order_request(&c->order, want);

	r.sent_ms = c->host->wall_ms(c->host->ctx);
	memcpy(r.pull_hash, c->pull_hash, sizeof(r.pull_hash));
	return r;
}

#define TO_ALL "sysflame.v1.req.all"

static int publish_signed(struct controller *c, struct fleet_request *r, const char *subject,
			  const char *reply)
{
	auto_str struct str bytes = { 0 };

	if (!random_bytes(r->nonce, sizeof(r->nonce)) ||
	    request_seal(r, c->host->private_key, &bytes))
		return -EIO;
	publish(c, subject, reply, bytes.at, bytes.len);
	return 0;
}

static int send_request(struct controller *c, struct fleet_request *r)
{
	auto_free char *reply = xasprintf("%s.answer", c->host->inbox);

	if (!c->host->request)
		return publish_signed(c, r, TO_ALL, reply);
	c->host->request(c->host->ctx, r);
	return 0;
}

/* `id`: the id of the request that follows the census. */
static void init_nodes(struct controller *c, const u8 *census_id, const u8 *id)
{
	gather_init(&c->census, &c->gather_host, census_id, c->secret, c->host->inbox);
	gather_init(&c->nodes, &c->gather_host, id, c->secret, c->host->inbox);
	c->nodes.skips_others = true;
	c->nodes.census = &c->census;
	c->census.selector = c->nodes.selector = c->order.selector;
	c->nodes.asked_ms = c->order.duration_s * 1000ull;
	c->has_nodes = true;
}

static int begin_census(struct controller *c)
{
	struct fleet_request r =
		request_of(c, c->order.want == WANT_STOP ? WANT_STOP : WANT_CENSUS);
	u8 id[FLEET_ID_LEN];

	if (!random_bytes(r.id, sizeof(r.id)) || !random_bytes(id, sizeof(id)))
		return -EIO;
	init_nodes(c, r.id, id);
	return send_request(c, &r);
}

/* Sends ALIVE to the nodes of all waves. */
static void send_alive(struct controller *c)
{
	struct fleet_message m = { .kind = MESSAGE_ALIVE };
	auto_str struct str bytes = { 0 };

	memcpy(m.alive.id, c->nodes.id, sizeof(m.alive.id));
	message_encode(&m, &bytes);
	publish(c, "sysflame.v1.ctl", "", bytes.at, bytes.len);
	c->alive_ns = c->now_ns;
}

/* Sends STOP, for which nobody waits for an answer: DONE follows. */
static void send_stop(struct controller *c, const char *subject)
{
	struct fleet_request r = request_of(c, WANT_STOP);

	memcpy(r.target, c->nodes.id, sizeof(r.target));
	if (!c->host->request && random_bytes(r.id, sizeof(r.id)))
		publish_signed(c, &r, subject, "");
}

/* A gather_host.stop. */
static void stop_node(void *ctx, const char *node)
{
	auto_free char *subject = xasprintf("sysflame.v1.node.%s.get", node);

	send_stop(ctx, subject);
}

/*
 * The most CPU time, in s, that a node's result may have: twice the request's duration, because a
 * recording may last a little longer. 0 if the event is not `cpu`.
 */
static u64 most_cpu_s(const struct controller_order *o, const struct gather_node *n)
{
	u64 s = o->duration_s + (o->want == WANT_RECORDING ? 5 : SLICES_MORE_S);

	return strcmp(o->events, "cpu") ? 0 : 2 * s * (n->nr_cpus ?: FLEET_CPUS_MAX);
}

static int deliver(void *ctx, const struct gather_node *n)
{
	struct controller *c = ctx;

	if (c->order.want == WANT_AUDIT) {
		if (c->host->text)
			c->host->text(c->host->ctx, n->name, n->pull.bytes, n->pull.size);
		return 0;
	}
	u64 cpu_s = most_cpu_s(&c->order, n);
	const struct spool_result r = {
		.node = n->name,
		.labels = n->labels,
		.weight_ppm = gather_weight_ppm(&c->nodes, n),
		.chance_ppb = sampling_chance(&c->choice.sampling, n->busy_ppm),
		.bytes = n->pull.bytes,
		.len = n->pull.size,
		.most_samples =
			cpu_s * (c->order.want == WANT_RECORDING ? c->order.hz : SLICES_HZ_MAX),
		.most_ns = cpu_s * NS_PER_SEC,
	};

	return combine_add(&c->combine, &r);
}

static int init(struct controller *c, const struct controller_order *o,
		const struct controller_host *host)
{
	c->order = *o;
	c->host = host;
	c->gather_host = (struct gather_host){ c, publish, stop_node, deliver };
	c->now_ns = c->stepped_ns = host->mono_ns(host->ctx);
	enter(c, CONTROLLER_CENSUS);
	int err = combine_init(&c->combine, host->workers);
	return err ?: host->previews ? combine_start_preview(&c->combine) : 0;
}

int controller_start(const struct controller_order *o, const struct controller_host *host,
		     struct controller **out)
{
	static const u8 none[FLEET_ID_LEN];
	struct controller *c = xcalloc(1, sizeof(*c));
	int err = init(c, o, host);

	if (!random_bytes(c->secret, sizeof(c->secret)) ||
	    (!memcmp(c->order.sampling_seed, none, sizeof(none)) &&
	     !random_bytes(c->order.sampling_seed, sizeof(c->order.sampling_seed))))
		err = err ?: -EIO;
	if (host->filters)
		combine_filter(&c->combine, o->selector);
	digest(c->secret, sizeof(c->secret), c->pull_hash);
	err = err ?: begin_census(c);
	if (err) {
		controller_free(c);
		return err;
	}
	*out = c;
	return 0;
}

void controller_free(struct controller *c)
{
	if (!c)
		return;
	if (c->has_nodes) {
		gather_fini(&c->nodes);
		gather_fini(&c->census);
	}
	combine_fini(&c->combine);
	free(c->error);
	free(c->stopped);
	explicit_bzero(c->secret, sizeof(c->secret));
	free(c);
}

double controller_share(const struct controller *c)
{
	const struct controller_order *o = &c->order;
	double nr = c->choice.fleet.nr, wanted = o->nr_nodes;

	if (o->nr_samples > 0 && !(wanted > 0))
		wanted = choice_nodes_of(&c->choice, o->nr_samples, (double)o->hz * o->duration_s);
	if (o->within > 0)
		wanted = choice_nodes_within(&c->choice, o->within);
	double share = wanted > 0                              ? wanted / nr
		       : o->share > 0                          ? o->share
		       : nr > POLICY_NODES && !o->is_confirmed ? POLICY_NODES / nr
							       : 1;
	return share < 1 ? share : 1;
}

static void send_wave(struct controller *c)
{
	struct fleet_request r = request_of(c, c->order.want);

	r.sampling = c->choice.sampling;
	r.sampling.from_rank = c->wave ? c->choice.waves[c->wave - 1].to_rank : 0;
	r.sampling.to_rank = c->choice.waves[c->wave].to_rank;
	r.nr_nodes = (u32)c->choice.nr_chosen;
	memcpy(r.id, c->nodes.id, sizeof(r.id));
	if (send_request(c, &r)) {
		fail(c, xstrdup("the request cannot be signed"), false);
		return;
	}
	c->nodes.sampling = r.sampling;
	c->alive_ns = c->now_ns;
	c->wave_ms = r.sent_ms;
	enter(c, CONTROLLER_RECORDS);
}

static bool is_estimate(const struct controller *c)
{
	return c->choice.nr_chosen < c->choice.fleet.nr;
}

/* Call it when no further wave starts: weights are final then, and results can be merged. */
static void settle(struct controller *c)
{
	c->combine.holds = false;
	c->combine.order.scales = is_estimate(c);
	c->combine.order.reach = choice_reach(&c->choice);
	c->combine.order.lists_nodes = c->choice.nr_chosen <= LIST_NODES;
	c->combine.order.tags_nodes = c->choice.nr_chosen <= TAG_NODES;
}

void controller_choose(struct controller *c, double share)
{
	double nr = floor(share * c->choice.fleet.nr + 0.5);
	u32 nr_chosen = nr < 1 ? 1 : (u32)nr;
	bool in_waves = c->order.has_waves && c->order.want == WANT_RECORDING &&
			nr_chosen > CONTROLLER_WAVES_FROM;
	bool is_known = in_waves && canary_knows(c->host->canary, c->order.events, c->order.hz,
						 c->host->wall_ms(c->host->ctx), &c->census);

	if (c->phase != CONTROLLER_CHOICE || !(share > 0))
		return;
	if (nr_chosen > POLICY_NODES && !c->order.is_confirmed) {
		fail(c,
		     xasprintf("that would be %u nodes; more than %d take --yes and an operator",
			       nr_chosen, POLICY_NODES),
		     true);
		return;
	}
	choice_plan(&c->choice, nr_chosen, in_waves && !is_known);
	c->combine.holds = c->choice.nr_waves > 1;
	if (is_known)
		report(c, "all nodes at once: their versions recorded the same within a day");
	if (c->choice.nr_waves == 1)
		settle(c);
	else
		report(c, "%zu nodes in %u waves, %u s apart; --no-waves records all at once",
		       c->choice.nr_chosen, c->choice.nr_waves, c->order.watch_s);
	send_wave(c);
}

static void choose_alone(struct controller *c)
{
	double within = c->order.within;

	if (within > 0 && !(choice_nodes_within(&c->choice, within) > 0)) {
		fail(c,
		     xasprintf("--within: %u of %u nodes do not know their use of CPUs; %d %% may",
			       c->choice.fleet.nr_unknown, c->choice.fleet.nr,
			       ESTIMATE_UNKNOWN_PCT),
		     true);
		return;
	}
	if (within > 0)
		report(c, "%.0f of %u nodes are needed for +- %.3g %%",
		       fmin(c->choice.fleet.nr, choice_nodes_within(&c->choice, within)),
		       c->choice.fleet.nr, within * 100);
	controller_choose(c, controller_share(c));
}

static void end_census(struct controller *c)
{
	const struct gather *g = &c->census;
	const struct gather_node *refuses = gather_refuses_key(g);

	choice_take(&c->choice, g, c->order.sampling_seed, c->order.waits);
	census_text_report(g, c->host->report, c->host->ctx);
	if (g->nr_twins)
		report(c, "two nodes have the same name; only one of them counts");
	if (!g->nodes.nr) {
		fail(c, xstrdup("no node answered"), false);
	} else if (refuses) {
		fail(c, xasprintf("%s: %s", refuses->name, refuses->why), false);
	} else if (c->order.want == WANT_STOP) {
		enter(c, CONTROLLER_ENDED);
	} else if (!c->choice.fleet.nr) {
		fail(c,
		     xasprintf("%zu node%s answered, none matches \"%s\"", g->nodes.nr,
			       plural(g->nodes.nr), c->order.selector),
		     false);
	} else if (c->order.want == WANT_CENSUS) {
		enter(c, CONTROLLER_ENDED);
	} else {
		enter(c, CONTROLLER_CHOICE);
		if (!c->order.waits)
			choose_alone(c);
	}
}

/* Nodes of the waves so far. */
static u32 nr_asked(const struct controller *c)
{
	return choice_asked(&c->choice, c->wave);
}

static bool is_last_wave(const struct controller *c)
{
	return c->wave + 1 >= c->choice.nr_waves;
}

/* Whether no answer has arrived for as long as people want to wait. */
static bool is_silent(const struct controller *c)
{
	u64 most = c->order.answers_ms * NS_PER_MS;

	return c->silent_ns >= (c->has_heard || most > FIRST_NS ? most : FIRST_NS);
}

static bool census_has_ended(const struct controller *c)
{
	return is_silent(c) || (c->silent_ns >= SILENCE_NS && census_is_complete(&c->census));
}

static void begin_merging(struct controller *c)
{
	auto_free char *late = census_late_text(&c->nodes);

	gather_give_up(&c->nodes);
	if (late)
		report(c, "%s", late);
	enter(c, CONTROLLER_MERGES);
}

static void next_wave(struct controller *c)
{
	c->wave++;
	if (is_last_wave(c))
		settle(c);
	send_wave(c);
}

static void stop_waves(struct controller *c, char *why)
{
	c->stopped = why;
	report(c, "%s", why);
	choice_end(&c->choice, c->wave);
	settle(c);
	enter(c, CONTROLLER_FETCHES);
}

/* Ends the request early if too many nodes have failed so far: later waves do not start. */
static void judge_wave(struct controller *c)
{
	u32 asked = nr_asked(c), failed = 0, heard = 0, died = 0;

	vec_each(n, &c->nodes.nodes) {
		heard++;
		failed += (*n)->verdict == VERDICT_FAILED;
		died += (*n)->nr_died;
	}
	failed += asked > heard ? asked - heard : 0;
	if (died) {
		stop_waves(c, xasprintf("%u sampled JVM%s crashed: no further wave was started",
					died, plural(died)));
	} else if (choice_fail_chance(failed, asked) < CONTROLLER_CHANCE) {
		stop_waves(c, xasprintf("%u of %u nodes failed: no further wave was started",
					failed, asked));
	} else {
		if (failed && asked == 1) {
			report(c, "the first node failed: another one records alone");
			choice_add_canary(&c->choice);
		}
		next_wave(c);
	}
}

static u64 wave_length_ns(const struct controller *c)
{
	bool records = c->order.want == WANT_RECORDING && !c->is_stopping;

	return records ? c->order.duration_s * NS_PER_SEC : 0;
}

/*
 * Whatever arrives is progress, and so is a merge for which fetching waits. While this process does
 * not get the CPU, answers wait for it: a long time since the last step is no silence.
 */
static void listen(struct controller *c)
{
	u64 nr = count_heard(c), passed_ns = c->now_ns - c->stepped_ns;

	c->stepped_ns = c->now_ns;
	c->silent_ns += passed_ns < STEP_NS ? passed_ns : STEP_NS;
	if (nr != c->nr_heard || c->nodes.pulls.is_paused)
		c->silent_ns = 0;
	c->has_heard |= nr != c->nr_heard;
	c->nr_heard = nr;
}

static bool is_stuck(const struct controller *c)
{
	return c->silent_ns >= CONTROLLER_SETTLE_S * NS_PER_SEC;
}

static bool wave_has_ended(struct controller *c)
{
	bool all = c->nodes.nodes.nr >= nr_asked(c);

	/* While answers may still come, a node that works does not end the phase. */
	if (!all && !is_silent(c))
		return false;
	return !gather_count(&c->nodes, GATHER_WORKS) ||
	       (since(c) >= wave_length_ns(c) + CONTROLLER_SETTLE_S * NS_PER_SEC && is_stuck(c));
}

/* A DONE or STOP may be lost with a connection: nodes that should have ended are asked again. */
static void stay_in_touch(struct controller *c)
{
	bool is_over = since(c) >= wave_length_ns(c);

	if (c->now_ns - c->alive_ns < (is_over ? REMIND_NS : ALIVE_NS))
		return;
	if (!is_over) {
		send_alive(c);
		return;
	}
	if (c->is_stopping)
		gather_stop(&c->nodes);
	gather_remind(&c->nodes);
	c->alive_ns = c->now_ns;
}

static void step_wave(struct controller *c)
{
	stay_in_touch(c);
	if (!wave_has_ended(c))
		return;
	if (is_last_wave(c) || c->is_stopping)
		enter(c, CONTROLLER_FETCHES);
	else
		enter(c, CONTROLLER_WATCHES);
}

static void step_fetch(struct controller *c)
{
	if (gather_count(&c->nodes, GATHER_READY) && !is_stuck(c))
		return;
	begin_merging(c);
}

static void step_merge(struct controller *c)
{
	const struct controller_state state = controller_view(c);

	if (!combine_is_done(&c->combine))
		return;
	if (c->combine.error) {
		fail(c, xstrdup(c->combine.error), false);
		return;
	}
	if (!c->is_noted)
		combine_mark_spoiled(&c->combine, &c->nodes);
	if (combine_is_empty(&c->combine)) {
		fail(c, xstrdup("no node has samples of the selected processes"), false);
	} else if (!gather_count(&c->nodes, GATHER_DELIVERED)) {
		fail(c, xstrdup("no node delivered a profile"), false);
	} else if (c->order.want == WANT_AUDIT || c->is_noted) {
		if (c->order.want == WANT_RECORDING &&
		    canary_learn(c->host->canary, c->order.events, c->order.hz,
				 c->host->wall_ms(c->host->ctx), &c->nodes))
			report(c, "the next recording has waves again: %s cannot be written",
			       c->host->canary->path);
		enter(c, CONTROLLER_ENDED);
	} else if (coverage_add(&c->combine.next, &state, c->order.selector)) {
		fail(c, xstrdup("there is no memory for the notes"), false);
	} else {
		c->is_noted = true;
		c->combine.order.is_last = true;
		c->combine.order.factor = state.is_estimate ? coverage_factor(&state) : 0;
		combine_step(&c->combine, true);
	}
}

static void stop_recordings(struct controller *c)
{
	send_stop(c, TO_ALL);
	if (c->host->stop)
		c->host->stop(c->host->ctx, c->nodes.id);
	c->alive_ns = c->now_ns;
	if (!is_last_wave(c)) {
		choice_end(&c->choice, c->wave);
		settle(c);
	}
	enter(c, CONTROLLER_RECORDS);
}

void controller_stop(struct controller *c)
{
	if (c->phase == CONTROLLER_CENSUS || c->phase == CONTROLLER_CHOICE) {
		fail(c, xstrdup("it was stopped before it began"), false);
		return;
	}
	bool is_again = c->is_stopping;
	c->is_stopping = true;
	if (c->phase <= CONTROLLER_WATCHES && !is_again) {
		stop_recordings(c);
	} else if (c->phase <= CONTROLLER_WATCHES) {
		enter(c, CONTROLLER_FETCHES);
	} else if (c->phase == CONTROLLER_FETCHES && is_again) {
		begin_merging(c);
	}
}

#define SAVED_MAGIC 0x31565346u

/*
 * The head of a saved request. controller_save writes a SHA-256, this struct, and the census
 * (gather_save).
 */
struct saved {
	u32 magic, size; /* of this struct: a file of another build is refused */
	struct controller_order order;
	u8 census_id[FLEET_ID_LEN], id[FLEET_ID_LEN], secret[FLEET_ID_LEN];
	char inbox[64];
	u64 wave_ms;
	struct sampling sampling;
	struct choice_wave waves[WAVES_MAX];
	u64 nr_chosen;
	u32 nr_waves, wave;
	bool is_cut;
};

void controller_save(const struct controller *c, struct str *out)
{
	struct saved s = { .magic = SAVED_MAGIC,
			   .size = sizeof(s),
			   .order = c->order,
			   .wave_ms = c->wave_ms,
			   .sampling = c->choice.sampling,
			   .nr_chosen = c->choice.nr_chosen,
			   .nr_waves = c->choice.nr_waves,
			   .wave = c->wave,
			   .is_cut = c->choice.is_cut };

	memcpy(s.census_id, c->census.id, sizeof(s.census_id));
	memcpy(s.id, c->nodes.id, sizeof(s.id));
	memcpy(s.secret, c->secret, sizeof(s.secret));
	memcpy(s.waves, c->choice.waves, sizeof(s.waves));
	copy_text(s.inbox, sizeof(s.inbox), c->host->inbox);
	u8 hash[FLEET_HASH_LEN] = { 0 };
	size_t begin = out->len;
	str_add_bytes(out, hash, sizeof(hash));
	str_add_bytes(out, &s, sizeof(s));
	explicit_bzero(&s, sizeof(s));
	gather_save(&c->census, out);
	digest(out->at + begin + sizeof(hash), out->len - begin - sizeof(hash),
	       (u8 *)out->at + begin);
}

static bool saved_read(const void *bytes, size_t len, struct saved *s)
{
	const u8 *body = (const u8 *)bytes + FLEET_HASH_LEN;
	u8 hash[FLEET_HASH_LEN];

	if (len < sizeof(hash) + sizeof(*s))
		return false;
	digest(body, len - sizeof(hash), hash);
	memcpy(s, body, sizeof(*s));
	return !memcmp(hash, bytes, sizeof(hash)) && s->magic == SAVED_MAGIC &&
	       s->size == sizeof(*s);
}

bool controller_saved(const void *bytes, size_t len, char inbox[64])
{
	struct saved s;
	bool is_right = saved_read(bytes, len, &s);

	if (is_right)
		memcpy(inbox, s.inbox, sizeof(s.inbox));
	explicit_bzero(&s, sizeof(s));
	return is_right;
}

/* A node of the census, which also works for the request if it was asked to. */
static void take_saved(struct controller *c, struct fleet_message *m)
{
	struct sampling asked = c->nodes.sampling;

	gather_take_direct(&c->census, m, NULL);
	asked.from_rank = 0;
	if (m->answer.verdict || !sampling_takes(&asked, m->answer.node, m->answer.busy_ppm))
		return;
	memcpy(m->answer.id, c->nodes.id, sizeof(m->answer.id));
	gather_take_direct(&c->nodes, m, NULL);
}

static int take_saved_nodes(struct controller *c, const u8 *at, size_t len)
{
	while (len) {
		struct fleet_message m;
		u32 size = 0;
		if (len >= sizeof(size))
			memcpy(&size, at, sizeof(size));
		if (!size || size > len - sizeof(size) ||
		    message_decode(at + sizeof(size), size, &m))
			return -EBADMSG;
		if (m.kind == MESSAGE_ANSWER)
			take_saved(c, &m);
		message_fini(&m);
		at += sizeof(size) + size;
		len -= sizeof(size) + size;
	}
	return 0;
}

static void take_saved_choice(struct controller *c, const struct saved *s)
{
	choice_take(&c->choice, &c->census, c->order.sampling_seed, c->order.waits);
	c->choice.sampling = s->sampling;
	c->choice.nr_chosen = s->nr_chosen;
	c->choice.nr_waves = s->nr_waves;
	c->choice.is_cut = s->is_cut;
	memcpy(c->choice.waves, s->waves, sizeof(s->waves));
}

/* Continues the wave from the state that it has reached by now. */
static void resume_wave(struct controller *c)
{
	u64 now_ms = c->host->wall_ms(c->host->ctx);
	u64 since_ns = now_ms > c->wave_ms ? (now_ms - c->wave_ms) * NS_PER_MS : 0;

	c->combine.holds = c->choice.nr_waves > 1;
	if (c->wave + 1 == c->choice.nr_waves)
		settle(c);
	enter(c, CONTROLLER_RECORDS);
	c->phase_ns -= since_ns < c->now_ns ? since_ns : c->now_ns;
	send_alive(c);
	gather_remind(&c->nodes);
}

int controller_resume(const void *bytes, size_t len, const struct controller_host *host,
		      struct controller **out)
{
	struct saved s;

	if (!saved_read(bytes, len, &s))
		return -EBADMSG;
	struct controller *c = xcalloc(1, sizeof(*c));
	int err = init(c, &s.order, host);
	memcpy(c->secret, s.secret, sizeof(c->secret));
	digest(c->secret, sizeof(c->secret), c->pull_hash);
	init_nodes(c, s.census_id, s.id);
	c->wave = s.wave;
	c->wave_ms = s.wave_ms;
	c->nodes.sampling = s.sampling;
	c->nodes.sampling.to_rank = s.waves[s.wave].to_rank;
	size_t head = FLEET_HASH_LEN + sizeof(s);
	err = err ?: take_saved_nodes(c, (const u8 *)bytes + head, len - head);
	take_saved_choice(c, &s);
	explicit_bzero(&s, sizeof(s));
	if (err) {
		controller_free(c);
		return err;
	}
	resume_wave(c);
	*out = c;
	return 0;
}

void controller_take(struct controller *c, const struct fleet_message *m, const void *result)
{
	/* The merge has begun, and its counts are fixed. The result of this node came too late. */
	if (c->phase >= CONTROLLER_MERGES && m->kind == MESSAGE_DONE)
		return;
	gather_take_direct(gather_of_phase(c), m, result);
}

void controller_message(struct controller *c, const char *subject, const void *bytes, size_t len)
{
	struct gather *g = gather_of_phase(c);
	struct fleet_message m;
	int err = message_decode(bytes, len, &m);

	if (err == -EPROTONOSUPPORT)
		gather_take_foreign(g, subject);
	if (err)
		return;
	gather_take(g, subject, &m);
	message_fini(&m);
}

void controller_take_seen(struct controller *c, const char *node)
{
	gather_take_seen(&c->census, node);
}

static void step_phase(struct controller *c)
{
	switch (c->phase) {
	case CONTROLLER_CENSUS:
		if (census_has_ended(c))
			end_census(c);
		break;
	case CONTROLLER_RECORDS:
		step_wave(c);
		break;
	case CONTROLLER_WATCHES:
		if (since(c) >= c->order.watch_s * NS_PER_SEC)
			judge_wave(c);
		break;
	case CONTROLLER_FETCHES:
		step_fetch(c);
		break;
	case CONTROLLER_MERGES:
		step_merge(c);
		break;
	case CONTROLLER_CHOICE:
	case CONTROLLER_ENDED:
		break;
	}
}

void controller_step(struct controller *c)
{
	c->now_ns = c->host->mono_ns(c->host->ctx);
	if (c->phase >= CONTROLLER_RECORDS && c->phase < CONTROLLER_MERGES) {
		c->nodes.pulls.is_paused = combine_is_full(&c->combine);
		gather_tick(&c->nodes, c->now_ns);
	}
	listen(c);
	combine_step_preview(&c->combine, c->now_ns);
	if (c->phase < CONTROLLER_ENDED)
		combine_step(&c->combine, c->phase == CONTROLLER_MERGES);
	step_phase(c);
}

struct controller_state controller_view(const struct controller *c)
{
	return (struct controller_state){
		.phase = c->phase,
		.wave = c->wave,
		.nr_waves = c->choice.nr_waves,
		.nr_census = c->census.nodes.nr,
		.nr_matched = c->choice.fleet.nr,
		.nr_chosen = c->choice.nr_chosen,
		.p = c->choice.fleet.nr ? (double)c->choice.nr_chosen / c->choice.fleet.nr : 0,
		.is_estimate = is_estimate(c),
		.within = c->order.within,
		.choice = &c->choice,
		.error = c->error,
		.is_usage = c->is_usage,
		.stopped = c->stopped,
		.census = &c->census,
		.nodes = &c->nodes,
		.totals = c->combine.totals.at,
		.nr_totals = c->combine.totals.nr,
		.table = c->combine.order.lists_nodes ? &c->combine.table : NULL,
		.preview = c->combine.preview,
	};
}

const struct str *controller_profile(const struct controller *c)
{
	return &c->combine.profile;
}
