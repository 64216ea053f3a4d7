/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the nodes of a fleet, for all subcommands. Errors are logged. */
#pragma once

#include <limits.h>

#include "base/opt.h"
#include "fleet/controller/controller.h"
#include "fleet/http/http_fleet.h"
#include "fleet/wire/link.h"
#include "profile/profile.h"

struct connection_options {
	const char *url, *dir;
	const char *http; /* a file of nodes: there is no NATS */
	double wait_s;    /* for answers */
};

/* Of every subcommand that asks. */
#define FLEET_OPTS(o)                                                                               \
	{ 0, "nats", OPT_STRING, &(o)->url, "URL", "nats://HOST:PORT,.. or tls://.." },             \
		{ 0, "fleet-dir", OPT_STRING, &(o)->dir, "DIR", "the folder with the file `key`" }, \
	{                                                                                           \
		0, "wait", OPT_DOUBLE, &(o)->wait_s, "S",                                           \
			"wait S seconds after the last answer (2)"                                  \
	}

/* Options of the subcommands that also work without NATS. */
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

#define EXIT_MISSING 3 /* the result is written, and lacks nodes that were chosen */
#define REQUESTS_MAX 2 /* controllers at a time */

struct requests {
	const struct connection_options *o;
	struct link *link;
	struct http_fleet *http; /* instead of the link */
	bool is_up;
	char owner[32]; /* "_INBOX.HEX": the library's inboxes are below it */
	bool has_all;   /* the answer to requests_stored is complete */
	char *why;      /* why the answer is not complete, or another fault; NULL or owned */
	void (*stored)(struct requests *a, const struct link_event *e); /* of LINK_STORED */
	u64 nr_stored;     /* messages that the stream keeps */
	bool names_silent; /* set by the subcommand: requests_log_silent follows */
	bool has_asked_silent;
	struct canary canary;
	char *known; /* names of nodes that should answer a census, a line each; owned; NULL */
	char inbox[64];
	u8 private_key[FLEET_KEY_LEN];
	struct controller_host host;
	struct controller *controllers[REQUESTS_MAX];
	u32 nr;
	volatile int *stopped; /* number of requests to end early, such as SIGINT; may be NULL */
	int nr_stops;          /* that were passed on */
	bool is_kept;          /* set by the subcommand: DIR/ID.request keeps the request */
	u32 kept_at;           /* phase and wave that the saved file has */
	struct str resumed;    /* the content of a DIR/ID.request to continue; empty: none */
	bool is_silent;
	void *extra; /* of the subcommand, for host.text */
};

/* The private key in DIR/key, FLEET_KEY_LEN bytes. Returns an exit status. */
int requests_read_key(const char *dir, u8 *private_key);

/*
 * Reads the key and connects. `merges`: also starts the process that merges profiles, by a fork.
 * Returns an exit status.
 */
int requests_begin(struct requests *a, const struct connection_options *o, bool merges);
void requests_end(struct requests *a);

/*
 * Calls a->stored for the newest messages of a stream, at most `max`. Returns false after an error,
 * which was logged in a sentence that begins with `name`.
 */
bool requests_stored(struct requests *a, enum link_stream stream, const char *name, u32 max);

/* An order with defaults for these nodes. */
struct controller_order requests_order(const struct requests *a, enum fleet_want want,
				       const char *selector);

/* Starts a controller, or one more. Returns an exit status. */
int requests_add(struct requests *a, const struct controller_order *o);
/* Runs the request until every controller is in `phase` or a later one. Returns an exit status. */
int requests_run(struct requests *a, enum controller_phase phase);

/* Ends the controllers, so that others can be added. */
void requests_drop(struct requests *a);

/* Logs the reasons of the nodes that took no part or ended early. */
void requests_log_reasons(const struct gather *g);

/* Logs the coverage and the interval of a controller that has ended. */
void requests_log_coverage(const struct controller *c);

/* EXIT_FAILED if later waves did not start, EXIT_MISSING if a node that was chosen is missing. */
int requests_coverage_status(const struct requests *a);

/* Logs nodes that were seen before and that did not answer the census. */
void requests_log_silent(struct requests *a);

/* Reads the merged profile. Returns an exit status. */
int requests_profile(const struct controller *c, struct profile *p);

/*
 * Parses the options of `sysflame fleet NAME`, which takes nothing else. Returns -1 if the command
 * should begin, otherwise an exit status: `usage` was printed because *help is set, or an error.
 */
int requests_parse(const char *name, const struct opt *opts, size_t nr, int argc, char **argv,
		   const bool *help, const char *usage);

/* Logs the error in the arguments of `sysflame fleet NAME`. Returns the exit status. */
int requests_usage_error(const char *name, const char *text);

/* Checks --select: returns an exit status. */
int requests_check_selector(const char *text);

/*
 * From now on SIGINT, SIGTERM and SIGHUP only count; returns their number. A terminal that goes
 * away sends several SIGHUP: they count once. If SIGHUP is ignored, as below nohup, it stays so.
 */
volatile int *fleet_signals_count(void);

/* The options for the nodes' work: a recording, or a range of past slices. */
struct fleet_choice {
	const char *nodes, *samples, *within_text;
	bool yes;
	double nr_nodes, share, nr_samples, within; /* one of them, or none */
};

#define FLEET_CHOICE_OPTS(c)                                                                          \
	{ 0,           "nodes", OPT_STRING,                                                           \
	  &(c)->nodes, "N|P%",  "N of these nodes, or a share of them (all, up to 200)" },            \
		{ 0,          "samples",                                                              \
		  OPT_STRING, &(c)->samples,                                                          \
		  "N",        "as many nodes as give about N samples, by their use of CPUs so far" }, \
		{ 0,          "within",                                                               \
		  OPT_STRING, &(c)->within_text,                                                      \
		  "P%",       "as many nodes as make an interval of +- P% of the total" },            \
	{                                                                                             \
		0, "yes", OPT_BOOL, &(c)->yes, NULL, "also more than 200 nodes; takes an operator"    \
	}

/* Returns an exit status; errors are logged. */
int fleet_choice_parse(struct fleet_choice *c, const char *command);
void fleet_choice_apply(const struct fleet_choice *c, struct controller_order *o);

struct request_options {
	const char *events, *ago, *reason;
	int hz, duration_s;
	bool no_waves;
	u32 ago_s;
	struct fleet_choice choice;
};

#define REQUEST_HZ INT_MIN /* no -F: 99 Hz */
#define REQUEST_DEFAULTS                                                          \
	{                                                                         \
		.events = "cpu", .reason = "", .hz = REQUEST_HZ, .duration_s = 30 \
	}

#define REQUEST_OPTS(e)                                                                               \
	FLEET_CHOICE_OPTS(&(e)->choice),                                                              \
		{ 0,                                                                                  \
		  "no-waves",                                                                         \
		  OPT_BOOL,                                                                           \
		  &(e)->no_waves,                                                                     \
		  NULL,                                                                               \
		  "record all nodes at once; more than 10 take waves of one node, 1 %, the "          \
		  "rest" },                                                                           \
		{ 'e', "event", OPT_STRING, &(e)->events, "EVENT,..", "record these events (cpu)" },  \
		{ 'F', "freq", OPT_INT, &(e)->hz, "HZ", "samples per second and CPU (99)" },          \
		{ 'd', "duration", OPT_INT, &(e)->duration_s, "S", "record S seconds (30)" },         \
		{ 0,          "ago",                                                                  \
		  OPT_STRING, &(e)->ago,                                                              \
		  "TIME",     "record nothing: fetch the S seconds that ended TIME ago, as in 20m" }, \
	{                                                                                             \
		0, "reason", OPT_STRING, &(e)->reason, "TEXT", "for the audit list of every node"     \
	}

/* Returns an exit status; errors are logged. */
int request_options_check(struct request_options *e, const char *command);
void request_options_apply(const struct request_options *e, struct controller_order *o);
