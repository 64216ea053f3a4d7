/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups. */
#include "proc/cgroup.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/str.h"
#include "base/time.h"

#define TEXT_MAX   65536
#define MOUNTS_MAX (16 << 20)
#define HEX_DIGIT  "0123456789abcdef"

/*
 * The length of the container id that begins with `nr_hex` hex digits; 0 if they do not begin one.
 */
static size_t id_length(const char *at, size_t nr_hex)
{
	if (nr_hex == CONTAINER_ID_LEN)
		return nr_hex;
	if (nr_hex != 32 || at[nr_hex] != '-')
		return 0;
	size_t nr_decimal = strspn(at + nr_hex + 1, "0123456789");
	size_t len = nr_hex + 1 + nr_decimal;
	bool ends = !at[len] || strchr("/.\n", at[len]);
	return nr_decimal && ends && len <= CONTAINER_ID_LEN ? len : 0;
}

/* Whether the text that begins at `text` and ends at `at` ends in `what`. */
static bool is_behind(const char *what, const char *text, const char *at)
{
	size_t len = strlen(what);

	return (size_t)(at - text) >= len && !memcmp(at - len, what, len);
}

/*
 * Whether a group with the container's id is not the container itself: CRI-O's and Podman's
 * monitors "crio-conmon-ID.scope" and "libpod-conmon-ID"; units that systemd runs for a container,
 * such as mounts or "ID-1f.service" of Podman's health checks; the pod
 * "machine-libpod_pod_ID.slice".
 */
static bool is_beside(const char *text, const char *at, size_t len)
{
	const char *end = at + len + strcspn(at + len, "/\n");

	return is_behind("conmon-", text, at) || is_behind("libpod_pod_", text, at) ||
	       is_behind(".service", at, end) || is_behind(".mount", at, end);
}

bool cgroup_container_parse(const char *text, char out[CONTAINER_ID_LEN + 1])
{
	const char *found = NULL;
	size_t found_len = 0;

	for (const char *at = text; *at;) {
		size_t len = strspn(at, HEX_DIGIT), id_len = id_length(at, len);
		if (id_len && !is_beside(text, at, id_len)) {
			found = at;
			found_len = id_len;
		}
		len = id_len > len ? id_len : len;
		at += len ? len : strcspn(at, HEX_DIGIT);
	}
	if (!found)
		return false;
	memcpy(out, found, found_len);
	out[found_len] = '\0';
	return true;
}

/*
 * The length of a pod's uid; 0 if there is none at `at`. For a static pod kubelet writes a hash
 * without dashes.
 */
static size_t uid_length(const char *at)
{
	size_t len = strspn(at, HEX_DIGIT "-_");

	if (len == POD_UID_LEN || (len == 32 && strspn(at, HEX_DIGIT) == len))
		return len;
	return 0;
}

bool cgroup_pod_parse(const char *text, char out[POD_UID_LEN + 1])
{
	bool is_found = false;

	for (const char *at = text; (at = strstr(at, "pod"));) {
		at += strlen("pod");
		size_t len = uid_length(at);
		if (!len)
			continue;
		is_found = true;
		for (size_t i = 0; i < len; i++)
			out[i] = at[i] == '_' ? '-' : at[i];
		out[len] = '\0';
	}
	return is_found;
}

bool cgroup_container(pid_t pid, char out[CONTAINER_ID_LEN + 1])
{
	auto_free char *text = NULL;
	char path[32];
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	return !file_read(path, TEXT_MAX, &text, &len) && cgroup_container_parse(text, out);
}

/* The kernel writes space, tab, newline and backslash as octal numbers. */
static char *unescape(char *text)
{
	char *out = text;

	for (const char *in = text; *in; in++) {
		unsigned code;
		if (*in == '\\' && sscanf(in + 1, "%3o", &code) == 1) {
			*out++ = (char)code;
			in += 3;
		} else {
			*out++ = *in;
		}
	}
	*out = '\0';
	return text;
}

/* "36 35 98:0 / /sys/fs/cgroup rw,nosuid shared:1 - cgroup2 cgroup2 rw" */
static void parse_mount(const char *line, struct cgroup_mounts *out)
{
	char root[PATH_MAX], path[PATH_MAX], type[16], options[512];
	const char *tail = strstr(line, " - ");

	if (!tail || sscanf(line, "%*s %*s %*s %4095s %4095s", root, path) != 2 ||
	    sscanf(tail, " - %15s %*s %511s", type, options) != 2)
		return;
	bool is_unified = !strcmp(type, "cgroup2");
	if (!is_unified && strcmp(type, "cgroup"))
		return;
	struct cgroup_mount m = { xstrdup(unescape(path)), xstrdup(unescape(root)),
				  xasprintf(",%s,", options), is_unified };
	vec_push(&out->all, m);
	if (is_unified) {
		memmove(out->all.at + 1, out->all.at, (out->all.nr - 1) * sizeof(m));
		out->all.at[0] = m;
	}
}

void cgroup_mounts_parse(const char *text, struct cgroup_mounts *out)
{
	for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
		auto_str struct str one = { 0 };
		end = line + strcspn(line, "\n");
		str_add_bytes(&one, line, (size_t)(end - line));
		parse_mount(one.at, out);
	}
}

int cgroup_mounts_read(struct cgroup_mounts *out)
{
	auto_free char *text = NULL;
	size_t len;
	int err = file_read("/proc/self/mountinfo", MOUNTS_MAX, &text, &len);

	if (!err)
		cgroup_mounts_parse(text, out);
	return err;
}

void cgroup_mounts_fini(struct cgroup_mounts *m)
{
	vec_each(one, &m->all) {
		free(one->path);
		free(one->root);
		free(one->options);
	}
	vec_fini(&m->all);
}

/* Whether the path is a folder inside the mount. */
static bool is_group(const char *path, const char *mount, u64 *inode)
{
	auto_free char *real = realpath(path, NULL);
	size_t len = strlen(mount);
	struct stat st;

	if (!real || strncmp(real, mount, len) || (real[len] && real[len] != '/') ||
	    stat(real, &st) || !S_ISDIR(st.st_mode))
		return false;
	*inode = st.st_ino;
	return true;
}

const struct cgroup_mount *cgroup_find(const struct cgroup_mounts *m, const char *name, u64 *id)
{
	vec_each(one, &m->all)
		if (is_group(name, one->path, id))
			return one;
	vec_each(one, &m->all) {
		auto_free char *path = xasprintf("%s/%s", one->path, name);
		if (is_group(path, one->path, id))
			return one;
	}
	return NULL;
}

static const struct cgroup_mount *mount_of(const struct cgroup_mounts *m, const char *controller)
{
	auto_free char *option = controller ? xasprintf(",%s,", controller) : NULL;

	vec_each(one, &m->all)
		if (option ? !one->is_unified && strstr(one->options, option) : one->is_unified)
			return one;
	return NULL;
}

/* The path in a line "4:cpu,cpuacct:/a/b"; of version 2 it is "0::/a/b". */
static char *path_in(const char *text, const char *controller)
{
	auto_free char *wanted = xasprintf(",%s,", controller ?: "");

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *names = strchr(line, ':'),
			   *path = names ? strchr(names + 1, ':') : NULL;
		if (!path || path > line + strcspn(line, "\n"))
			continue;
		auto_free char *has = xasprintf(",%.*s,", (int)(path - names - 1), names + 1);
		if (controller ? !!strstr(has, wanted) : !strcmp(has, ",,"))
			return xstrndup(path + 1, strcspn(path + 1, "\n"));
	}
	return NULL;
}

/* Whether the mount's options name one of the controllers "cpu,cpuacct". */
static bool has_controller(const struct cgroup_mount *m, const char *names, size_t len)
{
	if (!len || m->is_unified)
		return !len && m->is_unified;
	for (const char *at = names; at < names + len; at++) {
		size_t one = strcspn(at, ",:");
		auto_free char *option = xasprintf(",%.*s,", (int)one, at);
		if (one && strstr(m->options, option))
			return true;
		at += one;
	}
	return false;
}

char *cgroup_path(const struct cgroup_mount *m, const char *text)
{
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *end = line + strcspn(line, "\n"), *names = strchr(line, ':');
		const char *path = names ? strchr(names + 1, ':') : NULL;
		if (path && path < end && has_controller(m, names + 1, (size_t)(path - names - 1)))
			return xstrndup(path + 1, (size_t)(end - path - 1));
	}
	return NULL;
}

char *cgroup_folder(const struct cgroup_mounts *m, const char *text, const char *controller)
{
	const struct cgroup_mount *mount = mount_of(m, controller);
	auto_free char *path = mount ? path_in(text, controller) : NULL;
	size_t len = mount && mount->root[1] ? strlen(mount->root) : 0;

	/* A group outside of our own cgroup namespace has a path that begins with "/..". */
	if (!path || *path != '/' || strstr(path, "/..") ||
	    (len && (strncmp(path, mount->root, len) || (path[len] && path[len] != '/'))))
		return NULL;
	return xasprintf("%s%s", mount->path, path[len] && path[len + 1] ? path + len : "");
}

#define DEPTH_MAX 32

struct walk {
	cgroup_fn visit;
	void *ctx;
	int nr_left;
};

/* Takes ownership of the descriptor. */
static void walk_folder(struct walk *w, int fd, int depth)
{
	auto_closedir DIR *folder = fdopendir(fd);

	if (!folder) {
		close(fd);
		return;
	}
	for (struct dirent *e; w->nr_left > 0 && (e = readdir(folder));) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		w->nr_left--;
		w->visit(e->d_name, depth, e->d_ino, w->ctx);
		int below = depth < DEPTH_MAX ? openat(dirfd(folder), e->d_name,
						       O_RDONLY | O_DIRECTORY | O_CLOEXEC)
					      : -1;
		if (below >= 0)
			walk_folder(w, below, depth + 1);
	}
}

void cgroup_each(const struct cgroup_mount *m, cgroup_fn visit, void *ctx)
{
	struct walk w = { visit, ctx, CGROUPS_MAX };
	int fd = open(m->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		walk_folder(&w, fd, 0);
}

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
