/* SPDX-License-Identifier: Apache-2.0 */
/* The files of slices, for the files of this folder. */
#pragma once

#include "store/store_state.h"

/* Writes what was appended to the disk. */
void slices_sync(struct store *s);
void slices_close(struct store *s);

/* Cuts an incomplete record off the end of an hour's file. *is_sealed: it has no plain records. */
int slices_cut_tail(struct store *s, u64 hour, bool *is_sealed);

/* Compresses the plain records of an hour's file. */
int slices_seal(struct store *s, u64 hour);

/* Removes an hour's file, and what the index knows of it. */
int slices_remove(struct store *s, u64 hour);

/* Removes what the index knows of an hour whose file is gone. */
int slices_forget(struct store *s, u64 hour);
