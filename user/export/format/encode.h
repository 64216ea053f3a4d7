/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes a profile in the format of docs/profile-format.md. */
#pragma once

#include "base/str.h"
#include "profile/profile.h"

/*
 * Appends the profile's body. Equal profiles give equal bytes in whatever order their stacks were
 * added. `tool` names the writer; NULL omits it. *nr_nodes gets the number of nodes. -EOVERFLOW if
 * the weights of a type add up to more than 2^53 - 1, -E2BIG if a stack is deeper than 65,535
 * frames.
 */
int body_encode(const struct profile *p, const char *tool, struct str *out, u32 *nr_nodes);
