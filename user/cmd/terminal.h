/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal that output goes to. */
#pragma once

#include "base/types.h"

/* The number of columns of the terminal at `fd`; TEXT_ANY_WIDTH if it is not a terminal. */
size_t terminal_width(int fd);
