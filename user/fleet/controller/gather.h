/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller's view of the nodes: who answered what, and the results, fetched a few at a time.
 * A node counts once, by its name, even if its messages arrive twice. The waves of a recording are
 * requests of one id. A gather has no clock and no network of its own.
 */
#pragma once

#include "base/vec.h"
#include "fleet/controller/pull.h"

#define GATHER_NODES_MAX 100000
#define NODE_NAMES_SHOWN 10

/* Names of nodes; each counts once. */
struct node_names {
	struct node_name *all; /* owned */
	size_t nr;
};

void node_names_add(struct node_names *n, const char *name);

/* "n1, n2 and 3 more"; the caller frees it. */
char *node_names_text(const struct node_names *n);
void node_names_fini(struct node_names *n);

enum gather_state {
	GATHER_REFUSED, /* its verdict says why */
	GATHER_WORKS,   /* it has accepted; no result yet */
	GATHER_READY,   /* its result is fetched */
	GATHER_DELIVERED,
	GATHER_FAILED, /* it accepted; its verdict says why there is no result */
	NR_GATHER_STATES,
};

struct gather_node {
	char name[64];
	char *why, *labels, *version, *kernel; /* owned, never NULL */
	char *services;                        /* some of the node's services, one a line */
	u32 nr_services;                       /* that it has */
	char *url;                             /* of its own page; "": unknown */
	char *runs;                            /* requests that the node serves, one a line */
	u64 instance;
	bool has_twin; /* another node of its name */
	enum gather_state state;
	enum verdict verdict;
	u32 nr_cpus, nr_jvms, nr_died;
	bool has_answered; /* in a census: the node has answered the request, too */
	u64 busy_ppm, policy_ms, samples, lost, profile, covered_ms;
	struct pull pull; /* of its result */
};

struct gather_host {
	void *ctx;
	void (*publish)(void *ctx, const char *subject, const char *reply, const void *bytes,
			size_t len);
	/* Stops the request on that node. */
	void (*stop)(void *ctx, const char *node);
	/* The whole result of a node; a fetched one fits its SHA-256. Negative errno: it is lost.
	 */
	int (*deliver)(void *ctx, const struct gather_node *n);
};

struct gather {
	const struct gather_host *host;
	struct pulls_host pulls_host;
	struct pulls pulls;
	u8 id[FLEET_ID_LEN];         /* of the request, in all waves */
	struct sampling sampling;    /* a refusal counts if the rank of its node is below to_rank */
	const char *selector;        /* of the request; NULL: unknown */
	const struct gather *census; /* nodes that do not match there are late; NULL: unknown */
	u64 asked_ms;                /* length of a recording; 0: unknown */
	bool skips_others;           /* nodes that do not match are not listed */
	VEC(struct gather_node *) nodes; /* in the order of their answers */
	size_t nr_in[NR_GATHER_STATES];
	struct gather_names *names;
	struct node_names foreign; /* nodes of another version of the protocol: they are left out */
	struct node_names seen;    /* gather_take_seen: they should answer */
	struct node_names late;    /* nodes that the census does not count: they are stopped */
	u32 nr_twins;              /* answers of a second node of the same name */
	u32 nr_strange;            /* messages to the subject, or with the label, of another node */
	/* number of answers with news, by which callers notice a silence */
	u64 nr_answers;
};

void gather_init(struct gather *g, const struct gather_host *host, const u8 *id, const u8 *secret,
		 const char *inbox);
void gather_fini(struct gather *g);

/*
 * Takes a message to one of the inboxes of `g`, and ignores others. Also ignores a message whose
 * node differs from its subject or from its label `node`.
 */
void gather_take(struct gather *g, const char *subject, const struct fleet_message *m);

/* Takes ANSWER, or DONE with its result (NULL: none), of a node that is asked in this process. */
void gather_take_direct(struct gather *g, const struct fleet_message *m, const void *result);

/* Takes a message of another version of the protocol. */
void gather_take_foreign(struct gather *g, const char *subject);

/* Takes the name of a node that was seen before. The node counts as silent until it answers. */
void gather_take_seen(struct gather *g, const char *name);

/* Asks for chunks, and again for those that did not arrive. */
void gather_tick(struct gather *g, u64 now_ns);

/* The nodes that accepted and have not sent DONE are asked for it by ALIVE, or stopped, each alone.
 */
void gather_remind(struct gather *g);
void gather_stop(struct gather *g);

size_t gather_count(const struct gather *g, enum gather_state state);
struct gather_node *gather_find(const struct gather *g, const char *name);

/* All nodes, sorted; the caller frees the list. */
struct gather_node **gather_by_name(const struct gather *g);

/* The first node that matches, if none of them knows the key, or the signature is not right. */
const struct gather_node *gather_refuses_key(const struct gather *g);

/*
 * 1 / (the recorded part of the time that was asked for), in 1e-6. Less than 1 for old slices,
 * which last up to ten minutes and are taken as a whole.
 */
u64 gather_weight_ppm(const struct gather *g, const struct gather_node *n);

/* Appends the answers of the nodes as messages, each behind its length, a u32. */
void gather_save(const struct gather *g, struct str *out);

/* A delivered result turned out to be no profile. */
void gather_spoiled(struct gather *g, struct gather_node *n, const char *why);

/* Nodes that accepted and did not deliver in time have failed. */
void gather_give_up(struct gather *g);

/*
 * A sentence with the names of nodes with another version of the protocol. NULL if there is no such
 * node. The caller frees it.
 */
char *census_foreign_text(const struct gather *census);

/* As census_foreign_text, for nodes that were seen before and did not answer. */
char *census_silent_text(const struct gather *census);

/* Whether nodes were seen before, and all of them have answered. */
bool census_is_complete(const struct gather *census);

/* As census_foreign_text, for nodes that were chosen and did not answer the request. */
char *census_unanswered_text(const struct gather *nodes);

/* Names of nodes that answered the census of a request, also of late ones, a line each. */
char *census_names(const struct gather *nodes);

/* As census_foreign_text, for nodes of a request that its census does not count. */
char *census_late_text(const struct gather *nodes);

/* Reports the nodes with another version of the protocol. */
void census_text_report(const struct gather *census, void (*report)(void *ctx, const char *text),
			void *ctx);
