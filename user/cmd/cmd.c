/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of subcommands, and standard output: its terminal, and its end. */
#include "cmd/cmd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/near.h"
#include "export/writers/text.h"

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

int output_finish(void)
{
	errno = 0;
	if ((!fflush(stdout) && !ferror(stdout)) || file_has_no_reader(STDOUT_FILENO))
		return 0;
	log_error("standard output: %s", errno ? strerror(errno) : "writing failed");
	return EXIT_FAILED;
}

size_t terminal_width(int fd)
{
	struct winsize size;

	return isatty(fd) && !ioctl(fd, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col
									  : TEXT_ANY_WIDTH;
}
