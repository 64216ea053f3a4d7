/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sysflame debug steps`: lets a thread go instruction by instruction and walks its stack at each.
 * Its callers may change only as the instruction tells: a call adds one, a return takes one away,
 * and nothing else does. So each instruction that is executed gets unwound and checked, also those
 * at which a sample falls once in a million.
 */
#pragma once

/* argv[0] is "steps"; returns the exit status: EXIT_FAILED if a stack was cut or wrong. */
int debug_steps_main(int argc, char **argv);
