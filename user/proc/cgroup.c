/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups. */
#include "proc/cgroup.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/str.h"

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

/* Whether the text between `text` and `at` ends in `what`. */
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

	/* The path of a group beside or above our own namespace's begins with "/..". */
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
