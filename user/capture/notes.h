/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of a profile on its own quality: samples, losses, frames without names. */
#pragma once

#include "capture/recording.h"

/* Adds these notes to the profile of a cut that has ended. */
void notes_add(const struct recording *r, struct cut *c);
