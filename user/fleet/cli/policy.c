/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sysflame fleet policy`: shows the limits that an operator has signed for all nodes, or sets
 * them.
 * Part of cmd/cmd.h.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "base/time.h"
#include "cmd/cmd.h"
#include "fleet/cli/request.h"
#include "fleet/wire/entry.h"
#include "fleet/wire/policy.h"

#define UNSET INT_MIN

struct options {
	struct connection_options connection;
	const char *events, *reason;
	int max_hz, max_seconds, max_cpu_ppm;
	bool off, lift, help;
};

/* The latest policy that the stream keeps. */
struct kept {
	bool is_there;
	const char *fault; /* reason for which nodes refuse the policy; NULL: none */
	struct fleet_policy policy;
};

static void take_stored(struct requests *a, const struct link_event *e)
{
	struct kept *k = a->extra;
	struct fleet_message m;

	if (strcmp(e->subject, POLICY_SUBJECT) != 0 || message_decode(e->bytes, e->len, &m))
		return;
	k->is_there = m.kind == MESSAGE_POLICY;
	if (k->is_there && !key_has_signed(KEY_FOR_POLICY, &m.sealed))
		k->fault = "its signature is not right";
	else if (k->is_there && policy_decode(&m.sealed, &k->policy))
		k->fault = "it is malformed";
	message_fini(&m);
}

/* False: the stream cannot be read, and a sentence was logged. */
static bool read_kept(struct requests *a, struct kept *out)
{
	*out = (struct kept){ 0 };
	a->extra = out;
	a->stored = take_stored;
	bool is_read = requests_stored(a, LINK_STREAM_POLICY, "the policy's stream", 1);
	a->stored = NULL;
	a->extra = NULL;
	return is_read;
}

/* How many nodes answer, and how many of them hold this policy. */
struct holders {
	size_t nr_answered, nr;
};

static struct holders count_holders(struct requests *a, const struct fleet_policy *p)
{
	const struct controller_order order = requests_order(a, WANT_CENSUS, "");
	struct node_names others = { 0 };
	struct holders held = { 0 };

	a->is_silent = true;
	if (requests_add(a, &order) ||
	    (requests_run(a, CONTROLLER_ENDED) && !controller_view(a->controllers[0]).nr_census))
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
	if (others.nr)
		log_warn("without it: %s; they do not take the key for an operator's: see their "
			 "logs",
			 names);
	node_names_fini(&others);
	return held;
}

static int show(struct requests *a)
{
	auto_str struct str limits = { 0 };
	char at[ENTRY_TIME_TEXT];
	struct kept kept;

	if (!read_kept(a, &kept)) {
		log_error("fleet policy: it is unknown");
		return EXIT_FAILED;
	}
	if (!kept.is_there) {
		puts("no policy: each node holds its own limits");
		return 0;
	}
	if (kept.fault) {
		log_error("fleet policy: nodes refuse the latest policy: %s", kept.fault);
		return EXIT_FAILED;
	}
	entry_time(kept.policy.at_ms, at);
	policy_print(&kept.policy, &limits);
	printf("%s\nsigned by %s, %s UTC\n", limits.at, kept.policy.by, at);
	count_holders(a, &kept.policy);
	return 0;
}

/*
 * Sends the policy to all connected nodes, and to the stream, where nodes that connect later read
 * it.
 */
static int send(struct requests *a, const struct fleet_policy *p)
{
	struct fleet_message m = { .kind = MESSAGE_POLICY };
	auto_str struct str bytes = { 0 };
	struct kept before, after;

	if (policy_sign(p, a->private_key, &m.sealed)) {
		log_error("fleet policy: a value is outside its limits, or the key cannot sign: "
			  "--events takes names without arguments, --reason 127 bytes of UTF-8 "
			  "without control characters");
		return EXIT_USAGE;
	}
	message_encode(&m, &bytes);
	bool has_stream = read_kept(a, &before); /* creates the stream if it is missing */
	link_publish(a->link, POLICY_SUBJECT, "", bytes.at, bytes.len);
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

/* Returns an exit status. */
static int take_limit(const char *name, int value, int max, u32 *out)
{
	if (value != UNSET && (value < 1 || value > max)) {
		log_error("fleet policy: --%s takes 1 to %d", name, max);
		return EXIT_USAGE;
	}
	*out = value == UNSET ? 0 : (u32)value;
	return 0;
}

static int take_text(const char *name, const char *value, char *out, size_t size)
{
	if (strlen(value) >= size) {
		log_error("fleet policy: --%s takes %zu bytes", name, size - 1);
		return EXIT_USAGE;
	}
	copy_text(out, size, value);
	return 0;
}

/*
 * *sets: whether the command sets a policy: a limit was given, or the option that removes all
 * limits.
 */
static int take_limits(const struct options *o, struct fleet_policy *p, bool *sets)
{
	int status = take_limit("max-hz", o->max_hz, POLICY_HZ_MAX, &p->max_hz);
	status = status
			 ?: take_limit("max-seconds", o->max_seconds, POLICY_DURATION_S,
				       &p->max_duration_s);
	status = status ?: take_limit("max-cpu-ppm", o->max_cpu_ppm, POLICY_CPU_PPM, &p->cpu_ppm);
	status = status ?: take_text("events", o->events, p->events, sizeof(p->events));
	status = status ?: take_text("reason", o->reason, p->reason, sizeof(p->reason));
	p->is_off = o->off;
	bool has_limits = o->off || p->max_hz || p->max_duration_s || p->cpu_ppm || *p->events;
	*sets = has_limits || o->lift;
	if (status)
		return status;
	if ((has_limits && o->lift) || (*o->reason && !*sets)) {
		log_error("fleet policy: %s", *sets ? "--lift takes no limit beside it"
						    : "--reason needs a limit, --off or --lift");
		return EXIT_USAGE;
	}
	return 0;
}

/* The name that fleet init has put into the folder of the key. */
static void read_person(const char *dir, char by[64])
{
	auto_free char *path = xasprintf("%s/person", dir), *text = NULL;
	size_t len;
	bool is_read = !file_read(path, 1024, &text, &len);

	if (is_read)
		text[strcspn(text, "\n")] = '\0';
	copy_text(by, 64, is_read && node_name_is_valid(text) ? text : "operator");
}

static int policy(const struct options *o)
{
	struct requests a = { 0 };
	struct fleet_policy p = { 0 };
	bool sets;
	int status = take_limits(o, &p, &sets) ?: requests_begin(&a, &o->connection, false);

	if (!status) {
		p.at_ms = time_wall_ns() / NS_PER_MS;
		read_person(o->connection.dir, p.by);
		status = sets ? send(&a, &p) : show(&a);
	}
	requests_end(&a);
	return status;
}

int fleet_policy_main(int argc, char **argv)
{
	struct options o = { .connection = { .wait_s = 2 },
			     .events = "",
			     .reason = "",
			     .max_hz = UNSET,
			     .max_seconds = UNSET,
			     .max_cpu_ppm = UNSET };
	const struct opt opts[] = {
		FLEET_OPTS(&o.connection),
		{ 0, "off", OPT_BOOL, &o.off, NULL, "nodes serve no request of the fleet" },
		{ 0, "max-hz", OPT_INT, &o.max_hz, "HZ", "recordings of 1 to 199 Hz at most" },
		{ 0, "max-seconds", OPT_INT, &o.max_seconds, "S", "of 1 to 300 s at most" },
		{ 0, "max-cpu-ppm", OPT_INT, &o.max_cpu_ppm, "N",
		  "1 to 1000 millionths of a node's CPUs, over a day" },
		{ 0, "events", OPT_STRING, &o.events, "EVENT,..", "of these events only" },
		{ 0, "lift", OPT_BOOL, &o.lift, NULL, "lift all limits" },
		{ 0, "reason", OPT_STRING, &o.reason, "TEXT", "shown to those who are refused" },
		{ 'h', "help", OPT_BOOL, &o.help, NULL, "show this help" },
	};
	int status = requests_parse(
		"policy", opts, ARRAY_SIZE(opts), argc, argv, &o.help,
		"usage: sysflame fleet policy --nats URL --fleet-dir DIR [OPTION..]\n\n"
		"Shows the limits that hold for all nodes, or replaces all of them, which takes\n"
		"an operator. A policy can only lower what a node allows.\n");

	return status >= 0 ? status : policy(&o);
}
