/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the nodes of a fleet, for all subcommands. Errors are logged. */
#pragma once

#include "base/opt.h"
#include "fleet/asked.h"
#include "fleet/controller.h"
#include "fleet/http_fleet.h"
#include "fleet/link.h"
#include "profile/profile.h"

struct fleet_request_options {
	const char *url, *dir;
	const char *http; /* a file of nodes: there is no NATS */
	double wait_s;    /* for answers */
};

/* Of every subcommand that asks. */
#define FLEET_OPTS(o)                                                                               \
	{ 0, "nats", OPT_STRING, &(o)->url, "URL", "nats://HOST:PORT,.. or tls://.." },             \
		{ 0, "fleet-dir", OPT_STRING, &(o)->dir, "DIR", "the folder with the file `key`" }, \
	{                                                                                           \
		0, "wait", OPT_DOUBLE, &(o)->wait_s, "S", "wait up to S seconds for answers (2)"    \
	}

/* Of those that also ask without NATS. */
#define HTTP_OPT(o)                                                                          \
	{                                                                                    \
		0, "http", OPT_STRING, &(o)->http, "FILE",                                   \
			"without NATS: ask the daemons in FILE, a URL and token file a line" \
	}

#define SELECT_OPT(field)                                                           \
	{                                                                           \
		0, "select", OPT_STRING, field, "SELECTOR",                         \
			"these nodes and processes, as in service=checkout,zone!=b" \
	}

#define ASKING_MAX 2 /* controllers at a time */

struct asking {
	const struct fleet_request_options *o;
	struct link *link;
	struct http_fleet *http; /* instead of the link */
	bool is_up, is_lost;
	char owner[32]; /* "_INBOX.HEX": the library's inboxes are below it */
	bool has_all;   /* the answer to asking_seen or asking_stored is complete */
	char *why;      /* why it is not, or another fault; NULL or owned */
	void (*seen)(struct asking *a, const char *node, u64 at_ms); /* 0: unknown */
	void (*stored)(struct asking *a, const struct link_event *e);
	u64 nr_stored;     /* messages that the stream keeps */
	bool names_silent; /* set by the subcommand: asking_log_silent follows */
	bool has_asked_silent;
	char person[ASKED_NAME];
	char *asked; /* sentence on the last request, owned */
	char inbox[64];
	u8 private_key[FLEET_KEY_LEN];
	struct controller_host host;
	struct controller *controllers[ASKING_MAX];
	u32 nr;
	volatile int *stopped; /* how often somebody wants to end it; may be NULL */
	int nr_stops;          /* that were passed on */
	bool is_silent;
	void *extra; /* of the subcommand, for host.text */
};

/* The private key in DIR/key, FLEET_KEY_LEN bytes. Returns an exit status. */
int asking_read_key(const char *dir, u8 *private_key);

/*
 * Reads the key and connects. `w` may be NULL: then profiles are merged in this process. Returns an
 * exit status.
 */
int asking_begin(struct asking *a, const struct fleet_request_options *o, struct workers *w);
void asking_end(struct asking *a);

/* Nodes of the last 90 s from JetStream, or the time of one; calls a->seen. False: a->why. */
bool asking_seen(struct asking *a, const char *node);

/*
 * The newest messages of a stream; calls a->stored for at most `max`. False: a->why, a sentence on
 * the stream without its subject. Some may have been read.
 */
bool asking_stored(struct asking *a, enum link_stream stream, u32 max);

/* An order with defaults for these nodes. */
struct controller_order asking_order(const struct asking *a, enum fleet_want want,
				     const char *selector);

/* Starts a controller, or one more. Returns an exit status. */
int asking_add(struct asking *a, const struct controller_order *o);

/* Goes on until every controller is in `phase` or a later one. Returns an exit status. */
int asking_run(struct asking *a, enum controller_phase phase);

/* Ends the controllers, so that others can be added. */
void asking_drop(struct asking *a);

/* Sends STOP for a request; NULL: for all of them. */
void asking_stop_all(struct asking *a, const u8 *id);

/* What the nodes answered that took no part, or ended early. */
void asking_log_reasons(const struct gather *g);

/* Logs the coverage and the interval of a controller that has ended. */
void asking_log_coverage(const struct controller *c);

/* Logs nodes that JetStream has seen in the last 90 s and that did not answer the census. */
void asking_log_silent(struct asking *a);

/* Reads the merged profile. Returns an exit status. */
int asking_profile(const struct controller *c, struct profile *p);

/*
 * Parses the options of `sysflame fleet NAME`, which takes nothing else. Returns -1 if the command
 * should begin, otherwise an exit status: `usage` was printed because *help is set, or an error.
 */
int asking_parse(const char *name, const struct opt *opts, size_t nr, int argc, char **argv,
		 const bool *help, const char *usage);

/* Checks --select: returns an exit status. */
int asking_check_selector(const char *text);

/* "90", "20m", "2h", "1d", up to 30 d. */
bool parse_span(const char *text, u32 *out);

/*
 * From now on SIGINT, SIGTERM and SIGHUP only count; returns their number. A terminal that goes
 * away sends several SIGHUP: they count once. If SIGHUP is ignored, as below nohup, it stays so.
 */
volatile int *fleet_signals_count(void);
