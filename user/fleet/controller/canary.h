/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recordings of the last day have shown to be harmless. A large recording begins with one node
 * and then 1 % of them, and waits for crashes of JVMs after each wave. If all its nodes are of
 * versions of sysflame and of the kernel that recorded the same events at the same rate without a
 * crash, it needs no waves.
 */
#pragma once

#include "base/vec.h"
#include "fleet/controller/gather.h"

#define CANARY_FILE "canary" /* in the folder of a person's key; a line an entry */
#define CANARY_MS   (24 * 3600 * 1000ull)
#define CANARY_NODES \
	3 /* so many nodes speak for all nodes of their versions, fewer for themselves */

struct canary_entry {
	u64 at_ms; /* since 1970 */
	u32 hz;
	char *node; /* "": all nodes of these versions */
	char *version, *kernel, *events;
};

struct canary {
	char *path;
	VEC(struct canary_entry) all;
};

/* Reads the file in `dir`; one that is missing or damaged counts as empty. */
void canary_open(struct canary *c, const char *dir);
void canary_fini(struct canary *c);

/* Whether recording needs no waves on these nodes, those of a census. */
bool canary_knows(const struct canary *c, const char *events, u32 hz, u64 now_ms,
		  const struct gather *census);

/*
 * Takes the nodes of a recording that has ended, and writes the file. If a sampled JVM has crashed,
 * its events are new again. Negative errno: the file cannot be written. Without `c` nothing
 * happens.
 */
int canary_learn(struct canary *c, const char *events, u32 hz, u64 now_ms,
		 const struct gather *nodes);
