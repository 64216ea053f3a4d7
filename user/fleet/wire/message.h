/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages between controller and nodes (docs/fleet-protocol.md), as bytes and as structs.
 * Whoever can publish may have made the bytes: every text that message_decode returns is clean
 * UTF-8 and ends in a NUL, every number is within its limits.
 */
#pragma once

#include "base/str.h"

#define FLEET_VERSION     1
#define FLEET_ID_LEN      16
#define FLEET_KEY_LEN     32
#define FLEET_SIGN_LEN    64
#define FLEET_HASH_LEN    32
#define FLEET_CHUNK_MAX   (128u << 10) /* of a profile; one packet of fleet/wire/link.h holds it */
#define FLEET_MESSAGE_MAX (FLEET_CHUNK_MAX + 1024)
#define FLEET_SERVICES    16 /* names in an answer */
#define FLEET_RUNS        4
#define FLEET_RUN_TEXT    400
#define FLEET_URL_TEXT    128
#define FLEET_WEIGHT_MAX  1000000000ull
#define FLEET_BLOB_MAX    (4u << 20)
#define FLEET_PPB         1000000000u
#define FLEET_CPUS_MAX    8192 /* of a node; Linux has no more */

/* On the wire: append only. */
enum verdict {
	VERDICT_ACCEPT = 0,
	VERDICT_NO_MATCH = 1,  /* the selector or the sampling hash leaves the node out */
	VERDICT_BUDGET = 2,    /* the day's CPU time is spent */
	VERDICT_POLICY = 3,    /* the key, or this node, does not allow it */
	VERDICT_BUSY = 4,      /* the most requests that may run at once are running */
	VERDICT_CLOCK = 5,     /* the request comes from the future */
	VERDICT_SIGNATURE = 6, /* the key is unknown, or did not sign it */
	VERDICT_REPLAY = 7,    /* it was seen before */
	VERDICT_EXPIRED = 8,
	VERDICT_DISABLED = 9, /* somebody switched the node off */
	VERDICT_FAILED = 10,  /* it tried */
	NR_VERDICTS,
};

/* "ACCEPT", .. */
const char *verdict_name(enum verdict v);

enum message_kind {
	MESSAGE_SIGNED = 1, /* controller -> nodes */
	MESSAGE_ANSWER,     /* node -> controller: whether it takes part */
	MESSAGE_DONE,      /* node -> controller: its result can be fetched, or why there is none */
	MESSAGE_GET,       /* controller -> node: a piece of the result */
	MESSAGE_CHUNK,     /* node -> controller */
	MESSAGE_ALIVE = 7, /* controller -> nodes: somebody still waits */
	MESSAGE_POLICY,    /* operator -> nodes: limits for all of them (fleet/wire/policy.h) */
	NR_MESSAGE_KINDS,
};

enum fleet_want {
	WANT_CENSUS,
	WANT_RECORDING,
	WANT_SLICES, /* of continuous profiling, `ago_s` before now */
	WANT_AUDIT,  /* the node's audit list, as text */
	WANT_STOP,   /* ends `target` early */
	NR_WANTS,
};

/*
 * Which nodes take part: those whose rank (fleet/wire/selector.h) lies in [from_rank, to_rank). A
 * node's chance is cpu_ppb for each CPU that the selected processes use, at least least_ppb; it is
 * unknown_ppb if the node does not know their use. Chances of 0 mean FLEET_PPB: certain.
 */
struct sampling {
	u8 seed[FLEET_ID_LEN]; /* seed of the sampling hashes, the same in all waves */
	u64 cpu_ppb;
	u32 least_ppb, unknown_ppb;
	u32 from_rank, to_rank;
};

struct fleet_request {
	u8 id[FLEET_ID_LEN], nonce[FLEET_ID_LEN];
	u64 sent_ms; /* the controller's clock */
	enum fleet_want want;
	char selector[256], events[128], reason[128];
	u32 hz;         /* 0: 99 */
	u32 duration_s; /* from receipt on; of SLICES: the length of the range */
	u32 ago_s;      /* SLICES: from the end of the range to the receipt */
	struct sampling sampling;
	u32 nr_nodes;                 /* nodes that will take part, in all waves; 0: unknown */
	u8 pull_hash[FLEET_HASH_LEN]; /* SHA-256 of the secret in GET */
	u8 target[FLEET_ID_LEN];      /* STOP: the id of that request; zero: all of them */
};

struct fleet_signed {
	u8 request[1024]; /* fleet_request, encoded; or a fleet_policy */
	u32 len;
	u8 key[FLEET_KEY_LEN], signature[FLEET_SIGN_LEN];
};

struct fleet_answer {
	u8 id[FLEET_ID_LEN];
	char node[64];
	u64 instance; /* random; a restarted node has another one */
	enum verdict verdict;
	char why[256], labels[256], version[32];
	char kernel[65];          /* its release; "": unknown */
	char url[FLEET_URL_TEXT]; /* of the node's own page; "": unknown */
	char services[FLEET_SERVICES][104];
	u32 nr_services;     /* in `services` */
	u32 nr_all_services; /* that the node has */
	u32 nr_cpus, nr_jvms;
	u64 policy_ms; /* when the fleet policy that the node holds was signed; 0: it holds none */
	u64 busy_ppm;  /* CPUs that the selected processes used lately, in 1e-6; 0: unknown;
			  1: none. Of a request: as in the node's answer to its census */
	char runs[FLEET_RUNS][FLEET_RUN_TEXT]; /* requests that are being served; "": none */
};

struct fleet_done {
	u8 id[FLEET_ID_LEN];
	char node[64];
	u64 instance;
	enum verdict verdict;
	char why[256];
	u64 size; /* of the result; 0 unless `verdict` is ACCEPT */
	u8 sha256[FLEET_HASH_LEN];
	u64 samples, lost;
	u64 profile; /* number of the profile in the node's own daemon; 0: it is not stored there */

	/*
	 * Selected JVMs that SIGSEGV, SIGBUS, SIGILL or SIGABRT ended, from the start of the
	 * recording to 60 s after its end. DONE is sent again when the number grows.
	 */
	u32 nr_died;
	/*
	 * recorded time; for old slices their time, if longer than asked for; 0: all that was asked
	 * for
	 */
	u64 covered_ms;
};

struct fleet_get {
	u8 id[FLEET_ID_LEN];
	u64 instance;
	u8 secret[FLEET_ID_LEN];
	u64 offset;
	u32 len;
};

struct fleet_chunk {
	u8 id[FLEET_ID_LEN];
	char node[64];
	u64 instance, offset;
	const u8 *data; /* points into the message */
	u32 len;
};

struct fleet_alive {
	u8 id[FLEET_ID_LEN];
};

struct fleet_message {
	enum message_kind kind;
	union {
		struct fleet_signed sealed; /* SIGNED, POLICY */
		struct fleet_answer answer;
		struct fleet_done done;
		struct fleet_get get;
		struct fleet_chunk chunk;
		struct fleet_alive alive;
	};
	void *owner; /* of the chunk's data */
};

/*
 * Reads a message; message_fini frees what it holds. -EPROTONOSUPPORT: it is of another version.
 * -EBADMSG: it is malformed, or a value is outside its limits.
 */
int message_decode(const void *bytes, size_t len, struct fleet_message *out);
void message_fini(struct fleet_message *m);

/* Appends the message. */
void message_encode(const struct fleet_message *m, struct str *out);

/* "https://host.example:7070/prefix", without a user, a query or a slash at the end. */
bool message_url_is_valid(const char *url);

/* The request within MESSAGE_SIGNED. -EBADMSG as above; -E2BIG if it does not fit into one. */
int request_decode(const u8 *bytes, size_t len, struct fleet_request *out);
int request_encode(const struct fleet_request *r, struct fleet_signed *out);

/* Signs a request, and appends it as a message. Negative errno. */
int request_seal(const struct fleet_request *r, const u8 *private_key, struct str *out);
