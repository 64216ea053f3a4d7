/* SPDX-License-Identifier: Apache-2.0 */
/* An open store, for the files of this folder. */
#pragma once

#include "base/time.h"
#include "store/index.h"
#include "store/store.h"

#define HOUR_NS (3600 * NS_PER_SEC)

struct store {
	int lock, dir, profiles, parts, slices; /* descriptors, or -1 */
	sqlite3 *db;
	struct store_limits limits;
	u64 next_id;

	u64 profile_bytes, nr_profiles; /* if has_sums: see profiles_sum */
	bool has_sums;
	int fits_at; /* sqlite3_total_changes when max_disk_bytes last held; -1: not yet */

	int hour_fd; /* the file that was appended to last, or -1 */
	u64 hour;
	bool is_unsynced;
	u64 synced_ns; /* CLOCK_MONOTONIC */

	u64 seal_after_ns; /* CLOCK_MONOTONIC: no attempt before, since the last one failed */
	u64 upkept_ns;     /* when the index was last thinned */

	u64 watched_wall_ns, watched_boot_ns; /* of the last store_watch_clock; 0: none */
	u64 settles_boot_ns;                  /* CLOCK_BOOTTIME: ages may be wrong before */
	bool is_unsettled;                    /* ages may be wrong */
};
