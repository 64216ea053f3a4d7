/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of a profile on its own quality: samples, losses, frames without names. */
#pragma once

#include "capture/session.h"

/* Adds these notes to the profile of a recording that has ended. */
void notes_add(struct session *s);
