/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the address of a JVM's flag that says whether the JVM has recorded all dependencies of its
 * compiled code.
 */
#include "jvm/process/code_dependencies.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/str.h"
#include "base/time.h"
#include "elf/debugfile.h"
#include "proc/target_file.h"

/* A JVM has some thousand mappings. A hostile process must not delay others. */
#define MAPPINGS_MOST (8u << 20) /* bytes */
#define BLOCKED_NS    (50 * NS_PER_MS)

static int open_mapped(pid_t pid, u64 libjvm, struct str *path)
{
	struct mappings_limits limits = { MAPPINGS_MOST, BLOCKED_NS, 0 };
	struct mappings all = { 0 };
	int err = mappings_read_within(pid, false, &limits, &all);

	if (err)
		return err;
	const struct mapping *m = mappings_find(&all, libjvm);
	int fd = m && m->start == libjvm && !m->file_off ? mapped_file_open(pid, m) : -ENOENT;
	if (fd >= 0)
		str_add(path, m->path);
	mappings_fini(&all);
	return fd;
}

int code_dependencies_search(struct workers *workers, pid_t pid, u64 libjvm, struct work **out)
{
	auto_str struct str path = { 0 };
	struct stat st;

	auto_close int fd = open_mapped(pid, libjvm, &path);
	if (fd < 0)
		return fd;
	int err = file_status(fd, &st);
	if (err)
		return err;
	const struct work_order order = {
		.task = WORKER_DEPENDENCIES,
		.user = st.st_uid,
		.fds = { take_fd(fd), -1 },
		.params = path.at,
		.len = path.len + 1,
		.max = sizeof(u64),
		.open = debug_opener_open,
		.ctx = debug_opener_new(DEBUG_ROOT, pid, st.st_uid),
		.run = code_dependencies_task,
	};
	*out = work_start(workers, &order);
	return 0;
}

int code_dependencies_decode(const void *bytes, size_t len, u64 *vaddr)
{
	if (len != sizeof(*vaddr))
		return -EBADMSG;
	memcpy(vaddr, bytes, sizeof(*vaddr));
	return *vaddr ? 0 : -EBADMSG;
}

int code_dependencies_result(struct work *k, u64 *vaddr)
{
	auto_free void *bytes = NULL;
	size_t len = 0;
	int err = work_result(k, &bytes, &len);

	return err ? err : code_dependencies_decode(bytes, len, vaddr);
}
