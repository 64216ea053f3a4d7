/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Whether a hit of a tracepoint passes the filter of its event. */
#pragma once

#include "kernel.h"

/* `ctx` is the context of a program of the type tracepoint: the record of the hit. */
bool filter_passes(void *ctx, u32 event);
