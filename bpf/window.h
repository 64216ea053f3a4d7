/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Samples only between two functions. */
#pragma once

#include "maps.h"

#define WINDOW_NEVER (~0ull)

/* Since when samples of the process are wanted: 0 from the start, WINDOW_NEVER if not now. */
u64 window_since(u32 pid);
