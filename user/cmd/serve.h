/* SPDX-License-Identifier: Apache-2.0 */
/* `sysflame serve`: the daemon of a node. */
#pragma once

int serve_main(int argc, char **argv);
