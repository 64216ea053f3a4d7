/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sysflame aggregate`: merges the results of many nodes for `sysflame fleet record`.
 * Part of cmd/fleet.h.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/time.h"
#include "cmd/cmd.h"
#include "cmd/fleet.h"
#include "fleet/aggregator.h"
#include "fleet/key.h"
#include "fleet/link.h"
#include "fleet/merge.h"
#include "fleet/selector.h"

#define POLL_MS    20
#define KEYS_BYTES (1 << 20)

struct options {
	const char *url, *dir, *name, *zone;
	bool help;
};

struct aggregate {
	struct link *link;
	struct aggregator *aggregator;
	char inbox[128];
};

static volatile sig_atomic_t is_over;

static void on_signal(int number)
{
	is_over = 1;
}

static u64 mono_ns(void *ctx)
{
	return time_mono_ns();
}

static void publish(void *ctx, const char *subject, const char *reply, const void *bytes,
		    size_t len)
{
	struct aggregate *a = ctx;

	/* Whoever misses it asks again. */
	if (link_publish(a->link, subject, reply, bytes, len))
		log_debug("aggregate: a message to %s was not sent", subject);
}

static int take_events(struct aggregate *a)
{
	struct link_event e;
	int err;

	while (!(err = link_receive(a->link, &e))) {
		if (e.kind == LINK_MESSAGE)
			aggregator_message(a->aggregator, e.subject, e.reply, e.bytes, e.len);
		else if (e.kind == LINK_UP)
			log_info("aggregate: connected to %s", e.text);
		else
			log_warn("aggregate: %s", e.text);
	}
	return err == -EAGAIN ? 0 : err;
}

static int serve(struct aggregate *a)
{
	for (u32 i = 0; aggregator_subject(a->aggregator, i); i++)
		if (link_subscribe(a->link, aggregator_subject(a->aggregator, i)))
			return EXIT_FAILED;
	while (!is_over) {
		struct pollfd polled = { link_fd(a->link), POLLIN, 0 };
		poll(&polled, 1, POLL_MS);
		if (take_events(a)) {
			log_error("aggregate: the process that talks to NATS has ended");
			return EXIT_FAILED;
		}
		aggregator_step(a->aggregator);
	}
	const struct aggregator_counts c = aggregator_counts(a->aggregator);
	if (c.nr_refused)
		log_warn("aggregate: %llu messages of unknown keys were refused",
			 (unsigned long long)c.nr_refused);
	log_info("aggregate: %llu results of %llu sets; %llu were not handed out",
		 (unsigned long long)c.nr_results, (unsigned long long)c.nr_sets,
		 (unsigned long long)c.nr_failed);
	return 0;
}

/* 1 if there are keys, 0 if there is no file, else a negative errno; it has logged that. */
static int read_keys(const char *dir, struct fleet_keys *out)
{
	auto_free char *path = xasprintf("%s/keys", dir), *text = NULL;
	auto_str struct str why = { 0 };
	size_t len;
	int err = file_read(path, KEYS_BYTES, &text, &len);

	if (err == -ENOENT) {
		log_warn("aggregate: there is no %s: whoever may publish on NATS can give it work",
			 path);
		return 0;
	}
	err = err ?: keys_parse(text, out, &why);
	if (err)
		log_error("aggregate: %s: %s", path, why.len ? why.at : strerror(-err));
	return err ?: 1;
}

static int aggregate(const struct options *o)
{
	struct aggregate a = { 0 };
	struct workers *workers = NULL;
	const struct link_options link = { .url = o->url, .name = o->name, .dir = o->dir };
	const struct sigaction action = { .sa_handler = on_signal };
	char labels[128] = "", text[2 * INBOX_OWNER + 1];
	u8 random[INBOX_OWNER];
	struct fleet_keys keys = { 0 };
	int status = EXIT_FAILED, has_keys = read_keys(o->dir, &keys);

	if (has_keys < 0)
		return EXIT_FAILED;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return EXIT_FAILED;
	hex_print(random, sizeof(random), text);
	snprintf(a.inbox, sizeof(a.inbox), "_INBOX.%s.%s", o->name, text);
	if (o->zone)
		snprintf(labels, sizeof(labels), "zone=%s", o->zone);
	if (merge_start_workers(&workers) || link_start(&link, &a.link)) {
		log_error("aggregate: a process cannot be started");
	} else {
		const struct aggregator_host host = { .ctx = &a,
						      .mono_ns = mono_ns,
						      .publish = publish,
						      .workers = workers,
						      .inbox = a.inbox,
						      .keys = has_keys ? &keys : NULL };
		a.aggregator = aggregator_new(o->name, labels, &host);
		status = a.aggregator ? serve(&a) : EXIT_FAILED;
		aggregator_free(a.aggregator);
	}
	link_free(a.link);
	workers_free(workers);
	keys_fini(&keys);
	return status;
}

int aggregate_main(int argc, char **argv)
{
	struct options o = { 0 };
	const struct opt opts[] = {
		{ 0, "nats", OPT_STRING, &o.url, "URL", "nats://HOST:PORT,.. or tls://.." },
		{ 0, "fleet-dir", OPT_STRING, &o.dir, "DIR",
		  "the folder with keys, nats.nk or nats.creds, and ca.pem" },
		{ 0, "name", OPT_STRING, &o.name, "NAME", "of the aggregator, as in its rights" },
		{ 0, "zone", OPT_STRING, &o.zone, "ZONE", "merge nodes of this zone first" },
		{ 'h', "help", OPT_BOOL, &o.help, NULL, "show this help" },
	};
	int next = opt_parse(opts, ARRAY_SIZE(opts), argc, argv);

	if (next < 0)
		return EXIT_USAGE;
	if (o.help) {
		puts("usage: sysflame aggregate --nats URL --fleet-dir DIR --name NAME "
		     "[OPTION..]\n\n"
		     "Fetches and merges the results of nodes for `sysflame fleet record`. It "
		     "keeps\n"
		     "nothing. Run one for each zone or 5,000 nodes; up to 63 nodes use none.\n");
		opt_help(opts, ARRAY_SIZE(opts));
		return 0;
	}
	if (!o.url || !o.dir || !o.name || !node_name_is_valid(o.name) || next < argc ||
	    (o.zone && (!*o.zone || strpbrk(o.zone, ",=") || strlen(o.zone) > 100))) {
		log_error(
			"aggregate: takes --nats URL, --fleet-dir DIR and --name NAME of letters, "
			"digits, - and _");
		return EXIT_USAGE;
	}
	return aggregate(&o);
}
