/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fleet's policy (fleet/fleet_policy.h) in the daemon: it is read from JetStream once after
 * each connection, and kept in the daemon's directory for a start without a connection.
 */
#pragma once

#include "base/types.h"

struct link;
struct member;

struct fleet_policy_source {
	int dir;
	u64 ask_ns; /* when JetStream is to be asked; 0: it was */
};

/* Brings the member the policy that was kept. */
void fleet_policy_load(const struct fleet_policy_source *s, struct member *n);

/* Keeps the message with a policy. */
void fleet_policy_keep(const struct fleet_policy_source *s, const void *bytes, size_t len);

/* After each connection: JetStream is asked soon. */
void fleet_policy_connected(struct fleet_policy_source *s, u64 now_ns);
void fleet_policy_tick(struct fleet_policy_source *s, struct link *l, const char *node, u64 now_ns);
