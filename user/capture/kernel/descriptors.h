/* SPDX-License-Identifier: Apache-2.0 */
/* File descriptors: each CPU, process, JVM and probe of a recording takes some. */
#pragma once

#include "base/types.h"

/*
 * Raises the limit of open files of this process. Without CAP_SYS_RESOURCE it stays at or below the
 * hard limit; logs a warning with the remedy if that is too low to record `nr_events` events.
 */
void descriptors_raise(u32 nr_events);

/* The text of `err`; for too many open files also the limit and the remedy. Until the next call. */
const char *descriptors_error_text(int err);

/*
 * Whether the limit is lower than what BPF programs alone need. Their loading may then fail with
 * another error than -EMFILE.
 */
bool descriptors_are_few(void);
