/* SPDX-License-Identifier: Apache-2.0 */
/* Brings the index in line with the files, which are the truth. */
#pragma once

#include "store/store_state.h"

/*
 * Lists profiles and hours whose files are not listed, and takes those off whose files are gone.
 * Removes what interrupted writes left over.
 */
int store_reconcile(struct store *s);

/* The largest id that any file or entry has. */
u64 store_last_id(struct store *s);
