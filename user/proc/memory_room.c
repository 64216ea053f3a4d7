/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory a process may still take before its control groups' limit. */
#include "proc/memory_room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/str.h"
#include "proc/cgroup.h"

#define TEXT_MAX 65536

/* File names of version 2 and of version 1. */
struct files {
	const char *limit, *used, *droppable;
};

static const struct files versions[] = {
	{ "memory.max", "memory.current", "\ninactive_file " },
	{ "memory.limit_in_bytes", "memory.usage_in_bytes", "\ntotal_inactive_file " },
};

static char *read_text(const char *folder, const char *name)
{
	auto_free char *path = xasprintf("%s/%s", folder, name);
	char *text = NULL;
	size_t len;

	return file_read(path, TEXT_MAX, &text, &len) ? NULL : text;
}

/* Returns false if the file has no number: version 2 writes "max" for no limit. */
static bool read_number(const char *folder, const char *name, u64 *out)
{
	auto_free char *text = read_text(folder, name);
	char *end;

	if (!text)
		return false;
	*out = strtoull(text, &end, 10);
	return end != text;
}

static u64 read_droppable(const char *folder, const char *key)
{
	auto_free char *text = read_text(folder, "memory.stat");
	const char *at = text ? strstr(text, key) : NULL;

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* Lowers *out to the room of this group. */
static bool narrow(const char *folder, struct memory_room *out)
{
	bool is_limited = false;
	u64 limit, used;

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		const struct files *f = &versions[i];
		if (!read_number(folder, f->limit, &limit) ||
		    !read_number(folder, f->used, &used) ||
		    limit >= (u64)INT64_MAX / 2) /* version 1 writes a large number for no limit */
			continue;
		u64 droppable = read_droppable(folder, f->droppable);
		used -= droppable < used ? droppable : used;
		u64 left = used < limit ? limit - used : 0;
		if (left < out->left)
			*out = (struct memory_room){ limit, left };
		is_limited = true;
	}
	return is_limited;
}

bool memory_room_of(const char *folder, const char *top, struct memory_room *out)
{
	auto_free char *at = xstrdup(folder);
	struct memory_room room = { 0, UINT64_MAX };
	bool is_limited = false;

	while (strlen(at) >= strlen(top)) {
		is_limited |= narrow(at, &room);
		char *slash = strrchr(at, '/');
		if (!slash)
			break;
		*slash = '\0';
	}
	if (is_limited)
		*out = room;
	return is_limited;
}

static const char *top_of(const struct cgroup_mounts *m, const char *folder)
{
	vec_each(one, &m->all) {
		size_t len = strlen(one->path);
		if (!strncmp(folder, one->path, len) && (!folder[len] || folder[len] == '/'))
			return one->path;
	}
	return folder;
}

bool memory_room_read(pid_t pid, struct memory_room *out)
{
	static const char *const controllers[] = { NULL, "memory" };
	struct cgroup_mounts mounts = { 0 };
	auto_free char *text = NULL;
	struct memory_room room;
	char path[32];
	bool is_limited = false;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	if (file_read(path, TEXT_MAX, &text, &len) || cgroup_mounts_read(&mounts))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(controllers); i++) {
		auto_free char *folder = cgroup_folder(&mounts, text, controllers[i]);
		if (!folder || !memory_room_of(folder, top_of(&mounts, folder), &room))
			continue;
		if (!is_limited || room.left < out->left)
			*out = room;
		is_limited = true;
	}
	cgroup_mounts_fini(&mounts);
	return is_limited;
}
