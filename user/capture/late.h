/* SPDX-License-Identifier: Apache-2.0 */
/* JVMs whose agents began to report events within the recording's window. */
#pragma once

#include "base/types.h"

struct session;

/* Adds a note for each such JVM to the profile of a recording that has ended. */
void late_note(struct session *s);
