/* SPDX-License-Identifier: Apache-2.0 */
/* Files written whole or not at all. */
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"

#define NUMBERS_MAX 1000
#define MODE        0600

static void outfile_free(struct outfile *o)
{
	if (o->f)
		fclose(o->f);
	free(o->path);
	free(o->tmp_path);
	free(o);
}

static unsigned long long random_number(void)
{
	unsigned long long number = 0;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		abort();
	return number;
}

/* A name in the folder of `path`. */
static char *tmp_name(const char *path)
{
	auto_free char *copy = xstrdup(path);

	return xasprintf("%s/.sysflame-%016llx", dirname(copy), random_number());
}

/*
 * Opens a new file in the folder of `path`. The file has no name if the file system supports that:
 * then nothing is left behind however the program ends.
 */
static int open_beside(const char *path, char **tmp_path)
{
	auto_free char *name = tmp_name(path), *copy = xstrdup(path);
	int fd = open(dirname(copy), O_TMPFILE | O_WRONLY | O_CLOEXEC, MODE);

	if (fd >= 0)
		return fd;
	fd = open(name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, MODE);
	if (fd < 0)
		return -errno;
	*tmp_path = take(name);
	return fd;
}

/* The number of one of our own descriptors, or -1. */
static int descriptor_of(const char *path)
{
	static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };
	char *end = NULL;

	if (!strcmp(path, "-") || !strcmp(path, "/dev/stdout"))
		return STDOUT_FILENO;
	if (!strcmp(path, "/dev/stderr"))
		return STDERR_FILENO;
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		if (strncmp(path, folders[i], strlen(folders[i])))
			continue;
		long number = strtol(path + strlen(folders[i]), &end, 10);
		return *end || number < 0 || number > INT_MAX ? -1 : (int)number;
	}
	return -1;
}

/* Whether another user owns the file or link itself, in a sticky folder that is not his either. */
static bool is_planted(const char *path)
{
	auto_free char *copy = xstrdup(path);
	struct stat st, folder;

	return lstat(path, &st) == 0 && stat(dirname(copy), &folder) == 0 &&
	       folder.st_mode & S_ISVTX && folder.st_mode & (S_IWGRP | S_IWOTH) &&
	       st.st_uid != geteuid() && st.st_uid != folder.st_uid;
}

/*
 * Finds a pipe or device that is written in place; *fd is its O_PATH descriptor, -1 if the path is
 * free or has a file that is replaced.
 */
static int find_in_place(const char *path, bool force, int *fd)
{
	auto_close int found = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	*fd = -1;
	if (found < 0)
		return 0;
	if (fstat(found, &st))
		return -errno;
	if (S_ISREG(st.st_mode))
		return 0;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (S_ISBLK(st.st_mode) && !force)
		return OUTFILE_BLOCK_DEVICE;
	auto_free char *real = realpath(path, NULL);
	if (is_planted(path) || (real && is_planted(real)))
		return OUTFILE_ANOTHERS;
	*fd = take_fd(found);
	return 0;
}

static int open_in_place(int found)
{
	char again[32];

	snprintf(again, sizeof(again), "/proc/self/fd/%d", found);
	int fd = open(again, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Returns a descriptor or an error. Fills in the path of a file that is put in place later. */
static int open_any(const char *path, bool force, struct outfile *o)
{
	int number = descriptor_of(path);
	auto_close int found = -1;

	if (number >= 0) {
		fflush(stdout);
		int flags = fcntl(number, F_GETFL);
		if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY)
			return -EBADF;
		int fd = fcntl(number, F_DUPFD_CLOEXEC, 3);
		return fd < 0 ? -errno : fd;
	}
	int err = find_in_place(path, force, &found);
	if (err)
		return err;
	if (found >= 0)
		return open_in_place(found);
	o->path = xstrdup(path);
	return open_beside(path, &o->tmp_path);
}

static int opened(struct outfile *o, int fd, struct outfile **out)
{
	o->f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!o->f) {
		outfile_abort(o);
		return fd < 0 ? fd : -ENOMEM;
	}
	*out = o;
	return 0;
}

int outfile_open(const char *path, bool force, struct outfile **out)
{
	struct outfile *o = xcalloc(1, sizeof(*o));

	return opened(o, open_any(path, force, o), out);
}

int outfile_open_new(const char *path, struct outfile **out)
{
	struct outfile *o = xcalloc(1, sizeof(*o));

	o->path = xstrdup(path);
	return opened(o, open_beside(path, &o->tmp_path), out);
}

int outfile_try(const char *path, bool force)
{
	int number = descriptor_of(path);
	auto_close int found = -1;
	struct outfile *o;

	if (number >= 0)
		return fcntl(number, F_GETFD) < 0 ? -errno : 0;
	int err = find_in_place(path, force, &found);
	if (err)
		return err;
	if (found >= 0)
		return file_access(path, W_OK);
	err = outfile_open_new(path, &o);
	if (!err)
		outfile_abort(o);
	return err;
}

const char *outfile_why(int err)
{
	switch (err) {
	case OUTFILE_BLOCK_DEVICE:
		return "it is a block device; add --force to overwrite it";
	case OUTFILE_ANOTHERS:
		return "another user made it in a folder where all may make files; use another "
		       "name";
	default:
		return strerror(-err);
	}
}

/* Flushes the buffer. An earlier failed write may have lost its errno. */
static bool has_failed(const struct outfile *o)
{
	errno = 0;
	if (!fflush(o->f) && !ferror(o->f))
		return false;
	return o->path || !file_has_no_reader(fileno(o->f));
}

/* Fails if the name exists, even as a symbolic link or a pipe. */
static int link_as(const struct outfile *o, const char *name)
{
	char unnamed[32];

	snprintf(unnamed, sizeof(unnamed), "/proc/self/fd/%d", fileno(o->f));
	int err = o->tmp_path ? link(o->tmp_path, name)
			      : linkat(AT_FDCWD, unnamed, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
	return err ? -errno : 0;
}

static int put_in_place(struct outfile *o)
{
	if (!o->tmp_path) {
		auto_free char *name = tmp_name(o->path);
		int err = link_as(o, name);
		if (err)
			return err;
		o->tmp_path = take(name);
	}
	return rename(o->tmp_path, o->path) ? -errno : 0;
}

/* "flame.html" for 1, "flame-2.html" for 2, "flame-27ebc8..html" after the last number. */
static char *free_name(const char *path, unsigned number)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path, *dot = strchr(name, '.') ?: strchr(name, 0);

	if (number < 2)
		return xstrdup(path);
	if (number <= NUMBERS_MAX)
		return xasprintf("%.*s-%u%s", (int)(dot - path), path, number, dot);
	return xasprintf("%.*s-%016llx%s", (int)(dot - path), path, random_number(), dot);
}

/* For file systems without hard links: first creates an empty file to reserve the name. */
static int rename_to_free(const char *from, const char *to)
{
	int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, MODE);

	if (fd < 0)
		return -errno;
	close(fd);
	int err = rename(from, to) ? -errno : 0;
	if (err)
		unlink(to);
	return err;
}

static int put_at_free_name(struct outfile *o)
{
	int err = -EEXIST;

	for (unsigned number = 1; err == -EEXIST && number <= NUMBERS_MAX + 1; number++) {
		auto_free char *name = free_name(o->path, number);
		err = link_as(o, name);
		if (err && err != -EEXIST && o->tmp_path)
			err = rename_to_free(o->tmp_path, name);
		if (err)
			continue;
		if (o->tmp_path)
			unlink(o->tmp_path);
		free(o->path);
		o->path = take(name);
	}
	return err;
}

static int commit(struct outfile *o, int (*put)(struct outfile *), char **name, u64 *size_bytes)
{
	int err = has_failed(o) ? (errno ? -errno : -EIO) : 0;

	if (!err && o->path)
		err = fsync(fileno(o->f)) ? -errno : put(o);
	if (err) {
		outfile_abort(o);
		return err;
	}
	off_t size = ftello(o->f);
	if (name)
		*name = take(o->path);
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

int outfile_commit(struct outfile *o, u64 *size_bytes)
{
	return commit(o, put_in_place, NULL, size_bytes);
}

int outfile_commit_new(struct outfile *o, char **name, u64 *size_bytes)
{
	return commit(o, put_at_free_name, name, size_bytes);
}
