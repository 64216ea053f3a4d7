/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that the web process has; made and freed by web.c. */
#pragma once

#include "web/http/auth.h"
#include "web/jobs/queue.h"
#include "web/recordings/alerts.h"
#include "web/recordings/keeping.h"
#include "web/recordings/recorder_link.h"
#include "web/recordings/triggered.h"
#include "web/recordings/users.h"

struct fleet;
struct fleet_requests;
struct push;
struct sessions;
struct streams;

/* The kinds of changes that clients with an open stream have not been sent yet. */
enum change {
	CHANGED_PROFILES = 1,
	CHANGED_SESSIONS = 2,
	CHANGED_JVMS = 4,
	CHANGED_NODE = 8,
	CHANGED_FLEET = 16,
	CHANGED_TRIGGERS = 32,
};

struct service {
	int dir;                               /* the store's */
	u64 max_disk_bytes, max_profile_bytes; /* of the store and of a profile; 0: the default */
	u64 nr_restarts;                       /* web processes of this daemon before this one */
	struct store *store;
	struct workers *workers;
	struct queue *queue;
	struct recorder_link recorder;
	struct auth auth;
	struct users users;
	struct store_health store_health;
	struct sessions *sessions;
	struct streams *streams;
	struct thinning thinning;
	struct triggered triggered;
	struct alerts alerts;
	struct fleet *fleet;             /* NULL: this node is in no fleet */
	struct fleet_requests *requests; /* NULL: this server asks no fleet */
	struct push *push;               /* NULL: nothing is pushed */
	char host[256];
	u64 started_wall_ns;
	u32 changed;                        /* enum change */
	u64 nr_samples, nr_lost, nr_missed; /* of all parts and slices since the start */
	u64 covered_ns;                     /* by slices that were stored since the start */
};
