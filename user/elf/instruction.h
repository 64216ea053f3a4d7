/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether an instruction begins at a place of a file: a probe in the middle of one breaks whoever
 * runs it. The file may be damaged or hostile.
 */
#pragma once

#include "base/types.h"

/*
 * 0 if one begins at `file_off`. -EILSEQ if it is the middle of one; -ENODATA if that is not known,
 * as the file's unwind tables tell of no function there; -ENOTSUP if this build cannot tell. Other
 * errors are those of elf.h and open(2).
 */
int instruction_begins(const char *path, u64 file_off);

/* What this build cannot tell for want of a library; NULL: nothing. */
const char *instruction_missing(void);
