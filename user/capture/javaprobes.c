/* SPDX-License-Identifier: Apache-2.0 */
/* Probes on the functions that tell of events in Java code. */
#include "capture/javaprobes.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "elf/functions.h"

enum teller_file {
	NO_TELLER,
	AGENT,
	LIBJVM,
};

/* The agent may be there under a name of its own, or as the root of a mount that is no more. */
static enum teller_file what_file(const char *path)
{
	const char *base = strrchr(path, '/');

	if (!base)
		return NO_TELLER;
	if (!base[1] || !strncmp(base, "/libjvmmap", 10) || !strncmp(base, "/.jvmmap", 8))
		return AGENT;
	return strncmp(base, "/libjvm.so", 10) ? NO_TELLER : LIBJVM;
}

static bool is_needed(const struct java_teller *t, enum teller_file file, enum tellers who)
{
	return t->is_hook ? file == AGENT && who == TELLERS_AGENT
			  : file == LIBJVM && who == TELLERS_LIBJVM;
}

enum tellers javaprobes_who(const struct sources *s)
{
	return sources_options(s)->without_agent ? TELLERS_LIBJVM : TELLERS_AGENT;
}

static int attach(struct sources *s, const struct bpf_uprobe *at, probe_links *out)
{
	struct bpf_link *link;
	int err = bpf_attach_program(sources_bpf(s), at, &link);

	if (!err)
		vec_push(out, link);
	return err;
}

static void tell_missing(const char *event, const struct java_teller *t, int err)
{
	if (err != -ENOENT)
		log_warn("%s is incomplete: %s cannot have a probe: %s", event, t->function,
			 strerror(-err));
	else
		log_warn("%s is incomplete: the libjvm.so of a JVM has no symbol %s; install its "
			 "debug symbols, or take a JDK whose libjvm.so has them",
			 event, t->function);
}

static void place_teller(struct sources *s, const char *event, const struct java_teller *t,
			 const struct bpf_uprobe *at, enum teller_file file, probe_links *out)
{
	int err = !at->file_off ? -ENOENT : t->program ? attach(s, at, out) : 0;

	if (err == -ESRCH)
		sources_count_gone(s);
	else if (err && (at->file_off || file == LIBJVM))
		tell_missing(event, t, err);
}

/* A file that tells: where it is, and where in it functions are, two for each teller. */
struct teller_functions {
	int fd;
	char path[PATH_MAX]; /* as its process sees it */
	enum teller_file file;
	const char *names[2 * JAVA_TELLERS_MAX];
	struct function found[2 * JAVA_TELLERS_MAX];
	size_t nr;
};

static u64 offset_of(const struct teller_functions *f, size_t teller)
{
	return f->found[2 * teller].file_off ?: f->found[2 * teller + 1].file_off;
}

/* `pid` is a process that maps the file, or -1. */
static void find_stripped(struct teller_functions *f, pid_t pid)
{
	char target[32] = "/";

	if (pid > 0)
		snprintf(target, sizeof(target), "/proc/%d/root", pid);
	int err = functions_find_stripped(f->fd, target, f->path, f->names, f->nr, f->found);
	if (err && err != -ENOENT)
		log_debug("debug file of %s: %s", f->path, strerror(-err));
}

static int find_functions(struct teller_functions *f, const struct java_event *event,
			  enum tellers who, pid_t pid)
{
	bool is_whole = true;

	for (size_t i = 0; i < event->nr; i++) {
		const struct java_teller *t = &event->tellers[i];
		f->names[f->nr++] = t->function;
		f->names[f->nr++] = t->older ?: t->function;
	}
	int err = functions_find_all(f->fd, f->names, f->nr, f->found);
	for (size_t i = 0; i < event->nr; i++)
		is_whole &= !is_needed(&event->tellers[i], f->file, who) || offset_of(f, i);
	if (!err && !is_whole && f->file == LIBJVM)
		find_stripped(f, pid);
	return err;
}

bool javaprobes_place(struct sources *s, const struct java_event *event, enum tellers who, int fd,
		      pid_t pid, probe_links *out)
{
	struct teller_functions f = { .fd = fd };
	char path[32];

	assert(event->nr <= JAVA_TELLERS_MAX);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ssize_t len = readlink(path, f.path, sizeof(f.path) - 1);
	f.path[len > 0 ? len : 0] = '\0';
	f.file = what_file(f.path);
	if (f.file == NO_TELLER || find_functions(&f, event, who, pid))
		return false;
	for (size_t i = 0; i < event->nr; i++) {
		const struct bpf_uprobe at = {
			.program = event->tellers[i].program,
			.path = path,
			.file_off = offset_of(&f, i),
			.pid = pid,
		};
		if (is_needed(&event->tellers[i], f.file, who))
			place_teller(s, event->name, &event->tellers[i], &at, f.file, out);
	}
	return true;
}
