/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often new mappings may wake the recorder between its ticks. A wake makes the tables of mapped
 * code ready before its first sample. A machine that compiles maps code a hundred times a second.
 */
#pragma once

#include "base/types.h"

#define WAKES_BURST   20
#define WAKES_PER_SEC 10

/* {0} is valid. */
struct wakes {
	u32 nr_taken;   /* of WAKES_BURST */
	u64 counted_ns; /* one is given back after 1 / WAKES_PER_SEC from here */
};

/* Whether another wake is allowed at that time. */
bool wakes_left(struct wakes *w, u64 now_ns);
void wakes_take(struct wakes *w, u64 now_ns);
