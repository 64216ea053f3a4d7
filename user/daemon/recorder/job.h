/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording that the web process asked for: from START to ENDED. Its profile is handed out in
 * parts while it runs, so that a recorder that is killed loses the last seconds only.
 */
#pragma once

#include "capture/node.h"
#include "daemon/recorder/conf.h"
#include "daemon/recorder/outbox.h"

struct job;

/*
 * Starts the recording that was asked for, within the limits of `conf`. Samples get the label
 * `service`. If it cannot start, returns NULL and sends ENDED.
 */
struct job *job_start(struct node *n, const struct conf *conf, const struct control_start *wanted,
		      struct outbox *out);

u32 job_id(const struct job *j);

/* Ends the window; parts and ENDED follow from job_tick. */
void job_stop(struct job *j);

/* Ends the window early. `why`, a sentence, becomes a part of the profile. */
void job_cut(struct job *j, const char *why);

/* Ends the recording without a further part. */
void job_discard(struct job *j);

/* Sends progress and complete parts. Returns true after it sent ENDED; then call job_free. */
bool job_tick(struct job *j, u64 now_ns);
void job_free(struct job *j);
