/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a process that user space reads, and the missing rights. Each part needs another
 * right.
 */
#pragma once

#include "proc/process.h"

enum reading {
	READING_NOTHING,
	READING_MAPPINGS,
	READING_MEMORY,
	READING_FILES, /* the file that is mapped at a pc */
	NR_READINGS
};

/* The capabilities that are missing to read this part; 0 if it can be read. */
u64 reading_lacks(enum reading reading, const struct process *p, u64 pc);
