/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of recordings, for the files of this folder. */
#pragma once

#include "store/store_state.h"

/* Removes what a kill left over: incomplete files, joined parts, parts of listed profiles. */
void parts_clean(struct store *s);

/* The largest id that has parts. */
u64 parts_last_id(struct store *s);
