/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups. */
#include "proc/cgroup.h"

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

bool cgroup_container_parse(const char *text, char out[CONTAINER_ID_LEN + 1])
{
	const char *found = NULL;

	for (const char *at = text; *at;) {
		size_t len = strspn(at, HEX_DIGIT);
		if (len == CONTAINER_ID_LEN)
			found = at;
		at += len ? len : strcspn(at, HEX_DIGIT);
	}
	if (!found)
		return false;
	memcpy(out, found, CONTAINER_ID_LEN);
	out[CONTAINER_ID_LEN] = '\0';
	return true;
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
	char path[PATH_MAX], type[16], options[512];
	const char *tail = strstr(line, " - ");

	if (!tail || sscanf(line, "%*s %*s %*s %*s %4095s", path) != 1 ||
	    sscanf(tail, " - %15s %*s %511s", type, options) != 2)
		return;
	bool is_unified = !strcmp(type, "cgroup2");
	if (!is_unified && strcmp(type, "cgroup"))
		return;
	struct cgroup_mount m = { xstrdup(unescape(path)), xasprintf(",%s,", options), is_unified };
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
		free(one->options);
	}
	vec_fini(&m->all);
}

/* Whether the path is that of a folder in the mount. */
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
