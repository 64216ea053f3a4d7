/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of subcommands. */
#include "cmd/cmd.h"

#include "base/log.h"
#include "base/near.h"

int cmd_unknown(const char *program, const char *name, const struct cmd *all, size_t nr)
{
	struct near near = { .wanted = name, .max = 1 };

	for (size_t i = 0; i < nr; i++)
		near_consider(&near, all[i].name);
	if (near.names[0])
		log_error("there is no command '%s'; did you mean '%s %s'?", name, program,
			  near.names[0]);
	else
		log_error("there is no command '%s'; %s --help lists them", name, program);
	near_fini(&near);
	return EXIT_USAGE;
}
