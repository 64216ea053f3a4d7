/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The web process of the daemon: HTTP, the API of docs/api.yaml, the user interface, and the store.
 * It has no rights but its store and its socket. It parses no profile: workers do (web/jobs.h).
 */
#pragma once

#include "base/types.h"
#include "push/backlog.h"
#include "push/credentials.h"
#include "push/receiver.h"
#include "store/store.h"

/* The fleet that this node belongs to (docs/fleet.md). */
struct web_fleet {
	const char *url, *dir;     /* of the NATS server; the folder with the file of keys */
	const char *node, *labels; /* its name; "zone=a,version=2" */
	const char *page_url;      /* by which people reach this daemon; NULL: unknown */
};

/* Where profiles are pushed to (web/push.h). */
struct web_push {
	struct receiver receivers[RECEIVERS_MAX];
	struct credentials *credentials; /* of each; wiped once the senders have them */
	u32 nr;
	struct backlog_limits limits;
	const char *labels; /* of this node, KEY=VALUE,..; "" for none */
};

/* The fleet that this server asks (sysflame fleet serve). */
struct web_asks {
	const char *url, *dir;   /* of NATS; the folder with nats.nk and ca.pem */
	const u8 *private_key;   /* of the person; FLEET_KEY_LEN bytes */
	struct workers *workers; /* of merge_start_workers; web_run frees them */
};

struct web_options {
	int listen_fd;   /* bound and listening; TCP or a unix socket */
	int control_fd;  /* SOCK_SEQPACKET to the supervisor, see below */
	u64 nr_restarts; /* web processes of this daemon before this one */
	int dir;         /* the store's directory */
	struct store_limits limits;
	const char *prefix;         /* of all paths, "" or "/profiles" */
	const char *operator_token; /* what a login needs; 32 bytes or more */
	const char *viewer_token;
	const char *allowed_hosts; /* further values of Host: "a.example:7070,b"; may be NULL */
	const char *tls_cert, *tls_key; /* PEM; NULL: plain HTTP */
	bool is_behind_tls;            /* a proxy in front speaks HTTPS: cookies are for it alone */
	bool is_loopback;              /* the socket cannot be reached from elsewhere */
	u64 max_profile_bytes;         /* of a recording; a longer one becomes several. 0: 48 MB */
	struct workers *workers;       /* of web_start_workers; web_run takes them over */
	const struct web_fleet *fleet; /* NULL: this node is in no fleet */
	const struct web_asks *asks;   /* NULL: this server asks no fleet */
	const struct web_push *push;   /* NULL: nothing is pushed */
};

/*
 * Starts the processes that parse profiles; sets o->workers. Call it before the rights are dropped
 * that make each worker a user of its own. Negative errno.
 */
int web_start_workers(struct web_options *o);

/*
 * Serves until SIGTERM, or until the supervisor closes its end. Returns an exit status.
 *
 * The supervisor sends one byte with a descriptor: the channel (control/channel.h) to a recorder
 * that has just started, or that is asked again (handover_ask). An earlier channel is over then.
 * Recordings that ran there are kept as STORED_PARTIAL. At SIGHUP it sends another certificate
 * (handover_send_tls); connections that exist keep the earlier one.
 */
int web_run(const struct web_options *o);
