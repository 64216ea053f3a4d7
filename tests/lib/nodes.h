/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the simulator tests/programs/nodes.c. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/opt.h"
#include "base/vec.h"

enum fault {
	FAULT_MUTE,    /* answers nothing */
	FAULT_SILENT,  /* accepts, and then nothing */
	FAULT_SLOW,    /* hands out chunks late */
	FAULT_DOUBLE,  /* sends everything twice */
	FAULT_LYING,   /* DONE names absurd totals */
	FAULT_DAMAGED, /* the bytes do not have the hash of DONE */
	FAULT_SHORT,   /* has fewer bytes than DONE says */
	FAULT_LEAVES,  /* disconnects when it is asked for a chunk, once */
	FAULT_OTHER,   /* has another version of the protocol */
	FAULT_NEWER,   /* adds fields and kinds of messages that we do not know */
	FAULT_POSES,   /* answers for its neighbour, too */
	FAULT_FAILS,   /* accepts, and then reports a failure */
	NR_FAULTS,
};

#define NEW_KIND  "\x01\x63..."  /* a message of kind 99 */
#define NEW_FIELD "\xc0\x0c\x01" /* number 200: 1 */

static const char *const fault_names[NR_FAULTS] = { "mute",          "silent",  "slow",  "double",
						    "lying",         "damaged", "short", "leaves",
						    "other-version", "newer",   "poses", "fails" };

struct counts {
	u64 connects, losses, refused, answers, done, chunks, bytes, errors;
};

struct options {
	int port, nr_nodes, first, zones, slow_ms, capture_ms, reconnect_s;
	const char *host, *join, *prefix, *service, *busy;
	struct opt_list faults;
	int percent[NR_FAULTS];
	bool is_seen, is_audited, help;
};

static struct options o = { .host = "127.0.0.1",
			    .nr_nodes = 1000,
			    .zones = 3,
			    .slow_ms = 1000,
			    .prefix = "n",
			    .service = "checkout",
			    .reconnect_s = 60,
			    .capture_ms = -1 };
static void raise_limit(void)
{
	struct rlimit l;

	getrlimit(RLIMIT_NOFILE, &l);
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
}

static void print_counts(const struct counts *c)
{
	const struct {
		const char *name;
		u64 nr;
	} all[] = {
		{ "connects", c->connects }, { "losses", c->losses }, { "refused", c->refused },
		{ "answers", c->answers },   { "done", c->done },     { "chunks", c->chunks },
		{ "bytes", c->bytes },       { "errors", c->errors },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		printf("%s %llu\n", all[i].name, (unsigned long long)all[i].nr);
}

static bool take_faults(void)
{
	vec_each(f, &o.faults) {
		const char *percent = strchr(*f, '=');
		int i = 0;
		while (i < NR_FAULTS &&
		       (!percent || strncmp(*f, fault_names[i], (size_t)(percent - *f)) != 0))
			i++;
		if (i == NR_FAULTS)
			return false;
		o.percent[i] = atoi(percent + 1);
	}
	return true;
}

static enum fault fault_of(u32 index)
{
	int place = (int)(index * 37 % 100);

	for (int f = 0; f < NR_FAULTS; f++) {
		if (place < o.percent[f])
			return f;
		place -= o.percent[f];
	}
	return NR_FAULTS;
}

static int parse(int argc, char **argv)
{
	const struct opt opts[] = {
		{ 0, "host", OPT_STRING, &o.host, "IP", "" },
		{ 'p', "port", OPT_INT, &o.port, "PORT", "of nats-server" },
		{ 'n', "nodes", OPT_INT, &o.nr_nodes, "N", "(1000)" },
		{ 0, "first", OPT_INT, &o.first, "N", "number of the first one" },
		{ 0, "prefix", OPT_STRING, &o.prefix, "TEXT", "of names (n)" },
		{ 0, "zones", OPT_INT, &o.zones, "N", "(3)" },
		{ 0, "service", OPT_STRING, &o.service, "NAME", "(checkout)" },
		{ 0, "busy", OPT_STRING, &o.busy, "N,..",
		  "percent of a CPU in use, by file; 0: unknown" },
		{ 0, "join", OPT_STRING, &o.join, "FILE", "the secret by which nodes join" },
		{ 0, "capture-ms", OPT_INT, &o.capture_ms, "MS", "length of recordings" },
		{ 0, "reconnect", OPT_INT, &o.reconnect_s, "S", "at most (60)" },
		{ 0, "slow-ms", OPT_INT, &o.slow_ms, "MS", "for --slow (1000)" },
		{ 0, "seen", OPT_BOOL, &o.is_seen, NULL, "publish a sign of life, once" },
		{ 0, "audited", OPT_BOOL, &o.is_audited, NULL,
		  "publish an entry for each request" },
		{ 0, "fault", OPT_LIST, &o.faults, "NAME=P",
		  "of mute, silent, .. (see the source)" },
		{ 'h', "help", OPT_BOOL, &o.help, NULL, "show this help" },
	};
	int next = opt_parse(opts, ARRAY_SIZE(opts), argc, argv);

	if (next >= 0 && !o.help && next < argc && o.port > 0 && o.nr_nodes > 0 && o.zones > 0 &&
	    o.reconnect_s > 0 && take_faults())
		return next;
	opt_help(opts, ARRAY_SIZE(opts));
	exit(2);
}
