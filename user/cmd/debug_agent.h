/* SPDX-License-Identifier: Apache-2.0 */
/* `sysflame debug agent PID`: attaches to one JVM and prints the reports of its agent. */
#pragma once

int debug_agent_main(int argc, char **argv);
