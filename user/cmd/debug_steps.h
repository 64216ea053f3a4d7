/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sysflame debug steps`: executes a thread instruction by instruction and walks its stack at each.
 * The instruction determines how its callers may change: a call adds one, a return removes one,
 * other instructions change none. This checks unwinding at every executed instruction, also at
 * those that a sample hits once in a million.
 */
#pragma once

/* argv[0] is "steps"; returns the exit status: EXIT_FAILED if a stack was cut or wrong. */
int debug_steps_main(int argc, char **argv);
