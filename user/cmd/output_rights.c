/* SPDX-License-Identifier: Apache-2.0 */
/* Whether writing the output takes rights over files of others. */
#include "cmd/output_rights.h"

#include <libgen.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/outfile.h"
#include "proc/rights.h"

static bool is_anothers_in_sticky_folder(const char *path)
{
	auto_free char *copy = xstrdup(path);
	struct stat st, folder;

	return lstat(path, &st) == 0 && stat(dirname(copy), &folder) == 0 &&
	       folder.st_mode & S_ISVTX && st.st_uid != geteuid() && folder.st_uid != geteuid();
}

bool output_needs_rights(const char *path, bool force)
{
	u64 own = capabilities_read();

	capabilities_set(own & ~(CAPABILITY(CAP_DAC_OVERRIDE) | CAPABILITY(CAP_FOWNER)));
	int err = outfile_try(path, force);
	capabilities_set(own);
	return err || is_anothers_in_sticky_folder(path);
}
