/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up where a JVM keeps whether it knows all dependencies of its compiled code. */
#include "jvm/attach/code_dependencies.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/str.h"
#include "base/time.h"
#include "elf/debugfile.h"
#include "elf/functions.h"
#include "proc/target_file.h"

/* A JVM has some thousand mappings. A hostile process must not delay others. */
#define MAPPINGS_MOST (8u << 20) /* bytes */
#define BLOCKED_NS    (50 * NS_PER_MS)

/* The same in JDK 8 to 28: a static member of a class. */
#define VARIABLE "_ZN11JvmtiExport30_all_dependencies_are_recordedE"

static int ask_for_debug_file(enum debug_place place, const char *path, void *io)
{
	return worker_open(io, place, path);
}

/* The symbols of a stripped file have the addresses of that file. */
static int find_stripped(struct worker_io *io, const struct elf *e, const char *path, u64 *vaddr)
{
	const struct debug_places in = { path, ask_for_debug_file, io };
	auto_elf struct elf *separate = NULL;

	auto_close int fd = debugfile_find(e, &in);
	if (fd < 0)
		return -ENOENT;
	int err = elf_open_fd(fd, &separate);
	return err ? err : symbol_table_find_variable(separate, VARIABLE, vaddr);
}

int code_dependencies_task(struct worker_io *io, const int *fds, const void *params, size_t len)
{
	auto_elf struct elf *e = NULL;
	u64 vaddr = 0;

	if (!len || ((const char *)params)[len - 1])
		return -EINVAL;
	int err = elf_open_fd(fds[0], &e);
	if (err)
		return err;
	err = symbol_table_find_variable(e, VARIABLE, &vaddr);
	if (err == -ENOENT)
		err = find_stripped(io, e, params, &vaddr);
	return err ? err : worker_put(io, &vaddr, sizeof(vaddr));
}

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
