/* SPDX-License-Identifier: Apache-2.0 */
/* One reading of the node and of all its JVMs, in an order. */
#pragma once

#include "base/vec.h"
#include "top/jvm_meter.h"
#include "top/node_load.h"

struct board {
	struct node_load load;
	double own;    /* CPUs that this program uses, with its BPF programs; negative: unknown */
	double other;  /* CPUs that processes other than JVMs use; negative: unknown */
	u64 passed_ns; /* since the last reading; 0: this is the first one */
	VEC(struct jvm_row) rows;
};

enum board_key {
	BOARD_CPU,
	BOARD_ALLOC,
	BOARD_GC,
	BOARD_JIT,
	BOARD_HEAP,
	BOARD_THREADS,
	BOARD_BLOCKED,
	BOARD_PID,
	BOARD_NAME,
	NR_BOARD_KEYS,
};

/* "cpu", "alloc", .. */
const char *board_key_name(enum board_key key);

/* -ENOENT if there is no such key. */
int board_key_parse(const char *name, enum board_key *out);

/*
 * Fills in what this program and other processes used since the reading at `before_ns` (0: none).
 * *own_ns is this program's CPU time then, and becomes that of now.
 */
void board_add_shares(struct board *b, u64 before_ns, u64 now_ns, u64 *own_ns, u64 own_now_ns);

/* Largest first, but PIDs and names ascending. */
void board_sort(struct board *b, enum board_key key);

/* Whether the row has the text in its name, container or PID, without regard to case. */
bool board_matches(const struct jvm_row *row, const char *text);

/* The CPUs of all rows together. */
double board_cpu(const struct board *b);
void board_fini(struct board *b);
