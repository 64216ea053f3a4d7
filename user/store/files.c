/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the store. */
#include "store/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"

#define TEMPORARY ".tmp-" /* begin of the name of an incomplete file */

int file_put(int dir, const char *name, const void *bytes, size_t nr, bool replaces)
{
	auto_free char *temporary = xasprintf(TEMPORARY "%s", name);

	unlinkat(dir, temporary, 0);
	auto_close int fd =
		openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int err = file_write_all(fd, bytes, nr) ?: (fsync(fd) ? -errno : 0);
	if (!err && renameat2(dir, temporary, dir, name, replaces ? 0 : RENAME_NOREPLACE))
		err = -errno;
	if (err)
		unlinkat(dir, temporary, 0);
	else if (fsync(dir))
		err = -errno;
	return err;
}

int file_get(int dir, const char *name)
{
	struct stat st;
	auto_close int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	return S_ISREG(st.st_mode) ? take_fd(fd) : -ENOENT;
}

int file_load(int fd, size_t max, char **out, size_t *len)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if ((u64)st.st_size > max)
		return -EFBIG;
	auto_free char *bytes = xmalloc((size_t)st.st_size + 1);
	size_t nr = 0;
	while (nr < (size_t)st.st_size) {
		ssize_t got = pread(fd, bytes + nr, (size_t)st.st_size - nr, (off_t)nr);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -EIO;
		nr += (size_t)got;
	}
	*len = nr;
	*out = take(bytes);
	return 0;
}

int dir_open(int dir, const char *name)
{
	bool is_made = !mkdirat(dir, name, 0700);
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && is_made)
		fsync(dir);
	return fd < 0 ? -errno : fd;
}

int dir_names(int dir, struct name_list *out)
{
	auto_close int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_closedir DIR *d = again < 0 ? NULL : fdopendir(again);

	if (!d)
		return -errno;
	take_fd(again); /* closed with `d` */
	for (struct dirent *e; (e = readdir(d));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			vec_push(&out->all, xstrdup(e->d_name));
	return 0;
}

void name_list_fini(struct name_list *names)
{
	vec_each(name, &names->all)
		free(*name);
	vec_fini(&names->all);
}

void dir_remove_temporary(int dir)
{
	struct name_list names = { 0 };

	dir_names(dir, &names);
	vec_each(name, &names.all)
		if (!strncmp(*name, TEMPORARY, strlen(TEMPORARY)))
			unlinkat(dir, *name, 0);
	name_list_fini(&names);
}

u64 file_size(int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return 0;
	return (u64)st.st_size;
}
