/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole files, read with a size limit, or written whole or not at all, also in folders where other
 * users plant files; files that others control, in memory, or of settings.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"

/* Not in linux/magic.h. */
#define CONFIGFS_MAGIC 0x62656570
#define FUSECTL_MAGIC  0x65735543

int file_read_fd(int fd, size_t max, char **out, size_t *len)
{
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

int file_read_at(int dirfd, const char *path, size_t max, char **out, size_t *len)
{
	auto_close int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? -errno : file_read_fd(fd, max, out, len);
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

int file_ask(int dirfd, const char *path, const char *question, char *answer, size_t size)
{
	auto_close int fd = openat(dirfd, path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	int err = file_write_all(fd, question, strlen(question));
	ssize_t nr = err ? 0 : pread(fd, answer, size - 1, 0);
	if (err || nr <= 0)
		return err ?: nr ? -errno : -ENODATA;
	answer[nr] = '\0';
	return 0;
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

bool file_is_unreadable(int err)
{
	return err == -EIO || err == -EACCES || err == -EPERM;
}

bool file_has_no_reader(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, 0) == 1 && p.revents & (POLLERR | POLLHUP);
}

int file_write_all(int fd, const void *bytes, size_t len)
{
	const u8 *at = bytes;

	while (len) {
		ssize_t done = write(fd, at, len);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		at += done;
		len -= (size_t)done;
	}
	return 0;
}

int file_access(const char *path, int mode)
{
	return faccessat(AT_FDCWD, path, mode, AT_EACCESS) ? -errno : 0;
}

#define NOEXEC_SEAL 8u /* MFD_NOEXEC_SEAL, which vm.memfd_noexec=2 demands */

int memfile_new(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL) /* before Linux 6.3 */
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd < 0 ? -errno : fd;
}

#define BLANKS " \t\r"

char *settings_trim(char *text)
{
	text += strspn(text, BLANKS);
	for (size_t len = strlen(text); len && strchr(BLANKS, text[len - 1]); len--)
		text[len - 1] = '\0';
	return text;
}

int settings_each_line(char *text, settings_line_fn fn, void *ctx, struct str *why)
{
	u32 nr = 0;

	for (char *line = strsep(&text, "\n"); line; line = strsep(&text, "\n")) {
		auto_str struct str fault = { 0 };

		nr++;
		if (fn(ctx, line, &fault)) {
			str_addf(why, "line %u: %s", nr, fault.at);
			return -EINVAL;
		}
	}
	return 0;
}

int settings_check_owner(int fd, mode_t forbidden, const char *fault, struct str *why)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode)) {
		str_add(why, "it is no regular file");
		return -EPERM;
	}
	if ((st.st_uid && st.st_uid != geteuid()) || (st.st_mode & forbidden)) {
		str_addf(why, "%s; run: chown root FILE; chmod %o FILE", fault,
			 0644 & ~(unsigned)forbidden);
		return -EPERM;
	}
	return 0;
}

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

int file_status(int fd, struct stat *out)
{
	struct statx x;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &x))
		return -errno;
	*out = (struct stat){
		.st_dev = makedev(x.stx_dev_major, x.stx_dev_minor),
		.st_ino = x.stx_ino,
		.st_mode = x.stx_mode,
		.st_nlink = x.stx_nlink,
		.st_uid = x.stx_uid,
		.st_gid = x.stx_gid,
		.st_size = (off_t)x.stx_size,
		.st_blocks = (blkcnt_t)x.stx_blocks,
		.st_mtim = { x.stx_mtime.tv_sec, x.stx_mtime.tv_nsec },
		.st_ctim = { x.stx_ctime.tv_sec, x.stx_ctime.tv_nsec },
	};
	return 0;
}
