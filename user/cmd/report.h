/* SPDX-License-Identifier: Apache-2.0 */
/* `sysflame report`: reads profiles, merges them, and writes or prints the result. */
#pragma once

/* Returns the exit status: 0, 1 for a failure, 2 for wrong usage. */
int report_main(int argc, char **argv);
