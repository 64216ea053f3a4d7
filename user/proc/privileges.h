/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which process of a recording keeps which capabilities, and for what. docs/operations.md has the
 * same table.
 */
#pragma once

#include "base/types.h"

enum privileged {
	PRIVILEGED_RECORDER,
	PRIVILEGED_ATTACH,  /* the helper that attaches, and its children */
	PRIVILEGED_OPENER,  /* opens files with the ids of other processes */
	PRIVILEGED_MEMORY,  /* reads memory for the recorder, and forks processes that do */
	PRIVILEGED_WEB,     /* serves HTTP for the daemon; keeps no capability */
	PRIVILEGED_NETWORK, /* talks to NATS or sends profiles; keeps no capability */
	PRIVILEGED_NR,
};

/* Reasons for which the recorder keeps more. */
enum privilege_reason {
	PRIVILEGE_ALWAYS = 0,
	PRIVILEGE_UPROBES = 1 << 0,  /* the kernel attaches uprobes only with CAP_SYS_ADMIN */
	PRIVILEGE_PARANOID = 1 << 3, /* the kernel opens perf events only with CAP_SYS_ADMIN */
	PRIVILEGE_MEASURE = 1 << 1,  /* the run time of BPF programs is measured */
	PRIVILEGE_OUTPUT = 1 << 2,   /* the output's folder admits its owner only */
};

struct privilege {
	enum privileged process;
	int number;           /* CAP_ */
	int stand_in;         /* a wider one, kept if this one is missing; -1: none */
	u32 reason;           /* kept only for this reason, enum privilege_reason */
	const char *name;     /* of the process */
	const char *purpose;  /* what the process needs it for */
	const char *if_asked; /* the reason in words; NULL for PRIVILEGE_ALWAYS */
};

/* Calls `visit` with each line of the table. */
typedef void (*privilege_fn)(const struct privilege *p, void *ctx);
void privileges_each(privilege_fn visit, void *ctx);

/* What the process keeps of the capabilities `held`. `reasons`: bits of privilege_reason. */
u64 privileges_of(enum privileged process, u32 reasons, u64 held);

/*
 * Drops all other capabilities for good, from all sets, and forbids to gain any (NoNewPrivs). Only
 * for this thread and those that it starts later. A missing capability is no error. Returns a
 * negative errno.
 */
int privileges_keep(enum privileged process, u32 reasons);
