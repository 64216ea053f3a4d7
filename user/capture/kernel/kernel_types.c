/* SPDX-License-Identifier: Apache-2.0 */
/* Features of the running kernel. */
#include "capture/kernel/kernel_types.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "capture/kernel/programs.h"

static struct btf *cached;

const struct btf *kernel_types(void)
{
	if (!cached)
		cached = btf__load_vmlinux_btf();
	return cached;
}

void kernel_types_forget(void)
{
	btf__free(cached);
	cached = NULL;
}

static bool kernel_has_type(const char *name, u32 kind)
{
	const struct btf *btf = kernel_types();

	return btf && btf__find_by_name_kind(btf, name, kind) > 0;
}

bool programs_kernel_has(const char *tracepoint)
{
	auto_free char *name = xasprintf("btf_trace_%s", tracepoint);

	return kernel_has_type(name, BTF_KIND_TYPEDEF);
}

bool programs_can_attach_without_admin(void)
{
	return kernel_has_type("bpf_uprobe_multi_link", BTF_KIND_STRUCT);
}

bool programs_can_read_remote(void)
{
	return kernel_has_type("bpf_task_from_pid", BTF_KIND_FUNC);
}

void programs_kernel_enumerators(const char *name, programs_enumerator_fn visit, void *ctx)
{
	const struct btf *btf = kernel_types();
	int id = btf ? btf__find_by_name_kind(btf, name, BTF_KIND_ENUM) : -1;
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (u32)id) : NULL;

	for (u32 i = 0; type && i < btf_vlen(type); i++)
		visit(btf__name_by_offset(btf, btf_enum(type)[i].name_off), btf_enum(type)[i].val,
		      ctx);
}

char *kernel_function(const char *wanted)
{
	auto_fclose FILE *f = fopen("/proc/kallsyms", "re");
	size_t len = strlen(wanted);
	char line[512], name[256];

	if (!f)
		return NULL;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %*c %255s", name) == 1 && !strncmp(name, wanted, len) &&
		    (!name[len] || !strncmp(name + len, ".isra.", strlen(".isra."))))
			return xstrdup(name);
	errno = ENOENT;
	return NULL;
}

bool kernel_is_from(unsigned major, unsigned minor)
{
	struct utsname kernel;
	unsigned is_major, is_minor;

	return !uname(&kernel) && sscanf(kernel.release, "%u.%u", &is_major, &is_minor) == 2 &&
	       (is_major > major || (is_major == major && is_minor >= minor));
}
