/* SPDX-License-Identifier: Apache-2.0 */
/* The control groups that selectors refer to. */
#pragma once

#include "abi.h"
#include "base/vec.h"
#include "capture/targets/targets.h"
#include "knobs.h"

struct selector {
	enum target_kind kind;
	bool excludes;
	char *text;     /* owned */
	u32 number;     /* the pid or uid */
	int pidfd;      /* of the process; -1: not open */
	bool has_ended; /* the process has ended; others may have its PID */
	u32 mask;       /* enum select */
	bool is_absent; /* a selected group did not exist when last checked */
	bool was_found; /* it existed at some time */
};

struct selectors {
	VEC(struct selector) all;
};

struct target_groups;

/* `containers` must outlive it. */
struct target_groups *target_groups_new(struct containers *containers);
void target_groups_free(struct target_groups *g);

/* Sets the hierarchies of `knobs` that hold the selected groups, or may come to hold them. */
void target_groups_configure(struct target_groups *g, struct selectors *s, struct knobs *knobs);

/* Whether the names of all containers are known. Call it after target_groups_configure. */
bool target_groups_are_known(const struct target_groups *g);

/* "container", "pod" or "control group", for people. */
const char *target_groups_kind(const struct selector *s);

/*
 * Updates the map of control groups. Logs missing groups, and groups that appear or disappear.
 * Returns which of the knobs' hierarchies have groups in the map, as bits.
 */
u32 target_groups_follow(struct target_groups *g, struct selectors *s, int map_fd);
