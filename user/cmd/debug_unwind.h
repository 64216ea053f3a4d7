/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sysflame debug unwind`: stops a thread for a moment and prints its stack frame by frame, with
 * the rule that found each. The first tool when a stack looks wrong or a new JDK appears.
 */
#pragma once

/* argv[0] is "unwind"; returns the exit status. */
int debug_unwind_main(int argc, char **argv);
