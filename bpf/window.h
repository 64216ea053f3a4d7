/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Samples only between two functions. */
#pragma once

#include "maps.h"

/* Whether samples of the process are wanted now. */
bool window_is_open(u32 pid);
