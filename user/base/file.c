/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files, read with a size limit; files that others control, in memory, or of settings. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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
