/* SPDX-License-Identifier: Apache-2.0 */
/* A profile as a sealed memory file in the format of docs/profile-format.md. */
#pragma once

#include "profile/profile.h"
#include "recorder/redaction.h"

/* Names the frames as people read them, then redacts them. Returns a descriptor, with *bytes, or a
 * negative errno. */
int part_make(struct profile *p, const struct redaction *redaction, u64 *bytes);
