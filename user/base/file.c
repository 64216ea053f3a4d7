/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files: read with a size limit, written atomically. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"

#define NEW_NAMES_MAX 100000

/* Not in linux/magic.h. */
#define CONFIGFS_MAGIC 0x62656570
#define FUSECTL_MAGIC  0x65735543

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

/*
 * Files of the kernel's own file systems look regular, but opening or reading them has effects:
 * /proc/kmsg is consumed, a trace buffer is freed.
 */
static bool is_of_kernel(int fd)
{
	static const u64 types[] = {
		PROC_SUPER_MAGIC,     SYSFS_MAGIC,      TRACEFS_MAGIC,       DEBUGFS_MAGIC,
		CGROUP_SUPER_MAGIC,   SECURITYFS_MAGIC, CGROUP2_SUPER_MAGIC, BPF_FS_MAGIC,
		BINFMTFS_MAGIC,       EFIVARFS_MAGIC,   PSTOREFS_MAGIC,      SELINUX_MAGIC,
		RDTGROUP_SUPER_MAGIC, NSFS_MAGIC,       SMACK_MAGIC,         CONFIGFS_MAGIC,
		FUSECTL_MAGIC,
	};
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if ((u64)fs.f_type == types[i])
			return true;
	return false;
}

int file_open_regular(int dirfd, const char *path, u64 resolve)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = resolve };
	char again[32];
	struct stat st;

	auto_close int found = (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
	if (found < 0 || fstat(found, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || is_of_kernel(found))
		return -ENOEXEC;

	snprintf(again, sizeof(again), "/proc/self/fd/%d", found);
	int fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int file_open_below(int dirfd, const char *path)
{
	return file_open_regular(dirfd, path, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

bool file_has_no_reader(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, 0) == 1 && p.revents & (POLLERR | POLLHUP);
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
 * Opens a new file in the folder of `path`. The file has no name if the file system supports that:
 * then nothing is left behind however the program ends. Otherwise it gets a name that nobody could
 * have planted.
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

/* Gives an unnamed file its temporary name. */
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

int outfile_open_new(const char *path, struct outfile **out)
{
	struct outfile *o = xcalloc(1, sizeof(*o));

	o->path = xstrdup(path);
	o->f = open_beside(path, &o->tmp_path);
	if (!o->f) {
		int err = -errno;
		outfile_abort(o);
		return err;
	}
	*out = o;
	return 0;
}

/* Flushes the buffer. An earlier failed write may have lost its errno. */
static bool has_failed(const struct outfile *o)
{
	errno = 0;
	if (!fflush(o->f) && !ferror(o->f))
		return false;
	return o->f != stdout || !file_has_no_reader(STDOUT_FILENO);
}

static int put_in_place(struct outfile *o)
{
	return fsync(fileno(o->f)) || link_tmp(o) || rename(o->tmp_path, o->path);
}

/* "flame.html" for 1, "flame-2.html" for 2. */
static char *numbered_name(const char *path, unsigned number)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path, *dot = strchr(name, '.') ?: strchr(name, 0);

	return number < 2 ? xstrdup(path)
			  : xasprintf("%.*s-%u%s", (int)(dot - path), path, number, dot);
}

/* For file systems without hard links: first creates an empty file to reserve the name. */
static int rename_to_free(const char *from, const char *to)
{
	int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return -1;
	close(fd);
	int err = rename(from, to);
	if (err)
		unlink(to);
	return err;
}

/* link(2) fails if the name exists, even as a symbolic link or a pipe. Nothing is overwritten. */
static int put_at_free_name(struct outfile *o)
{
	if (fsync(fileno(o->f)) || link_tmp(o))
		return -1;
	for (unsigned number = 1; number <= NEW_NAMES_MAX; number++) {
		auto_free char *name = numbered_name(o->path, number);
		int err = link(o->tmp_path, name);
		if (err && errno != EEXIST)
			err = rename_to_free(o->tmp_path, name);
		if (err && errno == EEXIST)
			continue;
		if (err)
			return -1;
		unlink(o->tmp_path);
		free(o->path);
		o->path = take(name);
		return 0;
	}
	errno = EEXIST;
	return -1;
}

static int commit(struct outfile *o, int (*put)(struct outfile *), char **name, u64 *size_bytes)
{
	if (has_failed(o) || (o->tmp_path && put(o))) {
		int err = errno ? -errno : -EIO;
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

int file_access(const char *path, int mode)
{
	return faccessat(AT_FDCWD, path, mode, AT_EACCESS) ? -errno : 0;
}
