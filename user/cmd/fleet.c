/* SPDX-License-Identifier: Apache-2.0 */
/* sysflame fleet: the table of its subcommands. */
#include "cmd/fleet.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/types.h"
#include "cmd/cmd.h"

static const struct cmd cmds[] = {
	{ "ls", "list the nodes that answer, and their services", fleet_ls_main },
	{ "record", "record on many nodes, or fetch their past; write one profile",
	  fleet_record_main },
	{ "stop", "end all recordings of the fleet now", fleet_stop_main },
	{ "init", "make a key, and its line for the nodes", fleet_init_main },
};

int fleet_main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "--help";

	for (const struct cmd *c = cmds; c < cmds + ARRAY_SIZE(cmds); c++)
		if (!strcmp(name, c->name))
			return c->main(argc - 1, argv + 1);
	if (strcmp(name, "--help") != 0 && strcmp(name, "-h") != 0) {
		log_error("fleet: there is no command '%s'; sysflame fleet --help lists them",
			  name);
		return EXIT_USAGE;
	}
	puts("usage: sysflame fleet COMMAND [OPTION..]\n\n"
	     "Asks nodes that run `sysflame serve --fleet` over a NATS server.\n");
	for (const struct cmd *c = cmds; c < cmds + ARRAY_SIZE(cmds); c++)
		printf("  %-10s %s\n", c->name, c->help);
	return argc > 1 ? 0 : EXIT_USAGE;
}
