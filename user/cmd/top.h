/* SPDX-License-Identifier: Apache-2.0 */
/* `sysflame top`: the subcommand. */
#pragma once

int top_main(int argc, char **argv);
