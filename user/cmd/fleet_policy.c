/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sysflame fleet policy`: shows the limits that an operator has signed for all nodes, or sets
 * them. Part of cmd/fleet.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/log.h"
#include "base/str.h"
#include "base/time.h"
#include "base/utf8.h"
#include "cmd/cmd.h"
#include "cmd/fleet.h"
#include "cmd/fleet_streams.h"
#include "fleet/fleet_policy.h"

struct options {
	struct fleet_request_options request;
	const char *set, *reason;
	bool help;
};

/* The latest policy that the stream keeps. */
struct kept {
	bool is_there, is_signed;
	struct fleet_policy policy;
	char fault[128]; /* of a text that is signed and malformed; "": none */
};

static void take_stored(struct asking *a, const struct link_event *e)
{
	struct kept *k = a->extra;
	auto_str struct str why = { 0 };
	char text[FLEET_POLICY_TEXT + 1] = "";
	struct fleet_message m;

	if (strcmp(e->subject, FLEET_POLICY_SUBJECT) != 0 || message_decode(e->bytes, e->len, &m))
		return;
	k->is_there = m.kind == MESSAGE_POLICY && m.sealed.len <= FLEET_POLICY_TEXT;
	if (k->is_there) {
		memcpy(text, m.sealed.request, m.sealed.len);
		k->is_signed = key_has_signed(KEY_FOR_POLICY, &m.sealed);
		if (k->is_signed && fleet_policy_parse(text, &k->policy, &why))
			copy_text(k->fault, sizeof(k->fault), why.at);
	}
	message_fini(&m);
}

/* False: the stream cannot be read, and a sentence was logged. */
static bool read_kept(struct asking *a, struct kept *out)
{
	*out = (struct kept){ 0 };
	a->extra = out;
	a->stored = take_stored;
	bool is_read = asking_stored(a, LINK_STREAM_POLICY, 1);
	if (!is_read)
		log_warn("the policy's stream %s%s", a->has_all ? "" : "cannot be read: ", a->why);
	a->stored = NULL;
	a->extra = NULL;
	return is_read;
}

static void add_limit(struct str *out, const char *name, u32 value, const char *unit)
{
	if (value)
		str_addf(out, "%-12s %u %s\n", name, value, unit);
}

static void print(const struct fleet_policy *p)
{
	auto_str struct str s = { 0 };
	char at[FLEET_TIME_TEXT];

	fleet_streams_time(p->at_ms, at);
	str_addf(&s, "%-12s %s, %s UTC\n", "signed by", p->by, at);
	if (*p->reason)
		str_addf(&s, "%-12s %s\n", "reason", p->reason);
	if (p->is_disabled)
		str_addf(&s, "%-12s yes\n", "disabled");
	add_limit(&s, "max-hz", p->max_hz, "Hz");
	add_limit(&s, "max-seconds", p->max_duration_s, "s");
	add_limit(&s, "max-cpu-ppm", p->cpu_ppm, "millionths of the CPUs of a node");
	if (*p->events)
		str_addf(&s, "%-12s %s\n", "events", p->events);
	fputs(s.at, stdout);
	if (!p->is_disabled && !p->max_hz && !p->max_duration_s && !p->cpu_ppm && !*p->events)
		puts("no limits");
}

/* How many nodes answer, and how many of them hold this policy. */
struct holders {
	size_t nr_answered, nr;
};

static struct holders count_holders(struct asking *a, const struct fleet_policy *p)
{
	const struct controller_order order = asking_order(a, WANT_CENSUS, "");
	struct node_names others = { 0 };
	struct holders held = { 0 };

	a->is_silent = true;
	if (asking_add(a, &order) ||
	    (asking_run(a, CONTROLLER_ENDED) && !controller_view(a->controllers[0]).nr_census))
		return held;
	const struct gather *census = controller_view(a->controllers[0]).census;
	held.nr_answered = census->nodes.nr;
	vec_each(n, &census->nodes) {
		if ((*n)->policy_ms == p->at_ms)
			held.nr++;
		else
			node_names_add(&others, (*n)->name);
	}
	auto_free char *names = node_names_text(&others);
	log_info("%zu of %zu nodes that answer hold this policy", held.nr, held.nr_answered);
	if (others.all.nr)
		log_warn("without it: %s; they do not take the key for an operator's: see their "
			 "logs",
			 names);
	node_names_fini(&others);
	return held;
}

static int show(struct asking *a)
{
	struct kept kept;

	if (!read_kept(a, &kept))
		return EXIT_FAILED;
	if (!kept.is_there) {
		puts("no policy: each node holds its own limits");
		return 0;
	}
	if (!kept.is_signed) {
		log_error("fleet policy: the signature of the latest policy is not right: nodes "
			  "refuse it");
		return EXIT_FAILED;
	}
	if (*kept.fault) {
		log_error("fleet policy: the latest policy is malformed: nodes refuse it: %s",
			  kept.fault);
		return EXIT_FAILED;
	}
	print(&kept.policy);
	count_holders(a, &kept.policy);
	return 0;
}

/* Nodes get it at once, and the stream for those that connect later. */
static int send(struct asking *a, const struct fleet_policy *p)
{
	struct fleet_message m = { .kind = MESSAGE_POLICY };
	auto_str struct str bytes = { 0 }, text = { 0 };
	struct kept before, after;

	if (fleet_policy_sign(p, a->private_key, &m.sealed)) {
		log_error(
			"fleet policy: it is longer than %d bytes or malformed, or the key cannot "
			"sign it",
			FLEET_POLICY_TEXT);
		return EXIT_FAILED;
	}
	message_encode(&m, &bytes);
	bool has_stream = read_kept(a, &before); /* makes it, if it is missing */
	link_publish(a->link, FLEET_POLICY_SUBJECT, "", bytes.at, bytes.len);
	fleet_policy_print(p, &text);
	auto_free char *asked = xasprintf("fleet: asked for the policy %s", text.at);
	asked_publish(a->link, a->person, asked);
	bool is_kept = has_stream && read_kept(a, &after) && after.policy.at_ms == p->at_ms;
	if (!is_kept)
		log_warn("the policy was not kept: nodes that connect later do not get it");
	const struct holders held = count_holders(a, p);
	if (held.nr_answered && !held.nr)
		log_error("fleet policy: no node took it%s",
			  is_kept ? ": set another one, or nodes that connect later have none"
				  : "");
	return held.nr || (is_kept && !held.nr_answered) ? 0 : EXIT_FAILED;
}

static int parse_limits(const struct options *o, struct fleet_policy *out)
{
	auto_str struct str why = { 0 };

	if (fleet_policy_parse(o->set, out, &why)) {
		log_error("fleet policy: --set: %s", why.at);
		return EXIT_USAGE;
	}
	if (out->nr_unknown || out->at_ms || *out->by || *out->reason) {
		log_error("fleet policy: --set takes disabled=yes, max-hz=, max-seconds=, "
			  "max-cpu-ppm= and events=");
		return EXIT_USAGE;
	}
	if (o->reason && !utf8_is_clean(o->reason, sizeof(out->reason) - 1)) {
		log_error("fleet policy: --reason takes 127 bytes of UTF-8, without control "
			  "characters");
		return EXIT_USAGE;
	}
	copy_text(out->reason, sizeof(out->reason), o->reason ?: "");
	return 0;
}

static int policy(const struct options *o)
{
	struct asking a = { 0 };
	struct fleet_policy p = { 0 };

	if (o->reason && !o->set) {
		log_error("fleet policy: --reason needs --set LIMITS");
		return EXIT_USAGE;
	}
	int status = o->set ? parse_limits(o, &p) : 0;
	status = status ?: asking_begin(&a, &o->request, NULL);
	if (!status) {
		p.at_ms = time_wall_ns() / NS_PER_MS;
		copy_text(p.by, sizeof(p.by), *a.person ? a.person : "operator");
		status = o->set ? send(&a, &p) : show(&a);
	}
	asking_end(&a);
	return status;
}

int fleet_policy_main(int argc, char **argv)
{
	struct options o = { .request = { .wait_s = 2 } };
	const struct opt opts[] = {
		FLEET_OPTS(&o.request),
		{ 0, "set", OPT_TEXT, &o.set, "LIMITS",
		  "replace the policy, as in max-hz=49,events=cpu+offcpu; '' lifts all limits" },
		{ 0, "reason", OPT_STRING, &o.reason, "TEXT", "shown to those who are refused" },
		{ 'h', "help", OPT_BOOL, &o.help, NULL, "show this help" },
	};
	int status = asking_parse(
		"policy", opts, ARRAY_SIZE(opts), argc, argv, &o.help,
		"usage: sysflame fleet policy --nats URL --fleet-dir DIR [--set LIMITS]\n\n"
		"Shows the limits that hold for all nodes, or sets them, which takes an operator.\n"
		"A policy can only lower what a node allows. LIMITS are joined by commas:\n\n"
		"  disabled=yes     nodes serve no request of the fleet\n"
		"  max-hz=N         1 to 199\n"
		"  max-seconds=N    1 to 300\n"
		"  max-cpu-ppm=N    1 to 1000 millionths of a node's CPUs, over a day\n"
		"  events=A+B       recordings of these events only\n");

	return status >= 0 ? status : policy(&o);
}
