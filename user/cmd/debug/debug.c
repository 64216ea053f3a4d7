/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sysflame debug: tools for developers of sysflame.
 * Part of cmd/cmd.h.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/types.h"
#include "cmd/cmd.h"

static const struct cmd tools[] = {
	{ "agent", "attach to a JVM and print the reports of its agent", debug_agent_main },
	{ "jvm", "what can be read of a JVM from outside", debug_jvm_main },
	{ "steps", "let a thread go instruction by instruction and check its stacks",
	  debug_steps_main },
	{ "unwind", "stop threads and show their stacks, with the rule of each frame",
	  debug_unwind_main },
};

static void usage(void)
{
	puts("usage: sysflame debug TOOL ..\n");
	for (const struct cmd *t = tools; t < tools + ARRAY_SIZE(tools); t++)
		printf("  %-10s %s\n", t->name, t->help);
}

int debug_main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "--help";

	for (const struct cmd *t = tools; t < tools + ARRAY_SIZE(tools); t++)
		if (!strcmp(name, t->name))
			return t->main(argc - 1, argv + 1);
	if (!strcmp(name, "--help") || !strcmp(name, "-h")) {
		usage();
		return argc > 1 ? 0 : EXIT_USAGE;
	}
	return cmd_unknown("sysflame debug", name, tools, ARRAY_SIZE(tools));
}
