/* SPDX-License-Identifier: Apache-2.0 */
/* A control group as a set of processes. */
#include "proc/cgroup_bound.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/time.h"
#include "proc/cgroup.h"

#define TEXT_MAX      65536
#define LOOK_EVERY_NS NS_PER_SEC

struct cgroup_bound {
	char *name;
	struct cgroup_mounts mounts;
	const struct cgroup_mount *mount; /* NULL: the group was not found yet */
	char *path;                       /* of the group in its hierarchy */
	u64 looked_ns;
};

struct cgroup_bound *cgroup_bound_new(const char *name)
{
	struct cgroup_bound *b = xcalloc(1, sizeof(*b));

	b->name = xstrdup(name);
	return b;
}

void cgroup_bound_free(struct cgroup_bound *b)
{
	if (!b)
		return;
	cgroup_mounts_fini(&b->mounts);
	free(b->path);
	free(b->name);
	free(b);
}

/* `folder` relative to the root of the hierarchy; NULL if it is not below the mount. */
static char *path_below(const struct cgroup_mount *m, const char *folder)
{
	auto_free char *real = realpath(folder, NULL);
	size_t len = strlen(m->path);

	if (!real || strncmp(real, m->path, len) || (real[len] && real[len] != '/'))
		return NULL;
	return xasprintf("%s%s", m->root[1] ? m->root : "", real + len);
}

static void look(struct cgroup_bound *b)
{
	u64 now_ns = time_mono_ns(), id;

	if (b->mount || (b->looked_ns && now_ns - b->looked_ns < LOOK_EVERY_NS))
		return;
	b->looked_ns = now_ns;
	cgroup_mounts_fini(&b->mounts);
	b->mounts = (struct cgroup_mounts){ 0 };
	if (cgroup_mounts_read(&b->mounts))
		return;
	b->mount = cgroup_find(&b->mounts, b->name, &id);
	if (!b->mount)
		return;
	auto_free char *below = xasprintf("%s/%s", b->mount->path, b->name);
	b->path = path_below(b->mount, b->name) ?: path_below(b->mount, below);
	if (!b->path)
		b->mount = NULL;
}

bool cgroup_bound_exists(struct cgroup_bound *b)
{
	look(b);
	return b->mount && (b->mount->is_unified || !strstr(b->mount->options, ",name="));
}

bool cgroup_bound_holds(struct cgroup_bound *b, pid_t pid)
{
	auto_free char *text = NULL;
	char file[32];
	size_t len;

	look(b);
	snprintf(file, sizeof(file), "/proc/%d/cgroup", (int)pid);
	if (!b->mount || file_read(file, TEXT_MAX, &text, &len))
		return false;
	auto_free char *path = cgroup_path(b->mount, text);
	size_t own = strlen(b->path);
	return path && !strncmp(path, b->path, own) && (!path[own] || path[own] == '/');
}
