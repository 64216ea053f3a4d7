/* SPDX-License-Identifier: Apache-2.0 */
/* The buffers that agents of sysflame have open in a JVM. */
#include "jvm/process/memfds.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/log.h"
#include "proc/status.h"
#include "proc/target_file.h"

#define LINK_PREFIX "/memfd:"

/* "jvmmap-1-NONCE" in the link "/memfd:jvmmap-1-NONCE (deleted)", for any version, or NULL. */
static char *name_in(char *link)
{
	const size_t prefix = strlen(LINK_PREFIX WIRE_NAME);

	if (strncmp(link, LINK_PREFIX WIRE_NAME, prefix))
		return NULL;
	char *nonce = link + prefix + strspn(link + prefix, "0123456789");
	if (*nonce++ != '-' || strspn(nonce, "0123456789abcdef") != WIRE_NONCE_LEN)
		return NULL;
	nonce[WIRE_NONCE_LEN] = '\0';
	return link + strlen(LINK_PREFIX);
}

static const char *nonce_of(const char *name)
{
	return name + strlen(name) - WIRE_NONCE_LEN;
}

/*
 * Walks the descriptors of a process until `visit` returns non-zero, and returns that value. The
 * process chooses the name of a memfd, so the name proves nothing.
 */
static int each(pid_t pid, int (*visit)(int dir_fd, const char *entry, const char *name, void *ctx),
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
		char *name = name_in(link);
		int ret = name ? visit(dirfd(dir), e->d_name, name, ctx) : 0;
		if (ret)
			return ret;
	}
	return 0;
}

struct memfd_search {
	const char *nonce; /* NULL: any */
	uid_t owner;
	int fd;
};

static int begin(pid_t pid, const char *nonce, struct memfd_search *s)
{
	struct proc_status status;
	int err = proc_status_read(pid, &status);

	if (!err)
		*s = (struct memfd_search){ nonce, status.fsuid, -1 };
	return err;
}

/* Opens the entry if it really is the buffer. A forged buffer does not end the search. */
static int open_if_same(int dir_fd, const char *entry, const char *name, void *ctx)
{
	struct memfd_search *s = ctx;

	if (strcmp(nonce_of(name), s->nonce))
		return 0;
	s->fd = target_memfd_open(dir_fd, entry, name, s->owner);
	return s->fd == -ENOENT ? 0 : s->fd < 0 ? s->fd : 1;
}

int memfds_open(pid_t pid, const char *nonce)
{
	struct memfd_search s;
	int ret = begin(pid, nonce, &s) ?: each(pid, open_if_same, &s);

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

static int count(int dir_fd, const char *entry, const char *name, void *ctx)
{
	*(u32 *)ctx += !strncmp(name, WIRE_NAME_PREFIX, strlen(WIRE_NAME_PREFIX));
	return 0;
}

u32 memfds_count(pid_t pid)
{
	u32 nr = 0;

	each(pid, count, &nr);
	return nr;
}

/*
 * Whether a buffer has no reader. A reader killed before it locked its buffer has left no sign of
 * life. A reader that could not lock the buffer has left heartbeats.
 */
static bool is_abandoned(int fd, u64 now_ns)
{
	struct flock lock = { .l_type = F_WRLCK };
	struct wire_header head;

	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) || head.magic != WIRE_MAGIC ||
	    fcntl(fd, F_OFD_GETLK, &lock) || lock.l_type != F_UNLCK)
		return false;
	return head.has_lock || (!head.heartbeat && now_ns > head.start_ns + WIRE_CLAIM_TIMEOUT_NS);
}

struct abandoned {
	char (*nonces)[WIRE_NONCE_LEN + 1];
	u32 nr, max;
	u64 now_ns;
	uid_t owner;
};

static int note_abandoned(int dir_fd, const char *entry, const char *name, void *ctx)
{
	struct abandoned *a = ctx;

	if (a->nr == a->max || strncmp(name, WIRE_NAME_PREFIX, strlen(WIRE_NAME_PREFIX)))
		return 0;
	auto_close int fd = target_memfd_open(dir_fd, entry, name, a->owner);
	if (fd >= 0 && is_abandoned(fd, a->now_ns))
		strcpy(a->nonces[a->nr++], nonce_of(name));
	return 0;
}

int memfds_abandoned(pid_t pid, u64 now_ns, char (*nonces)[WIRE_NONCE_LEN + 1], u32 max)
{
	struct proc_status status;
	int err = proc_status_read(pid, &status);
	struct abandoned a = { nonces, 0, max, now_ns, err ? 0 : status.fsuid };

	err = err ?: each(pid, note_abandoned, &a);
	return err ?: (int)a.nr;
}

static int found(int dir_fd, const char *entry, const char *name, void *ctx)
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
static int stop(int dir_fd, const char *entry, const char *name, void *ctx)
{
	const struct memfd_search *s = ctx;
	const u32 one = 1;

	if (s->nonce && strcmp(s->nonce, nonce_of(name)))
		return 0;
	auto_close int fd = target_memfd_open(dir_fd, entry, name, s->owner);
	if (fd >= 0 && memfds_version(fd) &&
	    pwrite(fd, &one, sizeof(one), offsetof(struct wire_header, stop)) < 0)
		log_debug("cannot end a session of an agent: %s", strerror(errno));
	return 0;
}

int memfds_stop(pid_t pid, const char *nonce)
{
	struct memfd_search s;

	return begin(pid, nonce, &s) ?: each(pid, stop, &s);
}
