/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node of the fleet: answers requests, keeps results for a while and hands them out. It has no
 * clock, network or recorder of its own; the host (user/web/fleet/fleet.c, or a test) has.
 *
 *   SIGNED -> checks -> host.start -> node_agent_started -> ANSWER
 *                                     node_agent_ended   -> DONE -> GET -> CHUNK ..
 */
#pragma once

#include "fleet/node/budget.h"
#include "fleet/wire/key.h"
#include "fleet/wire/policy.h"

#define NODE_AGENT_RESULT_S 600         /* a result is kept so long */
#define NODE_AGENT_RESULTS  (64u << 20) /* bytes of all results */
#define NODE_AGENT_SILENT_S 60          /* a recording ends if nobody says ALIVE so long */
#define NODE_AGENT_ENDING_S 45          /* from the end of the recording to its result */
/* .. a recording also ends if one of the next two conditions holds so long */
#define NODE_AGENT_STRAIN_S   30
#define NODE_AGENT_CPU_PPM    50000 /* the recorder's own CPU time that ends a recording */
#define NODE_AGENT_PRESSURE   60    /* percent of PSI "some" */
#define NODE_AGENT_LOST       20    /* percent of samples */
#define NODE_AGENT_LOST_LEAST 1000  /* .. of at least so many */

/* A recording that the daemon has to start. */
struct node_agent_work {
	u32 number; /* for node_agent_started and node_agent_ended */
	const struct fleet_request *request;
	const struct selector *selector;
	const char *person;
};

struct node_agent_facts {
	bool has_recorder;
	u32 nr_cpus, nr_jvms;
	u64 busy_ppm; /* the node agent fills it in, from host.busy_ppm */
	struct policy_caps caps;
	u64 cpu_ns;       /* of the recorder, all that it has used */
	u64 cpu_ppm;      /* of the recorder now */
	u32 pressure_pct; /* PSI "some" of the CPU over 10 s; 0 if unknown */
	char services[FLEET_SERVICES][104];
	u32 nr_services, nr_all_services;
	const char *url;    /* of its own page; NULL: unknown */
	const char *kernel; /* its release; NULL: unknown */
};

struct node_agent_result {
	enum verdict verdict; /* ACCEPT: there are bytes */
	const char *why;
	const void *bytes;
	size_t len;
	u64 samples, lost, profile;
	u64 covered_ms; /* recorded time; 0: all that was asked for */
	u32 nr_died;    /* selected JVMs that crashed during the recording */
};

struct node_agent_host {
	void *ctx;
	u64 (*mono_ns)(void *ctx);
	u64 (*wall_ms)(void *ctx);
	bool (*is_disabled)(void *ctx);
	void (*look)(void *ctx, struct node_agent_facts *out);

	/* Whether processes that the selector wants may run here. */
	bool (*runs)(void *ctx, const struct selector *s);

	/*
	 * Starts a recording. Must call node_agent_started once, perhaps before it returns, and
	 * node_agent_ended when a recording that could be started has ended.
	 */
	void (*start)(void *ctx, const struct node_agent_work *w);

	/* Ends a recording early; its result still arrives. */
	void (*stop)(void *ctx, u32 number);

	/* Samples and losses so far; false if they are unknown. */
	bool (*progress)(void *ctx, u32 number, u64 *samples, u64 *lost);
	void (*publish)(void *ctx, const char *subject, const void *bytes, size_t len);
	void (*audit)(void *ctx, const char *person, const char *what);
	void (*refusal)(void *ctx, const char *person, const char *what); /* the same */

	/* As busy_ppm of fleet_answer. May be NULL: unknown. */
	u64 (*busy_ppm)(void *ctx, const struct selector *s);

	/*
	 * Keeps the message with the fleet's policy, which replaces the one before. After a restart
	 * the host brings it by node_agent_message. May be NULL.
	 */
	void (*keep_policy)(void *ctx, const void *bytes, size_t len);
};

struct node_agent;

/* `labels`: "zone=a,version=2"; the name is the label `node`. The host must outlive it. */
struct node_agent *node_agent_new(const char *name, const char *labels,
				  const struct node_agent_host *host);
void node_agent_free(struct node_agent *n);

/* Takes the keys over. */
void node_agent_set_keys(struct node_agent *n, struct fleet_keys *keys);

/* Whether a policy of the fleet holds. It ends when its signer is no operator any more. */
bool node_agent_has_policy(const struct node_agent *n);

/* The subjects that the node agent listens to; NULL after the last. */
const char *node_agent_subject(const struct node_agent *n, u32 i);

/* Takes a message on one of these subjects; `reply` may be "". */
void node_agent_message(struct node_agent *n, const char *reply, const void *bytes, size_t len);

/*
 * The host reports on a recording that it was asked to start. `v` is ACCEPT if the recording runs.
 */
void node_agent_started(struct node_agent *n, u32 number, enum verdict v, const char *why);
void node_agent_ended(struct node_agent *n, u32 number, const struct node_agent_result *r);

/*
 * Reports the number of selected JVMs that have crashed since the start of a recording. Crashes
 * after its end count, too.
 */
void node_agent_died(struct node_agent *n, u32 number, u32 nr);

/*
 * The budget outlives a restart of the daemon: the host keeps node_agent_budget_left, and brings it
 * with what has been refilled since. Without a call the first request finds the budget full.
 */
void node_agent_set_budget(struct node_agent *n, u32 nr_cpus, u64 left_ns);
u64 node_agent_budget_left(struct node_agent *n);

/* Handles deadlines that have passed. Call it several times a second. */
void node_agent_tick(struct node_agent *n);
