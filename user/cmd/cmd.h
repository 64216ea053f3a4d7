/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommands: a table in main.c, one file each. */
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
int debug_main(int argc, char **argv);
