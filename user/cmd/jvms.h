/* SPDX-License-Identifier: Apache-2.0 */
/* `sysflame jvms`: the JVMs of this node, and ending the sessions of their agents. */
#pragma once

int jvms_main(int argc, char **argv);
