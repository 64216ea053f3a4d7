/* SPDX-License-Identifier: Apache-2.0 */
/* The title of a profile. user/ui/page/panels/facts.js has the same rules. */
#pragma once

#include "base/str.h"
#include "profile/profile.h"

/*
 * Appends the title that the profile has; otherwise the name of the only process in it, or of the
 * process that `--pid` selected; otherwise its targets, or "node HOST".
 */
void title_add(const struct profile *p, struct str *out);
