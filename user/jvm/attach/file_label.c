/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels of files that are made for a target, and what SELinux's policy says about them. Files of
 * selinuxfs: security/selinux/selinuxfs.c of the kernel.
 */
#include "jvm/attach/file_label.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"

#define LABEL       "security.selinux" /* XATTR_NAME_SELINUX of the kernel */
#define CONTEXT_MAX 1024               /* bytes of a label: the longest seen have 100 */
#define PERMISSIVE  0x1                /* AVD_FLAGS_PERMISSIVE: the domain is allowed everything */

/* "user:role:type" and perhaps a level. AppArmor's are "profile (mode)" or "unconfined". */
static bool is_context(const char *text)
{
	const char *role = strchr(text, ':');

	return role && strchr(role + 1, ':') && !strpbrk(text, " /");
}

static bool read_process(int fd, char out[CONTEXT_MAX])
{
	ssize_t nr = fd < 0 ? -1 : read(fd, out, CONTEXT_MAX - 1);

	if (nr <= 0)
		return false;
	out[nr] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return is_context(out);
}

static bool read_target(const struct process_root *t, char out[CONTEXT_MAX])
{
	auto_close int fd = process_root_open_proc(t, "attr/current", O_RDONLY);

	return read_process(fd, out);
}

/*
 * Whether SELinux runs, judged by the label of this process: the target's may not be readable.
 * Labels of Smack may look like those of SELinux, but a kernel without SELinux has no selinuxfs.
 * SELinux counts as running if the label cannot be read for another reason.
 */
static bool is_selinux_on(void)
{
	auto_free char *filesystems = NULL;
	auto_close int fd = open("/proc/thread-self/attr/current", O_RDONLY | O_CLOEXEC);
	char own[CONTEXT_MAX];
	size_t len;

	if (!file_read_at(AT_FDCWD, "/proc/filesystems", 1 << 16, &filesystems, &len) &&
	    !strstr(filesystems, "\tselinuxfs\n"))
		return false;
	ssize_t nr = fd < 0 ? -1 : read(fd, own, sizeof(own) - 1);
	if (nr <= 0)
		return !(fd < 0 && errno == ENOENT) && !(fd >= 0 && nr < 0 && errno == EINVAL);
	own[nr] = '\0';
	own[strcspn(own, "\n")] = '\0';
	return is_context(own);
}

/* Follows no link. */
static bool read_file(int dir, const char *name, char out[CONTEXT_MAX])
{
	auto_close int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ssize_t nr = fd < 0 ? -1 : getxattr(path, LABEL, out, CONTEXT_MAX - 1);
	if (nr <= 0)
		return false;
	out[nr] = '\0';
	return is_context(out);
}

/* Opens selinuxfs. A container often has none, or a read-only one: then it is mounted anew. */
static int open_policy(void)
{
	auto_close int there = open("/sys/fs/selinux", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;

	if (there >= 0 && !fstatfs(there, &fs) && fs.f_type == SELINUX_MAGIC &&
	    !faccessat(there, "access", W_OK, AT_EACCESS))
		return take_fd(there);
	auto_close int made = fsopen("selinuxfs", FSOPEN_CLOEXEC);
	if (made < 0 || fsconfig(made, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -errno;
	int fd = fsmount(made, FSMOUNT_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

static u32 read_number(int policy, const char *name)
{
	auto_free char *text = NULL;
	size_t len;

	return file_read_at(policy, name, 64, &text, &len) ? 0 : (u32)strtoul(text, NULL, 10);
}

/* Asks a file of the policy about "SOURCE TARGET CLASS". */
static int ask(int policy, const char *name, const char *source, const char *target,
	       const char *class, char answer[CONTEXT_MAX])
{
	char text[2 * CONTEXT_MAX + 16], index[64];

	snprintf(index, sizeof(index), "class/%s/index", class);
	u32 number = read_number(policy, index);
	if (!number)
		return -ENOENT;
	snprintf(text, sizeof(text), "%s %s %u", source, target, number);
	return file_ask(policy, name, text, answer, CONTEXT_MAX);
}

static bool write_label(const char *label)
{
	auto_close int fd = open("/proc/thread-self/attr/fscreate", O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, label, strlen(label)) == (ssize_t)strlen(label);
}

bool file_label_begin(const struct process_root *t)
{
	char process[CONTEXT_MAX], folder[CONTEXT_MAX], label[CONTEXT_MAX];

	if (!is_selinux_on() || !read_target(t, process) || !read_file(t->tmp_fd, ".", folder))
		return false;
	auto_close int policy = open_policy();
	return policy >= 0 && !ask(policy, "create", process, folder, "file", label) &&
	       write_label(label);
}

bool file_label_end(void)
{
	return write_label("\n"); /* the kernel takes that for none */
}

/* The answer: allowed, decided, auditallow, auditdeny, number, flags. All but the number are hex.
 */
bool file_label_is_permitted(const char *answer, u32 number)
{
	u32 allowed, flags;

	if (sscanf(answer, "%x %*x %*x %*x %*u %x", &allowed, &flags) != 2)
		return false;
	return flags & PERMISSIVE || (number - 1 < 32 && allowed & 1U << (number - 1));
}

static bool permits(int policy, const char *process, const char *label, const char *class,
		    const char *permission)
{
	char answer[CONTEXT_MAX], name[96];

	snprintf(name, sizeof(name), "class/%s/perms/%s", class, permission);
	return !ask(policy, "access", process, label, class, answer) &&
	       file_label_is_permitted(answer, read_number(policy, name));
}

static bool is_enforcing(int policy)
{
	auto_free char *text = NULL;
	size_t len;

	return file_read_at(policy, "enforce", 16, &text, &len) || text[0] != '0';
}

bool file_label_is_visible(const struct process_root *t, const char *name)
{
	char process[CONTEXT_MAX], folder[CONTEXT_MAX], file[CONTEXT_MAX];

	if (!is_selinux_on())
		return true;
	auto_close int policy = open_policy();
	if (policy < 0)
		return false;
	if (!is_enforcing(policy))
		return true;
	return read_target(t, process) && read_file(t->tmp_fd, ".", folder) &&
	       read_file(t->tmp_fd, name, file) &&
	       permits(policy, process, folder, "dir", "search") &&
	       permits(policy, process, file, "file", "getattr");
}
