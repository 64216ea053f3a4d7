/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the tables of a JVM can be read. `record`, `jvms` and `doctor` give the same answer. */
#pragma once

#include "base/str.h"
#include "jvm/hotspot/hotspot.h"
#include "proc/status.h"

enum legibility {
	LEGIBLE,     /* its Java frames get names from outside */
	NOT_STARTED, /* the process has no VM yet, or it is still starting */
	ILLEGIBLE,
};

/*
 * Decides by the result `err` of hotspot_open and, if that is 0, by the tables. If not LEGIBLE,
 * `why` gets "reason; remedy". `start_ns` is the start of the process, CLOCK_BOOTTIME.
 */
enum legibility legibility_of(struct process_id id, int err, const struct hotspot *h,
			      struct str *why);
