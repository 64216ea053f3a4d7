/* SPDX-License-Identifier: Apache-2.0 */
/* The buffers that agents of sysflame have open in a JVM. */
#include "jvm/process/memfds.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/log.h"
#include "jvmmap/wire.h"

#define LINK_PREFIX "/memfd:" WIRE_NAME

/*
 * The nonce in the link "/memfd:jvmmap-1-NONCE (deleted)", for any version; NULL if it is another
 * link.
 */
static char *nonce_in(char *link)
{
	const size_t prefix = strlen(LINK_PREFIX);

	if (strncmp(link, LINK_PREFIX, prefix))
		return NULL;
	char *nonce = link + prefix + strspn(link + prefix, "0123456789");
	if (*nonce++ != '-' || strspn(nonce, "0123456789abcdef") != WIRE_NONCE_LEN)
		return NULL;
	nonce[WIRE_NONCE_LEN] = '\0';
	return nonce;
}

/*
 * Walks the descriptors of a process until `visit` returns non-zero, and returns that value. The
 * process chooses the name of a memfd, so the name proves nothing.
 */
static int each(pid_t pid,
		int (*visit)(int dir_fd, const char *entry, const char *nonce, void *ctx),
		void *ctx)
{
	char path[32], link[256];

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	auto_closedir DIR *dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	for (struct dirent *e; (e = readdir(dir));) {
		ssize_t len = readlinkat(dirfd(dir), e->d_name, link, sizeof(link) - 1);
		link[len > 0 ? len : 0] = '\0';
		char *nonce = nonce_in(link);
		int ret = nonce ? visit(dirfd(dir), e->d_name, nonce, ctx) : 0;
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * A file of that path would look the same, and the descriptor may have changed: never open a
 * device.
 */
static int open_memfd(int dir_fd, const char *entry)
{
	auto_close int found = openat(dir_fd, entry, O_PATH | O_CLOEXEC);
	char again[32];
	struct stat st;

	if (found < 0 || fstat(found, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOENT;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", found);
	int fd = open(again, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

struct search {
	const char *nonce;
	int fd;
};

static int open_if_same(int dir_fd, const char *entry, const char *nonce, void *ctx)
{
	struct search *s = ctx;

	if (strcmp(nonce, s->nonce))
		return 0;
	s->fd = open_memfd(dir_fd, entry);
	return s->fd < 0 ? s->fd : 1;
}

int memfds_open(pid_t pid, const char *nonce)
{
	struct search s = { nonce, -1 };
	int ret = each(pid, open_if_same, &s);

	return ret > 0 ? s.fd : ret < 0 ? ret : -ENOENT;
}

/* Without the lock the agent waits for heartbeats, as for older readers. */
void memfds_claim(int fd)
{
	struct flock lock = { .l_type = F_WRLCK };
	const u32 one = 1;

	if (fcntl(fd, F_OFD_SETLK, &lock) ||
	    pwrite(fd, &one, sizeof(one), offsetof(struct wire_header, has_lock)) < 0)
		log_debug("cannot lock a buffer of an agent: %s", strerror(errno));
}

static int count(int dir_fd, const char *entry, const char *nonce, void *ctx)
{
	char link[256];
	ssize_t len = readlinkat(dir_fd, entry, link, sizeof(link) - 1);
	const size_t prefix = strlen("/memfd:" WIRE_NAME_PREFIX);

	*(u32 *)ctx += len > (ssize_t)prefix && !memcmp(link, "/memfd:" WIRE_NAME_PREFIX, prefix);
	return 0;
}

u32 memfds_count(pid_t pid)
{
	u32 nr = 0;

	each(pid, count, &nr);
	return nr;
}

static int found(int dir_fd, const char *entry, const char *nonce, void *ctx)
{
	return 1;
}

int memfds_any(pid_t pid)
{
	return each(pid, found, NULL);
}

u32 memfds_version(int fd)
{
	struct wire_header head;

	return pread(fd, &head, sizeof(head), 0) == sizeof(head) && head.magic == WIRE_MAGIC
		       ? head.abi
		       : 0;
}

/* Uses a write, not a mapping, because the file may shrink. */
static int stop(int dir_fd, const char *entry, const char *nonce, void *ctx)
{
	const char *only = ctx;
	const u32 one = 1;

	if (only && strcmp(only, nonce))
		return 0;
	auto_close int fd = open_memfd(dir_fd, entry);
	if (fd >= 0 && memfds_version(fd) &&
	    pwrite(fd, &one, sizeof(one), offsetof(struct wire_header, stop)) < 0)
		log_debug("cannot end a session of an agent: %s", strerror(errno));
	return 0;
}

int memfds_stop(pid_t pid, const char *nonce)
{
	return each(pid, stop, (void *)nonce);
}
