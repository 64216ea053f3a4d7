/* SPDX-License-Identifier: Apache-2.0 */
/* The counters that HotSpot keeps in /tmp/hsperfdata_USER/PID (hotspot/share/runtime/perfMemory).
 */
#pragma once

#include "base/types.h"

#define PERFDATA_MAX 65536 /* bytes; the VM's default is 32 KB */

/* The value of a string counter, NULL if it is not there; the caller frees it. Bytes may be
 * hostile. */
char *perfdata_string(const u8 *bytes, size_t len, const char *name);

/* Where the u64 of a number is in the bytes, 0 if it is not there. */
size_t perfdata_number(const u8 *bytes, size_t len, const char *name);
