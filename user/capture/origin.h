/* SPDX-License-Identifier: Apache-2.0 */
/* Where, when and of what a profile is recorded. */
#pragma once

#include "capture/session.h"

/* A new profile that says so; it is empty. */
struct profile *origin_profile(const struct session_options *o);
