/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal that we print to. */
#pragma once

#include "base/types.h"

/* Columns of the terminal that `fd` is; as good as endless if it is none. */
size_t terminal_width(int fd);
