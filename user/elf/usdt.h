/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statically defined probes (USDT): places that a program was built to be observed at, as notes in
 * .note.stapsdt (systemtap's sys/sdt.h, note version 3). The file may be damaged or hostile.
 */
#pragma once

#include "base/near.h"
#include "elf/elf.h"

#define USDT_PLACES_MAX 256 /* of one probe */

struct usdt_place {
	u64 file_off;      /* of the instruction */
	u64 semaphore_off; /* in the file, of the counter that says whether someone looks; 0: none
			    */
};

/*
 * Where the probe PROVIDER:NAME is in a regular file; a probe may be in many places. -ENOENT if it
 * has no such probe or there is no file; then *near holds probes that resemble it. Other errors are
 * those of elf.h and open(2).
 */
int usdt_find(const char *path, const char *probe, struct usdt_place out[USDT_PLACES_MAX],
	      size_t *nr, struct near *near);

/* The same of an open file. */
int usdt_find_in(const struct elf *e, const char *probe, struct usdt_place out[USDT_PLACES_MAX],
		 size_t *nr, struct near *near);
