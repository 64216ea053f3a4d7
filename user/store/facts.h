/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small file beside each profile's file: its name, pin and numbers, for the case that the index
 * is lost. It is not synced: the index is.
 */
#pragma once

#include "store/store_state.h"

/* Writes the facts of a profile with that file. An old file is replaced. Negative errno. */
int facts_write(struct store *s, const struct stored *facts, const char *file);

/* Fills in what the file says; fields that it lacks stay. The caller owns the texts of *out. */
void facts_read(struct store *s, const char *file, struct stored *out);
void facts_remove(struct store *s, const char *file);

/* Whether it is the name of such a file; `file` gets that of its profile. */
bool facts_file_parse(const char *name, char file[]);
