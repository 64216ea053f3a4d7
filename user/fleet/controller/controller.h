/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request to a fleet, from the census to the merged profile (docs/fleet-protocol.md). It never
 * waits and has no clock and no network of its own: a command or a daemon drives it.
 *
 *   CENSUS -> CHOICE -> per wave: RECORDS, WATCHES -> FETCHES -> MERGES -> ENDED
 */
#pragma once

#include "fleet/controller/canary.h"
#include "fleet/controller/combine.h"
#include "fleet/controller/gather.h"
#include "fleet/controller/merge.h"

/* up to so many nodes are recorded at once; more record in waves */
#define CONTROLLER_WAVES_FROM 10
#define CONTROLLER_WATCH_S    60   /* between waves */
#define CONTROLLER_CHANCE     0.01 /* failures that are less probable end the recording */
#define CONTROLLER_SETTLE_S   60   /* after the recordings, while nothing arrives */

struct controller_order {
	enum fleet_want want;
	char selector[256], events[128], reason[128];
	u32 hz, duration_s, ago_s;
	/*
	 * How many nodes take part: at most one of these fields is set. `within`: half the width of
	 * the interval, as a fraction of the total.
	 */
	double nr_nodes, share, nr_samples, within;
	/* the person has confirmed (--yes) that more than 200 nodes may record */
	bool is_confirmed;
	bool has_waves;
	bool waits; /* in CHOICE, until controller_choose; chances are equal then */
	u32 answers_ms, watch_s;
	u8 sampling_seed[FLEET_ID_LEN]; /* zero: a new one */
	u8 target[FLEET_ID_LEN];        /* of STOP; zero: all requests */
};

struct controller_host {
	void *ctx;
	u64 (*mono_ns)(void *ctx);
	u64 (*wall_ms)(void *ctx);
	void (*publish)(void *ctx, const char *subject, const char *reply, const void *bytes,
			size_t len);
	/*
	 * NULL: nodes are asked by messages. If set, it asks them in this process, and they answer
	 * by controller_take: key and publish are not used, inbox may be "", and `stop` is set,
	 * too.
	 */
	void (*request)(void *ctx, const struct fleet_request *r);
	void (*stop)(void *ctx, const u8 *id);
	/* Reports progress for people while the request runs. */
	void (*report)(void *ctx, const char *text);
	/* A node's answer to WANT_AUDIT. May be NULL. */
	void (*text)(void *ctx, const char *node, const void *bytes, size_t len);
	struct workers *workers; /* NULL: profiles are merged in this process */
	struct canary *canary;   /* NULL: all large recordings have waves */
	const u8 *private_key;   /* of the person; FLEET_KEY_LEN bytes */
	const char *inbox;       /* "_INBOX.x" */
	bool filters;            /* nodes may deliver samples of other processes, too */
	bool previews;           /* results are also merged as they come, for `preview` below */
};

enum controller_phase {
	CONTROLLER_CENSUS,
	CONTROLLER_CHOICE,
	CONTROLLER_RECORDS,
	CONTROLLER_WATCHES, /* a wave has ended; its JVMs are watched before the next one */
	CONTROLLER_FETCHES,
	CONTROLLER_MERGES,
	CONTROLLER_ENDED, /* `error`, or there is a profile */
};

struct controller_state {
	enum controller_phase phase;
	u32 wave, nr_waves;
	/* nodes that answered; that match; that are asked to take part */
	size_t nr_census, nr_matched, nr_chosen;
	/* fraction of the matching nodes that takes part */
	double p;
	bool is_estimate;            /* p < 1: values are estimates */
	double within;               /* of the order */
	const struct choice *choice; /* chances and sizes of nodes */
	const char *error;           /* a sentence; NULL */
	bool is_usage;               /* .. about the order, not about the fleet */
	const char *stopped;         /* why later waves did not start; NULL */
	const struct gather *census, *nodes;
	const struct merge_total *totals; /* by delivered node */
	size_t nr_totals;
	const struct node_table *table; /* sums of the nodes; NULL: there are too many nodes */
	/* `shown`, `nr_nodes` and `nr` of the results so far (fleet/controller/combine.h); NULL */
	const struct combine *preview;
};

struct controller;

/* Sends the census. The host must outlive it. Negative errno if there are no random numbers. */
int controller_start(const struct controller_order *o, const struct controller_host *host,
		     struct controller **out);
void controller_free(struct controller *c);

/*
 * Appends the state with which another process can continue this request (controller_resume):
 * order, census, waves, and the secret with which results are fetched. Only for requests over
 * messages, and only from phase CONTROLLER_RECORDS on.
 */
void controller_save(const struct controller *c, struct str *out);

/* Copies the inbox of a saved request. False: the bytes are no saved request. */
bool controller_saved(const void *bytes, size_t len, char inbox[64]);

/*
 * Continues a saved request whose process has ended; host.inbox is that of controller_saved. A node
 * that gets no ALIVE for a minute ends its recording, and keeps the result for some minutes
 * (fleet/node/node_agent.h). -EBADMSG: the bytes are no saved request.
 */
int controller_resume(const void *bytes, size_t len, const struct controller_host *host,
		      struct controller **out);

/*
 * Takes a message that came to an inbox of the controller. Messages to other inboxes are ignored.
 */
void controller_message(struct controller *c, const char *subject, const void *bytes, size_t len);

/*
 * Takes an ANSWER, or a DONE with its result (NULL: none), of a node that was asked by
 * controller_host.request.
 */
void controller_take(struct controller *c, const struct fleet_message *m, const void *result);

/*
 * Takes the name of a node that was seen lately. If the node did not answer the census, the
 * coverage names it. A call during the census does nothing.
 */
void controller_take_seen(struct controller *c, const char *node);

/*
 * Takes the next steps of the request that are due. Call it after messages, and several times a
 * second.
 */
void controller_step(struct controller *c);

/* With order.waits: sets the share of the nodes that take part, above 0. */
void controller_choose(struct controller *c, double share);

/*
 * The share of nodes that the order asks for, given the number of nodes that matched. For a choice
 * across several controllers.
 */
double controller_share(const struct controller *c);

/*
 * Ends the recordings early and merges their results. The second call stops waiting for recordings
 * that have not ended, the third one for results that have not arrived.
 */
void controller_stop(struct controller *c);

struct controller_state controller_view(const struct controller *c);

/* The profile in sysflame's own format, in phase ENDED without an error. */
const struct str *controller_profile(const struct controller *c);
