/* SPDX-License-Identifier: Apache-2.0 */
/* `sysflame debug jvm`: prints the facts read from a JVM from outside. */
#pragma once

/* argv[0] is "jvm"; returns the exit status. */
int debug_jvm_main(int argc, char **argv);
