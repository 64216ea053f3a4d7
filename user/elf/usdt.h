/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statically defined probes (USDT): places built into a program for observation. They are notes in
 * .note.stapsdt (systemtap's sys/sdt.h, note version 3). The file may be damaged or hostile.
 */
#pragma once

#include "base/near.h"
#include "elf/elf.h"

#define USDT_PLACES_MAX 256 /* places of one probe */

struct usdt_place {
	u64 file_off;      /* offset of the instruction */
	u64 semaphore_off; /* offset in the file of the counter of observers; 0 if the probe has
			      none */
};

/*
 * Finds the probe PROVIDER:NAME; one probe may be in many places. -ENOENT if it is missing; then
 * *near holds similar probes. Other errors are those of elf.h.
 */
int usdt_find(const struct elf *e, const char *probe, struct usdt_place out[USDT_PLACES_MAX],
	      size_t *nr, struct near *near);
