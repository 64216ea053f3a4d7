/* SPDX-License-Identifier: Apache-2.0 */
/* The list of profiles, for the files of this folder. */
#pragma once

#include "store/store_state.h"

/* Lists a profile whose file exists. `file`: its name, "" if there is none. */
int profiles_list_file(struct store *s, const struct stored *facts, const char *file);

/* Notices changes of the list for profiles_sum. Call it when the index is open. */
void profiles_watch(struct store *s);

/* Brings s->profile_bytes and s->nr_profiles up to date; deleted ones count as bytes only. */
void profiles_sum(struct store *s);

/* Removes a profile's file, then the profile from the index. */
int profiles_remove(struct store *s, u64 id);
