/* SPDX-License-Identifier: Apache-2.0 */
/* What a profile says of its own quality: samples, losses, what has no name. */
#pragma once

#include "capture/session.h"

/* Adds it to the profile of a recording that has ended. */
void notes_add(struct session *s);
