/* SPDX-License-Identifier: Apache-2.0 */
/* The origin of a profile: host, target, rate and slots. */
#pragma once

#include "capture/session.h"

/* A new, empty profile with host, target, rate and slot length filled in. */
struct profile *origin_profile(const struct session_options *o);
