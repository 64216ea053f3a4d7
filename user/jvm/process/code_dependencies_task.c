/* SPDX-License-Identifier: Apache-2.0 */
/* Looks the variable up, in a worker. Part of jvm/process/code_dependencies.h. */
#include <errno.h>

#include "base/auto.h"
#include "elf/debugfile.h"
#include "elf/functions.h"
#include "jvm/process/code_dependencies.h"

/* The flag's symbol, a static member of a class; the same name in JDK 8 to 28. */
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
