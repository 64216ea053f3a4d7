/* SPDX-License-Identifier: Apache-2.0 */
/* The comments of a pprof file, in which sysflame keeps what the format has no field for. */
#pragma once

#include "profile/profile.h"

/*
 * Takes over a comment: "title: x", "host: x", "target: x", "slot_ns: n", or a note as in "lost: 5
 * samples lost". Ignores others.
 */
void pprof_comment_take(struct profile *p, const char *comment);
