/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal that output goes to. */
#include "cmd/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "export/writers/text.h"

size_t terminal_width(int fd)
{
	struct winsize size;

	return isatty(fd) && !ioctl(fd, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col
									  : TEXT_ANY_WIDTH;
}
