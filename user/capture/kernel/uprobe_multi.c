/* SPDX-License-Identifier: Apache-2.0 */
/* Uprobes attached with BPF links. */
#include "capture/kernel/uprobe_multi.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CMD_LINK_CREATE 28        /* BPF_LINK_CREATE */
#define FLAG_AT_RETURN  (1u << 0) /* BPF_F_UPROBE_MULTI_RETURN */

/* The part of union bpf_attr for these links; headers before 6.6 lack it. */
struct link_create {
	u32 program_fd;
	u32 target_fd;
	u32 attach_type;
	u32 flags;
	u64 path;
	u64 offsets;
	u64 semaphore_offsets;
	u64 cookies;
	u32 nr;
	u32 multi_flags;
	u32 pid;
	u32 pad;
};

/* The link is its descriptor; the lowest bit distinguishes it from a pointer. */
static struct bpf_link *link_of_fd(int fd)
{
	return (struct bpf_link *)((uintptr_t)fd << 1 | 1);
}

int uprobe_multi_attach(int program_fd, const struct programs_uprobe *at, struct bpf_link **out)
{
	const u64 off = at->file_off, semaphore_off = at->semaphore_off, cookie = at->cookie;
	struct link_create attr = {
		.program_fd = (u32)program_fd,
		.attach_type = UPROBE_MULTI_ATTACH_TYPE,
		.path = (u64)(uintptr_t)at->path,
		.offsets = (u64)(uintptr_t)&off,
		.semaphore_offsets = semaphore_off ? (u64)(uintptr_t)&semaphore_off : 0,
		.cookies = (u64)(uintptr_t)&cookie,
		.nr = 1,
		.multi_flags = at->at_return ? FLAG_AT_RETURN : 0,
		.pid = at->pid > 0 ? (u32)at->pid : 0,
	};
	long fd = syscall(SYS_bpf, CMD_LINK_CREATE, &attr, sizeof(attr));

	*out = fd < 0 ? NULL : link_of_fd((int)fd);
	return fd < 0 ? -errno : 0;
}

bool uprobe_multi_detach(struct bpf_link *link)
{
	if (!((uintptr_t)link & 1))
		return false;
	close((int)((uintptr_t)link >> 1));
	return true;
}
