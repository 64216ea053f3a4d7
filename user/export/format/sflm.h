/* SPDX-License-Identifier: Apache-2.0 */
/* A profile as a file of its own format: docs/profile-format.md, body and container. */
#pragma once

#include "base/str.h"
#include "profile/profile.h"

/* Appends the file. Fails like body_encode. */
int sflm_write(const struct profile *p, struct str *out);
