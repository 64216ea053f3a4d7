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
#include <sys/stat.h>

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
#define KEYS_NS    (2 * NS_PER_SEC) /* between looks at the file of keys */

struct options {
	const char *url, *dir, *name, *zone;
	bool help;
};

struct aggregate {
	const struct options *o;
	struct link *link;
	struct aggregator *aggregator;
	struct aggregator_host host;
	struct fleet_keys keys;
	int keys_err;              /* of the last look at their file: 0 or a negative errno */
	struct timespec keys_time; /* its change */
	u64 keys_ns;               /* when that was */
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

/*
 * Reads the file of keys if it has changed. The keys stay as they are if it is malformed, or
 * missing and was there before. Negative errno; it has logged that.
 */
static int read_keys(struct aggregate *a)
{
	auto_free char *path = xasprintf("%s/keys", a->o->dir), *text = NULL;
	struct fleet_keys keys = { 0 };
	auto_str struct str why = { 0 };
	struct stat st = { 0 };
	size_t len;
	int err = stat(path, &st) ? -errno : 0;
	bool is_old = a->keys_ns && err == a->keys_err &&
		      st.st_mtim.tv_sec == a->keys_time.tv_sec &&
		      st.st_mtim.tv_nsec == a->keys_time.tv_nsec;

	a->keys_ns = time_mono_ns();
	a->keys_err = err;
	a->keys_time = st.st_mtim;
	if (is_old || (err == -ENOENT && !a->host.keys))
		return 0;
	err = err ?: file_read(path, KEYS_BYTES, &text, &len) ?: keys_parse(text, &keys, &why);
	if (err) {
		log_error("aggregate: %s: %s", path, why.len ? why.at : strerror(-err));
		keys_fini(&keys);
		return err;
	}
	keys_fini(&a->keys);
	a->keys = keys;
	a->host.keys = &a->keys;
	log_info("aggregate: works for the owners of %zu keys", keys.all.nr);
	return 0;
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
		if (time_mono_ns() - a->keys_ns > KEYS_NS)
			read_keys(a);
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

static int aggregate(const struct options *o)
{
	struct aggregate a = { .o = o, .host = { &a, mono_ns, publish, .inbox = a.inbox } };
	struct workers *workers = NULL;
	const struct link_options link = { .url = o->url, .name = o->name, .dir = o->dir };
	const struct sigaction action = { .sa_handler = on_signal };
	char labels[128] = "", text[2 * INBOX_OWNER + 1];
	u8 random[INBOX_OWNER];
	int status = EXIT_FAILED;

	if (read_keys(&a))
		return EXIT_FAILED;
	if (!a.host.keys)
		log_warn("aggregate: there is no %s/keys: whoever may publish on NATS can give it "
			 "work",
			 o->dir);
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
		a.host.workers = workers;
		a.aggregator = aggregator_new(o->name, labels, &a.host);
		status = a.aggregator ? serve(&a) : EXIT_FAILED;
		aggregator_free(a.aggregator);
	}
	link_free(a.link);
	workers_free(workers);
	keys_fini(&a.keys);
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
