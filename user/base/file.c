/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files: read with a bound, written atomically. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"

int file_read_at(int dirfd, const char *path, size_t max, char **out, size_t *len)
{
	auto_close int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;

	auto_free char *data = NULL;
	size_t nr = 0, cap = 0;
	for (;;) {
		if (nr == cap) {
			cap = cap ? cap * 2 : 4096;
			data = xreallocarray(data, cap + 1, 1);
		}
		ssize_t got = read(fd, data + nr, cap - nr);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		nr += (size_t)got;
		if (nr > max)
			return -EFBIG;
	}
	data[nr] = '\0';
	*len = nr;
	*out = take(data);
	return 0;
}

int file_each_line(int fd, size_t max, file_line_fn visit, void *ctx)
{
	auto_free char *buf = xmalloc(2 * max);
	size_t len = 0;

	for (;;) {
		ssize_t got = read(fd, buf + len, 2 * max - len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : 0;
		len += (size_t)got;

		const char *at = buf, *newline;
		while ((newline = memchr(at, '\n', len - (size_t)(at - buf)))) {
			int err = newline - at > (ssize_t)max ? -EBADMSG : visit(at, newline, ctx);
			if (err)
				return err;
			at = newline + 1;
		}
		len -= (size_t)(at - buf);
		memmove(buf, at, len);
		if (len > max)
			return -EBADMSG;
	}
}

int file_read(const char *path, size_t max, char **out, size_t *len)
{
	return file_read_at(AT_FDCWD, path, max, out, len);
}

int file_open_regular(int dirfd, const char *path, u64 resolve)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = resolve };
	char again[32];
	struct stat st;

	auto_close int found = (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
	if (found < 0 || fstat(found, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;

	snprintf(again, sizeof(again), "/proc/self/fd/%d", found);
	int fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

static void outfile_free(struct outfile *o)
{
	if (o->f && o->f != stdout)
		fclose(o->f);
	free(o->path);
	free(o->tmp_path);
	free(o);
}

/*
 * Opens a new file in the folder of `path`: without a name where the file system can, so that
 * nothing stays behind whatever ends the program; else under a name nobody could have planted.
 */
static FILE *open_beside(const char *path, char **tmp_path)
{
	auto_free char *name = xasprintf("%s.XXXXXX", path), *copy = xstrdup(path);
	int fd = open(dirname(copy), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);

	if (fd < 0) {
		fd = mkostemp(name, O_CLOEXEC);
		if (fd < 0)
			return NULL;
		mode_t mask = umask(0);
		umask(mask);
		fchmod(fd, 0666 & ~mask);
	}
	*tmp_path = take(name);
	return fdopen(fd, "w");
}

/* Gives a file without a name its temporary one. */
static int link_tmp(struct outfile *o)
{
	char fd_path[32];
	struct stat st;

	if (fstat(fileno(o->f), &st) || st.st_nlink > 0)
		return 0;
	snprintf(fd_path, sizeof(fd_path), "/proc/self/fd/%d", fileno(o->f));
	snprintf(o->tmp_path + strlen(o->path), 8, ".%06x", (unsigned)getpid() & 0xffffff);
	unlink(o->tmp_path);
	return linkat(AT_FDCWD, fd_path, AT_FDCWD, o->tmp_path, AT_SYMLINK_FOLLOW);
}

int outfile_open(const char *path, struct outfile **out)
{
	struct outfile *o = xcalloc(1, sizeof(*o));
	struct stat st;

	o->path = xstrdup(path);
	if (!strcmp(path, "-"))
		o->f = stdout;
	else if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		o->f = fopen(path, "we");
	else
		o->f = open_beside(path, &o->tmp_path);
	if (!o->f) {
		int err = -errno;
		outfile_abort(o);
		return err;
	}
	*out = o;
	return 0;
}

int outfile_commit(struct outfile *o, u64 *size_bytes)
{
	errno = 0;
	bool failed = fflush(o->f) != 0 || ferror(o->f);
	if (!failed && o->tmp_path)
		failed = fsync(fileno(o->f)) || link_tmp(o) || rename(o->tmp_path, o->path);
	if (failed) {
		int err = errno ? -errno : -EIO;
		outfile_abort(o);
		return err;
	}
	off_t size = ftello(o->f);
	if (size_bytes)
		*size_bytes = size > 0 ? (u64)size : 0;
	outfile_free(o);
	return 0;
}

void outfile_abort(struct outfile *o)
{
	if (!o)
		return;
	if (o->tmp_path)
		unlink(o->tmp_path);
	outfile_free(o);
}
