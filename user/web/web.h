/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The web process of the daemon: HTTP, the API of docs/api.yaml, the user interface, and the store.
 * It has no rights but its store and its socket. It parses no profile: workers do
 * (web/jobs/jobs.h).
 */
#pragma once

#include "base/types.h"
#include "store/store.h"
#include "web/http/site.h"

struct web_asks;
struct web_fleet;
struct web_push;

struct web_options {
	struct site site;
	int control_fd;  /* SOCK_SEQPACKET to the supervisor, see below */
	u64 nr_restarts; /* web processes of this daemon before this one */
	int dir;         /* the store's directory */
	struct store_limits limits;
	u64 max_profile_bytes;         /* of a recording; a longer one becomes several. 0: 48 MB */
	struct workers *workers;       /* of web_start_workers; web_run takes them over */
	const char *node;              /* its name; NULL: that of the host */
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
 * The supervisor sends one byte with a descriptor: the channel (daemon/channel/channel.h) to a
 * recorder that has just started, or that is asked again (handover_ask). An earlier channel is over
 * then. Recordings that ran there are kept as STORED_PARTIAL. At SIGHUP it sends another
 * certificate (handover_send_tls); connections that exist keep the earlier one.
 */
int web_run(const struct web_options *o);
