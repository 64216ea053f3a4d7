/* SPDX-License-Identifier: Apache-2.0 */
/* Opens perf maps, checks the results of workers that read them, and looks names up. */
#include "sym/files/perf_map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/time.h"
#include "base/vec.h"
#include "proc/status.h"
#include "proc/target_file.h"

static int open_map(const struct proc_status *status)
{
	struct target_root root;
	char name[32];
	int err = target_root_open(status->pid, &root);

	if (err)
		return err;
	snprintf(name, sizeof(name), "tmp/perf-%d.map", (int)status->nspid);
	int fd = target_file_open_unlinked(&root, name);
	target_root_close(&root);
	return fd == -ELOOP || fd == -ENOEXEC ? -EPERM : fd;
}

bool perf_map_same_source(const struct perf_map_source *a, const struct perf_map_source *b)
{
	return a->dev == b->dev && a->inode == b->inode && a->size == b->size &&
	       a->changed_ns == b->changed_ns && a->user == b->user;
}

int perf_map_open(pid_t pid, struct perf_map_source *out)
{
	struct proc_status status;
	struct stat st;

	int err = proc_status_read(pid, &status);
	if (err)
		return err;
	auto_close int fd = open_map(&status);
	if (fd < 0)
		return fd;
	err = file_status(fd, &st);
	if (err)
		return err;
	if (st.st_uid != status.euid && st.st_uid != 0)
		return -EPERM;
	*out = (struct perf_map_source){
		.dev = st.st_dev,
		.inode = st.st_ino,
		.size = (u64)st.st_size,
		.changed_ns = (u64)st.st_mtim.tv_sec * NS_PER_SEC + (u64)st.st_mtim.tv_nsec,
		.user = status.euid,
	};
	return take_fd(fd);
}

static bool is_sound(const struct perf_map *map)
{
	for (size_t i = 0; i < map->entries.nr; i++) {
		const struct perf_map_entry *e = &map->entries.at[i];
		if (e->name >= map->names.nr || e->start >= e->end ||
		    (i && e->start <= map->entries.at[i - 1].start))
			return false;
	}
	return !map->names.nr || !map->names.at[map->names.nr - 1];
}

int perf_map_decode(const void *bytes, size_t nr, struct perf_map **out)
{
	struct perf_map_head head;

	if (nr < sizeof(head))
		return -EBADMSG;
	memcpy(&head, bytes, sizeof(head));
	nr -= sizeof(head);
	if (head.nr_entries > nr / sizeof(struct perf_map_entry) ||
	    nr - head.nr_entries * sizeof(struct perf_map_entry) != head.nr_names)
		return -EBADMSG;
	struct perf_map *map = xcalloc(1, sizeof(*map));
	const char *at = (const char *)bytes + sizeof(head);
	map->entries.at = xmemdup(at, head.nr_entries * sizeof(struct perf_map_entry));
	map->entries.nr = map->entries.cap = head.nr_entries;
	map->names.at =
		xmemdup(at + head.nr_entries * sizeof(struct perf_map_entry), head.nr_names);
	map->names.nr = map->names.cap = head.nr_names;
	if (!is_sound(map)) {
		perf_map_free(map);
		return -EBADMSG;
	}
	*out = map;
	return 0;
}

size_t perf_map_bytes(const struct perf_map *map)
{
	return sizeof(*map) + map->entries.nr * sizeof(struct perf_map_entry) + map->names.nr;
}

void perf_map_free(struct perf_map *map)
{
	if (!map)
		return;
	vec_fini(&map->entries);
	vec_fini(&map->names);
	free(map);
}

const char *perf_map_find(const struct perf_map *map, u64 pc)
{
	size_t low = 0, high = map->entries.nr;

	while (low < high) {
		size_t mid = (low + high) / 2;
		if (map->entries.at[mid].start <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || pc >= map->entries.at[low - 1].end)
		return NULL;
	return &map->names.at[map->entries.at[low - 1].name];
}
