/* SPDX-License-Identifier: Apache-2.0 */
/* Makes requests from the profile of a minute: one for each service and protocol. */
#pragma once

#include "base/str.h"
#include "profile/profile.h"
#include "push/receiver.h"
#include "push/request.h"

#define PUSH_STACKS_MAX 15000 /* of an event of a service; Pyroscope takes 16,000 */

/*
 * Appends heads and requests for the protocols whose bits are set in `kinds`, a service after the
 * other. Weights of equal stacks are added up: processes and threads are not distinguished. CPU
 * time becomes samples and their period. Changes `p`. Negative errno.
 */
int push_bodies(struct profile *p, u32 kinds, const char *host, struct str *out);

/*
 * -EEXIST with a sentence in `why` if a label of the node, "KEY=VALUE,..", would repeat another one
 * or what sysflame itself sends to a receiver.
 */
int push_labels_check(const char *labels, struct str *why);
