/* SPDX-License-Identifier: Apache-2.0 */
/* `sysflame serve`: the daemon of a node. */
#pragma once

/* Where a daemon keeps its files unless --dir says otherwise. */
#define SERVE_DIR "/var/lib/sysflame"

int serve_main(int argc, char **argv);
