/* SPDX-License-Identifier: Apache-2.0 */
/* JVMs whose agents began to report events within the recording's window. */
#pragma once

#include "base/types.h"

struct cut;
struct recording;

/* Adds a note for each such JVM to the profile of a cut that has ended. */
void late_note(const struct recording *r, struct cut *c);
