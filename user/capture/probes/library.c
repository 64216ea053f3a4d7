/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the file that a user means by the name of a library or program. */
#include "capture/probes/library.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "proc/mapping.h"

#define CACHE_MAX   (16u << 20)
#define CACHE_MAGIC "glibc-ld.so.cache1.1"

/* glibc's dl-cache.h: the second byte of the flags is the architecture of 64-bit libraries. */
#ifdef __aarch64__
#define CACHE_ARCH 0x0a00
#else
#define CACHE_ARCH 0x0300
#endif
#define CACHE_ARCH_MASK 0xff00

struct cache_header {
	char magic[20];
	u32 nr_libraries;
	u32 strings_size;
	u32 unused[5];
};

struct cache_entry {
	s32 flags;
	u32 name, path; /* offsets from the start of the header */
	u32 os_version;
	u64 hwcap;
};

bool library_is_called(const char *file_name, const char *name)
{
	size_t len = strlen(name);
	const char *rest = file_name + len;

	if (strncmp(file_name, name, len))
		return false;
	if (!*rest)
		return true;
	if (*rest == '-' && isdigit((unsigned char)rest[1]))
		return strstr(rest, ".so");
	if (!strncmp(rest, ".so", 3) && !strstr(name, ".so"))
		rest += 3;
	else if (!strstr(name, ".so"))
		return false;
	return !*rest || *rest == '.';
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_file_of(const struct mapping *m, const char *path)
{
	struct stat st;

	return !stat(path, &st) && st.st_ino == m->inode && major(st.st_dev) == m->dev_major &&
	       minor(st.st_dev) == m->dev_minor;
}

int library_find_mapped(pid_t pid, const char *name, char **path)
{
	struct mappings all = { 0 };
	int err = mappings_read(pid, true, &all);
	if (err)
		return err;

	err = -ENOENT;
	for (size_t i = 0; i < all.nr && err; i++) {
		const struct mapping *m = &all.at[i];
		bool is_wanted = strchr(name, '/') ? !strcmp(m->path, name)
						   : library_is_called(base_name(m->path), name);
		if (!m->inode || m->deleted || !is_wanted)
			continue;
		*path = is_file_of(m, m->path) ? xstrdup(m->path)
					       : xasprintf("/proc/%d/root%s", (int)pid, m->path);
		err = 0;
	}
	mappings_fini(&all);
	return err;
}

/* A text of the cache, or NULL if it is not inside the cache. */
static const char *text_at(const char *cache, size_t len, u32 off)
{
	return off < len && memchr(cache + off, '\0', len - off) ? cache + off : NULL;
}

static int find_in_cache(const char *cache, const char *name, char **path)
{
	auto_free char *bytes = NULL;
	struct cache_header head;
	size_t len;
	int err = file_read(cache, CACHE_MAX, &bytes, &len);
	if (err)
		return err;

	if (len < sizeof(head))
		return -ENOEXEC;
	memcpy(&head, bytes, sizeof(head));
	if (memcmp(head.magic, CACHE_MAGIC, sizeof(head.magic)) != 0 ||
	    head.nr_libraries > (len - sizeof(head)) / sizeof(struct cache_entry))
		return -ENOEXEC;
	for (u32 i = 0; i < head.nr_libraries; i++) {
		struct cache_entry e;
		memcpy(&e, bytes + sizeof(head) + i * sizeof(e), sizeof(e));
		const char *its_name = text_at(bytes, len, e.name);
		const char *its_path = text_at(bytes, len, e.path);
		if ((e.flags & CACHE_ARCH_MASK) != CACHE_ARCH || !its_name || !its_path ||
		    !library_is_called(its_name, name) || access(its_path, R_OK))
			continue;
		*path = xstrdup(its_path);
		return 0;
	}
	return -ENOENT;
}

static int find_in_path(const char *name, char **path)
{
	const char *folders = getenv("PATH");
	auto_free char *copy = xstrdup(folders ?: "");

	for (char *rest = copy, *folder; (folder = strsep(&rest, ":"));) {
		char *file = xasprintf("%s/%s", folder, name);
		struct stat st;
		if (*folder && !stat(file, &st) && S_ISREG(st.st_mode) && !access(file, X_OK)) {
			*path = file;
			return 0;
		}
		free(file);
	}
	return -ENOENT;
}

int library_find(const char *cache, const char *name, char **path)
{
	return find_in_cache(cache, name, path) ? find_in_path(name, path) : 0;
}
