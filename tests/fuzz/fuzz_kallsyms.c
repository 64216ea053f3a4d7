/* SPDX-License-Identifier: Apache-2.0 */
/* Any text in place of /proc/kallsyms gives a table or an error. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/auto.h"
#include "sym/kernel.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	auto_close int fd = memfd_create("kallsyms", MFD_CLOEXEC);
	auto_kernel_syms struct kernel_syms *ks = NULL;
	const char *module;
	u64 offset;

	if (write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET))
		abort();
	if (kernel_syms_read_fd(fd, &ks))
		return 0;
	for (u64 pc = 0xffffffff81000000; pc < 0xffffffff81002000; pc += 251) {
		const char *name = kernel_syms_find(ks, pc, &module, &offset);
		if (name && (!*name || strlen(module) > size || offset > pc))
			abort();
	}
	return 0;
}
