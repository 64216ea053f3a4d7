/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that an offset in a file is the start of an instruction: a probe in the middle of one
 * breaks every process that runs it. The file may be damaged or hostile.
 */
#pragma once

#include "base/types.h"

/*
 * Returns 0 if an instruction begins at `file_off` of the file at `fd`. -EILSEQ: it is inside an
 * instruction. -ENODATA: unknown, because the unwind tables have no function there. -ENOTSUP: this
 * build cannot disassemble. Other errors are those of elf.h.
 */
int instruction_begins(int fd, u64 file_off);

/*
 * A text that says what this build cannot check because a library is missing; NULL if it can check
 * everything.
 */
const char *instruction_missing(void);
