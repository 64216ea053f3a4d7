/* SPDX-License-Identifier: Apache-2.0 */
/* Finds which right to read a process is missing. */
#include "proc/reading.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "proc/capability.h"
#include "proc/mapped_file.h"
#include "proc/mem.h"

static bool is_denial(int err)
{
	return err == -EACCES || err == -EPERM;
}

static bool may_open(pid_t pid, const char *name, int flags)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	auto_close int fd = open(path, flags | O_CLOEXEC);
	return fd >= 0 || !is_denial(-errno);
}

static bool may_read_memory(const struct process *p)
{
	struct mem *m;
	int err = mem_open(p->id, &m);

	if (!err)
		mem_free(m);
	return !is_denial(err);
}

/* Checks the file mapped at `pc`, through the process's root or ours. */
static u64 missing_for_file(const struct process *p, u64 pc)
{
	const struct mapping *m = mappings_find(&p->mappings, pc);

	if (!m || m->path[0] != '/')
		return 0;
	int fd = mapped_file_open(p->id.pid, m);
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (file_access(m->path, R_OK) == -EACCES)
		return CAPABILITY(CAP_DAC_READ_SEARCH) & ~capabilities_read();
	return may_open(p->id.pid, "root", O_PATH) ? 0 : CAPABILITY(CAP_SYS_PTRACE);
}

u64 reading_lacks(enum reading reading, const struct process *p, u64 pc)
{
	if (capability_has(CAP_SYS_PTRACE) &&
	    (reading != READING_FILES || capability_has(CAP_DAC_READ_SEARCH)))
		return 0;
	switch (reading) {
	case READING_MAPPINGS:
		return may_open(p->id.pid, "maps", O_RDONLY) ? 0 : CAPABILITY(CAP_SYS_PTRACE);
	case READING_MEMORY:
		return may_read_memory(p) ? 0 : CAPABILITY(CAP_SYS_PTRACE);
	case READING_FILES:
		return missing_for_file(p, pc);
	default:
		return 0;
	}
}
