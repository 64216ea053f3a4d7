/* SPDX-License-Identifier: Apache-2.0 */
/* The files of --loop. */
#include "cmd/part_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/time.h"

/* Returns false if there is no such file. */
static bool read_state(const char *path, struct part_file *out)
{
	struct stat st;

	if (lstat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	out->device = st.st_dev;
	out->inode = st.st_ino;
	out->size_bytes = (u64)st.st_size;
	out->changed_ns = (u64)st.st_mtim.tv_sec * NS_PER_SEC + (u64)st.st_mtim.tv_nsec;
	return true;
}

static void remove_file(const struct part_file *file)
{
	struct part_file now = { 0 };

	if (!read_state(file->path, &now) && access(file->path, F_OK))
		return; /* it was moved away */
	if (now.device != file->device || now.inode != file->inode ||
	    now.size_bytes != file->size_bytes || now.changed_ns != file->changed_ns)
		log_warn("--keep: %s is not removed: it was changed since it was written",
			 file->path);
	else if (unlink(file->path))
		log_warn("--keep: %s is not removed: %s", file->path, strerror(errno));
}

void part_files_add(struct part_files *files, const char *path, size_t keep)
{
	struct part_file file = { 0 };
	size_t nr_over;

	if (!read_state(path, &file))
		return;
	file.path = xstrdup(path);
	vec_push(&files->all, file);
	nr_over = keep && files->all.nr > keep ? files->all.nr - keep : 0;
	for (size_t i = 0; i < nr_over; i++) {
		remove_file(&files->all.at[i]);
		free(files->all.at[i].path);
	}
	files->all.nr -= nr_over;
	memmove(&files->all.at[0], &files->all.at[nr_over], files->all.nr * sizeof(file));
}

void part_files_fini(struct part_files *files)
{
	vec_each(file, &files->all)
		free(file->path);
	vec_fini(&files->all);
}
