/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parent of the daemon's processes. It starts them, connects them, again when one of them asks,
 * and starts them again when they end (restart_at_ns); it parses nothing. The processes end when
 * the parent ends. Signals to the parent's group do not reach them.
 */
#pragma once

#include "base/time.h"
#include "base/types.h"
#include "daemon/channel/pulse.h"
#include "proc/blocking.h"

/*
 * Runs a process: `control_fd` is its end of the socket over which channels come
 * (daemon/channel/handover.h). `nr_before` processes of its kind have ended. Returns an exit
 * status.
 */
typedef int (*supervised_fn)(int control_fd, u64 nr_before, void *ctx);

struct supervised {
	const char *name; /* for messages */
	supervised_fn run;
	void *ctx;
};

/*
 * Runs both until SIGTERM or SIGINT. The recorder is killed if its pulse stops, and the process
 * that it was reading is excluded from then on. A process that fails within 3 s of the first start
 * ends the supervisor. `ready` is called once both run and the recorder has begun to work. Returns
 * an exit status.
 */
struct supervisor_options {
	struct supervised recorder, web; /* with a rendezvous, one of them has no `run` */
	struct rendezvous *rendezvous;   /* NULL: both are this supervisor's */
	struct pulse *pulse;
	struct excluded_list *excluded; /* a recorder that starts inherits it */
	void (*ready)(void *ctx);
	/* At SIGHUP: renews what the web process at the other end of `sock` got. NULL: nothing. */
	void (*renew)(int sock, void *ctx);
	void *ctx;
};
int supervisor_run(const struct supervisor_options *o);

/* When a process of the daemon that ended is started again. */

/* The restarts in a row that come at once. */
#define RESTARTS_AT_ONCE 6

/* From then on a process that keeps failing waits this long. */
#define RESTART_EACH_NS (10 * NS_PER_SEC)

/* All zero: the process has not ended yet. */
struct restart {
	u64 paid_until_ns; /* each restart adds RESTART_EACH_NS */
};

/* The time of the restart after an end at `now_ns`; both of CLOCK_MONOTONIC. */
u64 restart_at_ns(struct restart *r, u64 now_ns);
