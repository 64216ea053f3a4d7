/* SPDX-License-Identifier: Apache-2.0 */
/* Makes files in memory. */
#include "base/memfile.h"

#include <errno.h>
#include <sys/mman.h>

#define NOEXEC_SEAL 8u /* MFD_NOEXEC_SEAL, which vm.memfd_noexec=2 demands */

int memfile_new(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL) /* before Linux 6.3 */
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd < 0 ? -errno : fd;
}
