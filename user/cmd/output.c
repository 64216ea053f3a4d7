/* SPDX-License-Identifier: Apache-2.0 */
/* Standard output at the end of a command. */
#include "cmd/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "cmd/cmd.h"

int output_finish(void)
{
	errno = 0;
	if ((!fflush(stdout) && !ferror(stdout)) || file_has_no_reader(STDOUT_FILENO))
		return 0;
	log_error("standard output: %s", errno ? strerror(errno) : "writing failed");
	return EXIT_FAILED;
}
