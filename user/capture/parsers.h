/* SPDX-License-Identifier: Apache-2.0 */
/* The workers of the recorder, which parse the files of others. */
#pragma once

#include "sandbox/workers.h"

extern const struct worker_kind parsers;

/*
 * Starts the workers with all tasks of the recorder. They inherit the memory and descriptors that
 * this process has at this time. Negative errno: the caller parses files itself, with NULL as
 * workers.
 */
int parsers_new(struct workers **out);
