/* SPDX-License-Identifier: Apache-2.0 */
/* Probes on the functions that report events in Java code. */
#include "capture/events/javaprobes.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "base/str.h"
#include "elf/debugfile.h"
#include "jvm/process/javaproc.h"
#include "proc/target_file.h"

enum probed_file {
	OTHER_FILE,
	AGENT,
	LIBJVM,
};

static enum probed_file what_file(const char *path)
{
	const char *base = strrchr(path, '/');

	if (javaproc_is_agent(path))
		return AGENT;
	return base && !strncmp(base, "/libjvm.so", 10) ? LIBJVM : OTHER_FILE;
}

static const struct java_placing *placing_of(const struct probe_placing *self)
{
	return (const struct java_placing *)self;
}

/* Whether the event's probe is in that file. */
static bool is_needed(const struct java_placing *p, const struct java_probe *probe,
		      enum probed_file file, const struct sources *s)
{
	bool by_libjvm = p->who == JAVA_PROBED_LIBJVM || sources_options(s)->without_agent;

	return probe->is_hook ? file == AGENT && !by_libjvm : file == LIBJVM && by_libjvm;
}

static int attach(struct sources *s, const struct programs_uprobe *at, probe_links *out)
{
	struct bpf_link *link;
	int err = programs_attach_program(sources_bpf(s), at, &link);

	if (!err)
		vec_push(out, link);
	return err;
}

static void report_missing(const char *event, const struct java_probe *probe, int err)
{
	if (err != -ENOENT)
		log_warn("%s is incomplete: %s cannot have a probe: %s", event, probe->function,
			 strerror(-err));
	else
		log_warn("%s is incomplete: the libjvm.so of a JVM has no symbol %s; install its "
			 "debug symbols, or take a JDK whose libjvm.so has them",
			 event, probe->function);
}

static void place_probe(struct sources *s, const char *event, const struct java_probe *probe,
			const struct programs_uprobe *at, enum probed_file file, probe_links *out)
{
	int err = !at->file_off ? -ENOENT : probe->program ? attach(s, at, out) : 0;

	if (err == -ESRCH)
		sources_count_gone(s);
	else if (err && (at->file_off || file == LIBJVM))
		report_missing(event, probe, err);
}

/* Writes the file's path as its process sees it. */
static enum probed_file identify(int fd, char path[PATH_MAX])
{
	char own[32];

	snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	ssize_t len = readlink(own, path, PATH_MAX - 1);
	path[len > 0 ? len : 0] = '\0';
	return what_file(path);
}

/* Opens debug files of a libjvm for the worker that searches it. */
struct debug_opener {
	/*
	 * a process that maps the file; -1: searches our root with the rights of the file's owner
	 */
	pid_t pid;
	uid_t uid;
	gid_t gid;
	char path[PATH_MAX];
};

static int open_debug_file(void *ctx, u32 place, const char *path)
{
	const struct debug_opener *opener = ctx;
	struct target_root root;

	if (place != DEBUG_IN_PROCESS)
		return debugfile_open_host(DEBUG_ROOT, place, path);
	int err = opener->pid > 0 ? target_root_open(opener->pid, &root)
				  : target_root_open_ours(opener->uid, opener->gid, &root);
	if (err)
		return err;
	uid_t trusted = root.uid;
	auto_close int fd = target_file_open(&root, path);
	target_root_close(&root);
	return fd < 0 || debugfile_is_trusted(fd, trusted) ? take_fd(fd) : -EPERM;
}

static void search_debug_files(const struct probe_file *f, const char *path,
			       struct places_query *query)
{
	struct debug_opener *opener;
	struct target_root owners;

	if (target_root_open_owner(f->fd, &owners))
		return;
	opener = xcalloc(1, sizeof(*opener));
	*opener = (struct debug_opener){ .pid = f->pid, .uid = owners.uid, .gid = owners.gid };
	target_root_close(&owners);
	copy_text(opener->path, sizeof(opener->path), path);
	query->debug_path = opener->path;
	query->open = open_debug_file;
	query->ctx = opener;
}

bool javaprobes_ask(const struct probe_placing *self, const struct probe_file *f,
		    struct places_query *query, void *ctx)
{
	const struct java_placing *p = placing_of(self);
	char path[PATH_MAX];
	enum probed_file file = identify(f->fd, path);

	assert(p->nr <= JAVA_PROBES_MAX);
	query->kind = PLACES_FUNCTIONS;
	query->nr_alternatives = 2;
	for (size_t i = 0; i < p->nr; i++) {
		const struct java_probe *probe = &p->probes[i];
		if (!is_needed(p, probe, file, ctx))
			continue;
		query->names[query->nr_names++] = probe->function;
		query->names[query->nr_names++] = probe->older ?: probe->function;
	}
	if (query->nr_names && file == LIBJVM)
		search_debug_files(f, path, query);
	return query->nr_names;
}

bool javaprobes_place(const struct probe_placing *self, const struct probe_file *f,
		      const struct places *found, probe_links *out, void *ctx)
{
	const struct java_placing *p = placing_of(self);
	char path[PATH_MAX], own[32];
	enum probed_file file = identify(f->fd, path);
	u32 nr = 0;

	snprintf(own, sizeof(own), "/proc/self/fd/%d", f->fd);
	for (size_t i = 0; i < p->nr; i++) {
		const struct java_probe *probe = &p->probes[i];
		if (!is_needed(p, probe, file, ctx) || nr == found->nr)
			continue;
		const struct programs_uprobe at = {
			.program = probe->program,
			.path = own,
			.file_off = found->at[nr++].file_off,
			.pid = f->pid,
			.cookie = probe->call,
		};
		place_probe(ctx, self->name, probe, &at, file, out);
	}
	return true;
}

struct probes *javaprobes_new(struct sources *s, const struct java_placing *p)
{
	const struct event_options *o = sources_options(s);

	return probes_new(o->workers, p->who == JAVA_PROBED_LIBJVM || o->only_targets, &p->placing,
			  s);
}
