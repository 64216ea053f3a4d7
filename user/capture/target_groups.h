/* SPDX-License-Identifier: Apache-2.0 */
/* The control groups that selectors stand for. */
#pragma once

#include "abi.h"
#include "base/vec.h"
#include "capture/targets.h"
#include "knobs.h"

struct selector {
	enum target_kind kind;
	bool excludes;
	char *text;     /* owned */
	u32 number;     /* the pid or uid */
	int pidfd;      /* of the process; -1: not open */
	bool has_ended; /* the process: others may have its PID */
	u32 mask;       /* enum select */
	bool is_absent; /* it is about control groups, and there was none when last looked */
};

struct selectors {
	VEC(struct selector) all;
};

struct target_groups;

/* `containers` must outlive it. */
struct target_groups *target_groups_new(struct containers *containers);
void target_groups_free(struct target_groups *g);

/* Sets the hierarchies of `knobs` in which the selected groups are or may come to be. */
void target_groups_configure(struct target_groups *g, struct selectors *s, struct knobs *knobs);

/*
 * Brings the map of control groups up to date. Logs what is not there, and what comes and goes.
 * Returns which of the knobs' hierarchies have groups in the map, as bits.
 */
u32 target_groups_follow(struct target_groups *g, struct selectors *s, int map_fd);
