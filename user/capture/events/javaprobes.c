/* SPDX-License-Identifier: Apache-2.0 */
/* Probes on the functions that report events in Java code. */
#include "capture/events/javaprobes.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "elf/debugfile.h"
#include "elf/functions.h"
#include "proc/target_file.h"

enum probe_file {
	NO_TELLER,
	AGENT,
	LIBJVM,
};

/* The agent's file may have a name of its own, or show as the root of a mount that was removed. */
static enum probe_file what_file(const char *path)
{
	const char *base = strrchr(path, '/');

	if (!base)
		return NO_TELLER;
	if (!base[1] || !strncmp(base, "/libjvmmap", 10) || !strncmp(base, "/.jvmmap", 8))
		return AGENT;
	return strncmp(base, "/libjvm.so", 10) ? NO_TELLER : LIBJVM;
}

static bool is_needed(const struct java_probe *t, enum probe_file file, enum java_probed who)
{
	return t->is_hook ? file == AGENT && who == JAVA_PROBED_AGENT
			  : file == LIBJVM && who == JAVA_PROBED_LIBJVM;
}

enum java_probed javaprobes_default(const struct sources *s)
{
	return sources_options(s)->without_agent ? JAVA_PROBED_LIBJVM : JAVA_PROBED_AGENT;
}

static int attach(struct sources *s, const struct programs_uprobe *at, probe_links *out)
{
	struct bpf_link *link;
	int err = programs_attach_program(sources_bpf(s), at, &link);

	if (!err)
		vec_push(out, link);
	return err;
}

static void report_missing(const char *event, const struct java_probe *t, int err)
{
	if (err != -ENOENT)
		log_warn("%s is incomplete: %s cannot have a probe: %s", event, t->function,
			 strerror(-err));
	else
		log_warn("%s is incomplete: the libjvm.so of a JVM has no symbol %s; install its "
			 "debug symbols, or take a JDK whose libjvm.so has them",
			 event, t->function);
}

static void place_probe(struct sources *s, const char *event, const struct java_probe *t,
			const struct programs_uprobe *at, enum probe_file file, probe_links *out)
{
	int err = !at->file_off ? -ENOENT : t->program ? attach(s, at, out) : 0;

	if (err == -ESRCH)
		sources_count_gone(s);
	else if (err && (at->file_off || file == LIBJVM))
		report_missing(event, t, err);
}

/* A file with reporting functions, and their places in it: two names for each probe. */
struct probe_functions {
	int fd;
	char path[PATH_MAX]; /* as its process sees it */
	enum probe_file file;
	const char *names[2 * JAVA_PROBES_MAX];
	struct function found[2 * JAVA_PROBES_MAX];
	size_t nr;
};

static u64 offset_of(const struct probe_functions *f, size_t probe)
{
	return f->found[2 * probe].file_off ?: f->found[2 * probe + 1].file_off;
}

static int open_debug_file(enum debug_place place, const char *path, void *ctx)
{
	const struct target_root *root = ctx;

	if (place != DEBUG_IN_PROCESS)
		return debugfile_open_host(DEBUG_ROOT, place, path);
	auto_close int fd = target_file_open(root, path);
	return fd < 0 || debugfile_is_trusted(fd, root->uid) ? take_fd(fd) : -EPERM;
}

/* `pid` is a process that maps the file, or -1: then our root is searched as the file's owner. */
static int find_debug_file(struct probe_functions *f, pid_t pid)
{
	struct target_root root;
	int err = target_root_open_owner(f->fd, &root);

	if (err)
		return err;
	const struct debug_places in = { f->path, open_debug_file, &root };
	if (pid > 0) {
		target_root_close(&root);
		err = target_root_open(pid, &root);
	}
	if (err)
		return err;
	err = functions_find_stripped(f->fd, &in, f->names, f->nr, f->found);
	target_root_close(&root);
	return err;
}

static void find_stripped(struct probe_functions *f, pid_t pid)
{
	int err = find_debug_file(f, pid);

	if (err && err != -ENOENT)
		log_debug("debug file of %s: %s", f->path, strerror(-err));
}

static int find_functions(struct probe_functions *f, const struct java_event *event,
			  enum java_probed who, pid_t pid)
{
	bool is_whole = true;

	for (size_t i = 0; i < event->nr; i++) {
		const struct java_probe *t = &event->probes[i];
		f->names[f->nr++] = t->function;
		f->names[f->nr++] = t->older ?: t->function;
	}
	int err = functions_find_all(f->fd, f->names, f->nr, f->found);
	for (size_t i = 0; i < event->nr; i++)
		is_whole &= !is_needed(&event->probes[i], f->file, who) || offset_of(f, i);
	if (!err && !is_whole && f->file == LIBJVM)
		find_stripped(f, pid);
	return err;
}

bool javaprobes_place(struct sources *s, const struct java_event *event, enum java_probed who,
		      int fd, pid_t pid, probe_links *out)
{
	struct probe_functions f = { .fd = fd };
	char path[32];

	assert(event->nr <= JAVA_PROBES_MAX);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ssize_t len = readlink(path, f.path, sizeof(f.path) - 1);
	f.path[len > 0 ? len : 0] = '\0';
	f.file = what_file(f.path);
	if (f.file == NO_TELLER || find_functions(&f, event, who, pid))
		return false;
	for (size_t i = 0; i < event->nr; i++) {
		const struct programs_uprobe at = {
			.program = event->probes[i].program,
			.path = path,
			.file_off = offset_of(&f, i),
			.pid = pid,
			.cookie = event->probes[i].call,
		};
		if (is_needed(&event->probes[i], f.file, who))
			place_probe(s, event->name, &event->probes[i], &at, f.file, out);
	}
	return true;
}
