/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process from which workers are forked. It starts before the recorder has read or opened
 * anything. A worker therefore inherits no memory of other users, no BPF map and no perf event, and
 * its fork takes less than a millisecond.
 */
#pragma once

#include "sandbox/worker.h"

struct zygote {
	pid_t pid;
	int sock;
	int sched_fd;  /* of its /proc/PID/schedstat; -1: none */
	u32 number;    /* of the last request to fork */
	bool is_ready; /* it has reported that its rights are gone */
};

/*
 * Starts the zygote. It drops its rights before it forks a worker; zygote_await waits for that.
 * After an error of either the zygote does not run.
 */
int zygote_start(const struct worker_kind *kind, struct zygote *out);
int zygote_await(struct zygote *z);

/*
 * Starts a worker with its end of the socket and the shared memory, which stay the caller's.
 * Returns its PID or a negative errno. The zygote reaps it; its end shows at the other end of the
 * socket. -EAGAIN: no process can be started at the moment. Other errors: the zygote has ended, or
 * it does not answer in time (-ETIMEDOUT); a late answer is not taken for that of another request.
 */
pid_t zygote_fork(struct zygote *z, int sock, int shared);

/* Kills a worker whose end of the socket is still open. */
void zygote_kill(const struct zygote *z, pid_t worker);

/* Ends the zygote and all its workers. */
void zygote_stop(struct zygote *z);
