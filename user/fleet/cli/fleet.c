/* SPDX-License-Identifier: Apache-2.0 */
/* sysflame fleet: the table of its subcommands. Part of cmd/cmd.h. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/types.h"
#include "cmd/cmd.h"

static const struct cmd cmds[] = {
	{ "ls", "list the nodes that answer, and their services", fleet_ls_main },
	{ "record", "record on many nodes, or fetch their past; write one profile",
	  fleet_record_main },
	{ "diff", "compare two groups of nodes, such as two versions", fleet_diff_main },
	{ "top", "show the hottest services and methods of the fleet", fleet_top_main },
	{ "serve", "serve a page on which people record many nodes", fleet_serve_main },
	{ "status", "list the requests that nodes are serving", fleet_status_main },
	{ "stop", "end recordings of the fleet now", fleet_stop_main },
	{ "audit", "show who asked nodes for what", fleet_audit_main },
	{ "policy", "show or set limits for all nodes", fleet_policy_main },
	{ "init", "make a key, and keys and configuration for NATS", fleet_init_main },
	{ "add", "make the key of a further node or person", fleet_add_main },
	{ "revoke", "remove the rights of one", fleet_revoke_main },
};

int fleet_main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "--help";

	for (const struct cmd *c = cmds; c < cmds + ARRAY_SIZE(cmds); c++)
		if (!strcmp(name, c->name))
			return c->main(argc - 1, argv + 1);
	if (strcmp(name, "--help") != 0 && strcmp(name, "-h") != 0) {
		return cmd_unknown("sysflame fleet", name, cmds, ARRAY_SIZE(cmds));
	}
	puts("usage: sysflame fleet COMMAND [OPTION..]\n\n"
	     "Asks nodes that run `sysflame serve --fleet` over a NATS server.\n");
	for (const struct cmd *c = cmds; c < cmds + ARRAY_SIZE(cmds); c++)
		printf("  %-10s %s\n", c->name, c->help);
	return argc > 1 ? 0 : EXIT_USAGE;
}
