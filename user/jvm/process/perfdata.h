/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counters that HotSpot keeps in /tmp/hsperfdata_USER/PID (hotspot/share/runtime/perfMemory).
 */
#pragma once

#include "base/types.h"

#define PERFDATA_MAX 65536 /* bytes; the VM's default is 32 KB */

/* The value of a string counter, NULL if absent; the caller frees it. The bytes may be hostile. */
char *perfdata_string(const u8 *bytes, size_t len, const char *name);

/* The offset of the u64 of a numeric counter, 0 if absent. */
size_t perfdata_number(const u8 *bytes, size_t len, const char *name);
