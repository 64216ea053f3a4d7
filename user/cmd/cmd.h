/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommands, a table in main.c and one file each, how they end, and where they write. */
#pragma once

#include "base/types.h"

/* Exit statuses. */
#define EXIT_FAILED 1
#define EXIT_USAGE  2

struct cmd {
	const char *name;
	const char *help;                   /* a phrase for the list of commands */
	int (*main)(int argc, char **argv); /* argv[0] is the subcommand; returns the exit status */
};

/*
 * Reports that no command of the table has the name, with the most similar one. Returns EXIT_USAGE.
 * `program` is the words before it, such as "sysflame fleet".
 */
int cmd_unknown(const char *program, const char *name, const struct cmd *all, size_t nr);

int record_main(int argc, char **argv);
int diff_main(int argc, char **argv);
int doctor_main(int argc, char **argv);
int events_main(int argc, char **argv);
int fleet_main(int argc, char **argv);
int debug_main(int argc, char **argv);
int jvms_main(int argc, char **argv);
int report_main(int argc, char **argv);
int serve_main(int argc, char **argv);
int top_main(int argc, char **argv);

/* The tools of `sysflame debug`; argv[0] is the tool's name. */
int debug_agent_main(int argc, char **argv);
int debug_jvm_main(int argc, char **argv);
int debug_steps_main(int argc, char **argv); /* EXIT_FAILED also if a stack was cut or wrong */
int debug_unwind_main(int argc, char **argv);

/* The commands of `sysflame fleet` (user/fleet/cli). */
int fleet_init_main(int argc, char **argv);
int fleet_add_main(int argc, char **argv);
int fleet_revoke_main(int argc, char **argv);
int fleet_record_main(int argc, char **argv);
int fleet_diff_main(int argc, char **argv);
int fleet_top_main(int argc, char **argv);
int fleet_ls_main(int argc, char **argv);
int fleet_stop_main(int argc, char **argv);
int fleet_status_main(int argc, char **argv);
int fleet_audit_main(int argc, char **argv);
int fleet_policy_main(int argc, char **argv);
int fleet_serve_main(int argc, char **argv);

/* Where a daemon keeps its files unless --dir says otherwise. */
#define SERVE_DIR "/var/lib/sysflame"

/*
 * Flushes standard output. Returns the exit status: 0, also if the reader of the pipe has gone, as
 * `head` does. Otherwise logs an error and returns EXIT_FAILED.
 */
int output_finish(void);

/* The number of columns of the terminal at `fd`; TEXT_ANY_WIDTH if it is not a terminal. */
size_t terminal_width(int fd);
