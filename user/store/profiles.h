/* SPDX-License-Identifier: Apache-2.0 */
/* The list of profiles, for the files of this folder. */
#pragma once

#include "store/store_state.h"

/* Lists a profile whose file exists. `file`: its name, "" if there is none. */
int profiles_list_file(struct store *s, const struct stored *facts, const char *file);

/*
 * Call it when the index is open: notices changes of the list for profiles_sum, and makes `gone`, a
 * table in memory. It has profiles whose rows are to be removed, which a full disk may refuse.
 */
int profiles_open(struct store *s);
#define NOT_GONE "id NOT IN (SELECT id FROM gone)"

/* Adds a profile, whose file may be missing, to those that are gone. */
int profiles_forget(struct store *s, u64 id);

/* Brings s->profile_bytes and s->nr_profiles up to date; deleted ones count as bytes only. */
void profiles_sum(struct store *s);

/*
 * Removes a profile's file, then the profile from the index. If only the latter fails, it is in no
 * list any more, and store_tick tries again.
 */
int profiles_remove(struct store *s, u64 id);
