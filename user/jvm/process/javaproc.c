/* SPDX-License-Identifier: Apache-2.0 */
/* The JVMs among the processes, and the facts that are visible from outside. */
#include "jvm/process/javaproc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/str.h"
#include "base/vec.h"
#include "jvm/process/main_class.h"
#include "jvm/process/memfds.h"
#include "jvm/process/perfdata.h"
#include "jvm/process/process_root.h"
#include "proc/mapping.h"
#include "proc/status.h"
#include "proc/target_file.h"

#define TEXT_MAX_BYTES (1u << 20)
#define SHOWN_MAX      400

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool javaproc_is_libjvm(const struct mapping *m)
{
	return m->executable && !strcmp(base_name(m->path), "libjvm.so");
}

/* The code of the VM's library. OpenJ9 has a libjvm.so too, which only forwards calls. */
static const struct mapping *find_vm(const struct mappings *all, enum vm *vm)
{
	const struct mapping *found = NULL;

	*vm = VM_NONE;
	for (size_t i = 0; i < all->nr; i++) {
		const char *name = base_name(all->at[i].path);
		if (!all->at[i].executable)
			continue;
		if (!strncmp(name, "libj9vm", 7)) {
			*vm = VM_OPENJ9;
			return &all->at[i];
		}
		if (!found && javaproc_is_libjvm(&all->at[i])) {
			*vm = VM_HOTSPOT;
			found = &all->at[i];
		}
	}
	return found;
}

bool javaproc_is_agent(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash &&
	       (!slash[1] || !strncmp(slash, "/libjvmmap", 10) || !strncmp(slash, "/.jvmmap", 8));
}

static bool has_agent(const struct mappings *all)
{
	for (size_t i = 0; i < all->nr; i++)
		if (all->at[i].executable && javaproc_is_agent(all->at[i].path))
			return true;
	return false;
}

enum vm javaproc_vm(pid_t pid)
{
	struct mappings all = { 0 };
	enum vm vm = VM_NONE;

	if (mappings_read(pid, true, &all) == 0) {
		find_vm(&all, &vm);
		mappings_fini(&all);
	}
	return vm;
}

/* The value of JAVA_VERSION="..." in the text of a `release` file. */
static char *version_in(const char *release)
{
	static const char key[] = "JAVA_VERSION=\"";
	const char *at = strstr(release, key);

	if (!at)
		return NULL;
	at += sizeof(key) - 1;
	size_t len = strcspn(at, "\"\n");
	return len && len < 64 ? xstrndup(at, len) : NULL;
}

/*
 * JDK/lib/server/libjvm.so, JRE/lib/amd64/server/libjvm.so: `release` is up to five folders above.
 */
static char *read_release(const struct target_root *t, const char *libjvm)
{
	auto_free char *folder = xstrdup(libjvm);
	char text[4096];

	for (int up = 0; up < 6; up++) {
		char *slash = strrchr(folder, '/');
		if (!slash)
			return NULL;
		*slash = '\0';
		auto_free char *path = xasprintf("%s/release", folder);
		auto_close int fd = target_file_open(t, path);
		if (fd < 0)
			continue;
		ssize_t len = read(fd, text, sizeof(text) - 1);
		text[len > 0 ? len : 0] = '\0';
		char *version = version_in(text);
		if (version)
			return version;
	}
	return NULL;
}

static char *clean(const char *text)
{
	struct str out = { 0 };

	utf8_clean(&out, text, SHOWN_MAX);
	return str_take(&out);
}

char *javaproc_main(struct process_id id, const char *command)
{
	auto_free char *cmdline = NULL;
	struct proc_status status;
	struct words w = { 0 };
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/cmdline", id.pid);
	if (!file_read(path, TEXT_MAX_BYTES, &cmdline, &w.args_len) && w.args_len)
		w.args = cmdline;
	char *main = main_class(command, &w);
	if (main || w.args)
		return main ?: clean(base_name(w.args));
	return clean(proc_status_read(id.pid, &status) ? "?" : status.comm);
}

/*
 * From the counters that the VM has mapped, for JDKs packaged without `release`. They are in its
 * /tmp regardless of java.io.tmpdir.
 */
static char *read_perfdata(const struct target_root *t, const struct mappings *all)
{
	static u8 bytes[PERFDATA_MAX]; /* scratch */

	for (size_t i = 0; i < all->nr; i++) {
		const struct mapping *m = &all->at[i];
		struct stat st;
		const char *tail = strstr(m->path, "/hsperfdata_");
		if (!tail)
			continue;
		auto_free char *path = xasprintf("/tmp%s", tail);
		auto_close int fd = target_file_open(t, path);
		if (fd < 0 || fstat(fd, &st) || st.st_ino != m->inode)
			continue;
		ssize_t len = read(fd, bytes, sizeof(bytes));
		return perfdata_string(bytes, len > 0 ? (size_t)len : 0,
				       "java.property.java.version");
	}
	return NULL;
}

/* The kernel shows a mapping's path from the process's root, but from ours for a chroot. */
static char *read_jdk(pid_t pid, const struct mappings *all, const struct mapping *libjvm)
{
	auto_free char *version = NULL;
	struct target_root theirs, ours;

	if (target_root_open(pid, &theirs))
		return clean("?");
	if (target_file_inode(&theirs, libjvm->path) == libjvm->inode)
		version = read_release(&theirs, libjvm->path);
	if (!version)
		version = read_perfdata(&theirs, all);
	if (!version && !target_root_open_ours(theirs.uid, theirs.gid, &ours)) {
		if (target_file_inode(&ours, libjvm->path) == libjvm->inode)
			version = read_release(&ours, libjvm->path);
		target_root_close(&ours);
	}
	target_root_close(&theirs);
	return clean(version ? version : "?");
}

static bool has_session(struct process_id id)
{
	struct process_root t;
	int any = memfds_any(id.pid);

	if (any >= 0 || process_root_open(id, &t))
		return any > 0;
	if (process_root_become_if_denied(&t, any)) {
		any = memfds_any(id.pid);
		process_root_unbecome(&t);
	}
	process_root_close(&t);
	return any > 0;
}

int javaproc_read(pid_t pid, struct javaproc *out)
{
	struct mappings all = { 0 };
	struct proc_status status;
	enum vm vm;

	/* Quick check first: most processes are not JVMs. */
	if (javaproc_vm(pid) == VM_NONE)
		return -ESRCH;
	int err = mappings_read(pid, false, &all);
	if (err)
		return err;
	const struct mapping *libjvm = find_vm(&all, &vm);
	err = libjvm ? proc_status_read(pid, &status) : -ESRCH;
	if (!err)
		*out = (struct javaproc){
			.id = proc_status_id(&status),
			.uid = status.euid,
			.vm = vm,
			.jdk = read_jdk(pid, &all, libjvm),
			.has_agent = has_agent(&all),
			.has_session = has_session(proc_status_id(&status)),
		};
	if (!err)
		out->main = javaproc_main(out->id, NULL);
	mappings_fini(&all);
	return err;
}

void javaproc_fini(struct javaproc *j)
{
	free(j->jdk);
	free(j->main);
}

static int by_pid(const void *a, const void *b)
{
	const struct javaproc *x = a, *y = b;

	return x->id.pid < y->id.pid ? -1 : x->id.pid > y->id.pid;
}

/* Threads of the kernel have no command line. */
static bool is_hidden(pid_t pid)
{
	auto_free char *path = xasprintf("/proc/%d/maps", (int)pid), *command = NULL;
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len;

	if (fd >= 0 || errno != EACCES)
		return false;
	free(path);
	path = xasprintf("/proc/%d/cmdline", (int)pid);
	int err = file_read(path, 1, &command, &len);
	return err == -EFBIG || (!err && len);
}

int javaprocs_read(struct javaprocs *out)
{
	struct javaprocs all = { 0 };
	auto_closedir DIR *dir = opendir("/proc");

	if (!dir)
		return -errno;
	for (struct dirent *e; (e = readdir(dir));) {
		struct javaproc j;
		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		if (javaproc_read(atoi(e->d_name), &j) == 0)
			vec_push(&all, j);
		else
			all.nr_hidden += is_hidden(atoi(e->d_name));
	}
	if (all.nr)
		qsort(all.at, all.nr, sizeof(all.at[0]), by_pid);
	*out = all;
	return 0;
}

void javaprocs_fini(struct javaprocs *all)
{
	vec_each(j, all)
		javaproc_fini(j);
	vec_fini(all);
}
