/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks once a minute for what no event reports: processes whose exit was lost, containers without
 * processes.
 */
#pragma once

#include "base/types.h"

struct node;

#define SWEEP_NS (60 * NS_PER_SEC)

void sweep(struct node *n, u64 now_ns);
