/* SPDX-License-Identifier: Apache-2.0 */
/* Which agent a JVM has loaded: compares its mapped files with ours. */
#include "jvm/attach/loaded_agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "jvm/attach/agent_file.h"
#include "jvm/attach/deliver.h"
#include "proc/mapping.h"
#include "proc/target_file.h"

static bool has_content(int fd, const char *bytes, size_t len)
{
	char buffer[4096];
	size_t done = 0;
	struct stat st;

	if (fstat(fd, &st) || (size_t)st.st_size != len)
		return false;
	for (ssize_t got; done < len && (got = read(fd, buffer, sizeof(buffer))) > 0;) {
		if ((size_t)got > len - done || memcmp(buffer, bytes + done, (size_t)got) != 0)
			return false;
		done += (size_t)got;
	}
	return done == len;
}

/* Whether the mapping is of a mounted copy: after the unmount its path is only "/". */
static bool is_mount(const struct mapping *m)
{
	return !strcmp(m->path, "/");
}

static bool is_copy(pid_t pid, const struct mapping *m, const char *bytes, size_t len)
{
	auto_close int fd = mapped_file_open(pid, m);

	return fd >= 0 && has_content(fd, bytes, len);
}

/* Compares the inodes of files without devices, which differ on an overlay. */
static bool is_file(const struct mapping *m, const char *path)
{
	struct stat st;

	return !stat(path, &st) && m->inode == st.st_ino;
}

/* An agent of another version does not receive this command. */
bool loaded_agent_is_ours(const struct job *j)
{
	auto_free char *bytes = NULL;
	struct mappings all = { 0 };
	size_t len;
	bool found = false;

	if (agent_file_read(j->order->agent_path, &bytes, &len) ||
	    mappings_read(j->t.status.pid, true, &all))
		return false;
	for (size_t i = 0; i < all.nr && !found; i++) {
		const struct mapping *m = &all.at[i];
		found = is_file(m, j->order->agent_path) ||
			((is_mount(m) || strstr(m->path, "/.jvmmap-")) &&
			 is_copy(j->t.status.pid, m, bytes, len));
	}
	mappings_fini(&all);
	return found;
}

/* Whether the target's /tmp has another file of this name. Ours is empty until it is mounted. */
static bool is_foreign(const struct job *j, const char *name, const char *bytes, size_t len)
{
	const struct target_root tmp = { j->t.tmp_fd, 0, 0 };
	struct stat st;

	if (fstatat(tmp.fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno != ENOENT;
	auto_close int fd = target_file_open_unlinked(&tmp, name);
	return fd < 0 || (st.st_size && !has_content(fd, bytes, len));
}

/*
 * musl opens a path again before it looks for a loaded library (load_library in ldso/dynlink.c). In
 * a shared /tmp it would load what others have put there meanwhile.
 */
static bool is_loader_of_musl(const struct mapping *m)
{
	return strstr(m->path, "/ld-musl-");
}

/*
 * Whether the JVM has loaded this delivery. A mapped copy still has its path. A mapping of a former
 * mount has none, so the file that is at the path now must be the proof.
 */
static bool has_delivery(const struct job *j, const char *path)
{
	const char *name = strrchr(path, '/');
	auto_free char *bytes = NULL;
	struct mappings all = { 0 };
	bool has_copy = false, has_mount = false, is_musl = false;
	size_t len;

	if (agent_file_read(j->order->agent_path, &bytes, &len) ||
	    mappings_read(j->t.status.pid, true, &all))
		return false;
	for (size_t i = 0; i < all.nr; i++) {
		const struct mapping *m = &all.at[i];
		is_musl |= is_loader_of_musl(m);
		if (!has_mount && is_mount(m))
			has_mount = is_copy(j->t.status.pid, m, bytes, len);
		else if (!has_copy && strstr(m->path, name))
			has_copy = is_copy(j->t.status.pid, m, bytes, len);
	}
	mappings_fini(&all);
	if (is_musl)
		return false;
	return has_copy || (has_mount && !is_foreign(j, name + 1, bytes, len));
}

bool loaded_agent_is_unreachable(const struct job *j, const char *path)
{
	struct mappings all = { 0 };
	bool is_musl = false;

	if (!delivery_is_path(path) || mappings_read(j->t.status.pid, true, &all))
		return false;
	for (size_t i = 0; i < all.nr && !is_musl; i++)
		is_musl = is_loader_of_musl(&all.at[i]);
	mappings_fini(&all);
	return is_musl;
}

bool loaded_agent_has_path(const struct job *j)
{
	const char *path = j->order->loaded_path;

	if (!*path)
		return false;
	/* In a container, our path may lead to another file. */
	if (!strcmp(path, j->order->agent_path))
		return j->t.has_our_root;
	return delivery_is_path(path) && has_delivery(j, path);
}

static bool has_own_file(const struct job *j)
{
	struct mappings all = { 0 };
	bool found = false;

	if (!j->t.has_our_root || mappings_read(j->t.status.pid, true, &all))
		return false;
	for (size_t i = 0; i < all.nr && !found; i++)
		found = is_file(&all.at[i], j->order->agent_path);
	mappings_fini(&all);
	return found;
}

bool loaded_agent_path(const struct job *j, enum agent_path which, const char *nonce,
		       char out[DELIVERY_PATH_MAX])
{
	auto_free char *bytes = NULL;
	size_t len;

	switch (which) {
	case AGENT_FILE:
		snprintf(out, DELIVERY_PATH_MAX, "%s", j->order->agent_path);
		return has_own_file(j);
	case AGENT_COPY:
		if (agent_file_read(j->order->agent_path, &bytes, &len))
			return false;
		delivery_path(bytes, len, out);
		return has_delivery(j, out);
	case AGENT_OTHER_COPY:
		delivery_path_of(nonce, out);
		return has_delivery(j, out);
	default:
		return false;
	}
}
