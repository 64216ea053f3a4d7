/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the names of a JVM's code for perf(1) into files of its /tmp and of ours. */
#include "jvm/perf_map_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/str.h"
#include "base/time.h"
#include "base/types.h"
#include "jvm/agent/agents.h"
#include "jvm/agent/agents_debug.h"
#include "jvm/attach/inject.h"
#include "jvm/hotspot/hotspot.h"
#include "jvm/process/process_root.h"
#include "proc/status.h"
#include "sandbox/rights.h"

#define READ_MAX_NS (5 * NS_PER_SEC)

struct text {
	struct str lines;
	size_t nr;
	struct hotspot *h; /* source of names without an agent */
};

static void add_line(struct text *t, u64 start, u64 end, const struct java_frame *name)
{
	str_addf(&t->lines, "%llx %llx %s%s%s\n", (unsigned long long)start,
		 (unsigned long long)(end - start), name->class_name, *name->class_name ? "." : "",
		 name->method);
	t->nr++;
}

static void take_code(u64 start, u64 end, const struct java_frame *name, void *ctx)
{
	add_line(ctx, start, end, name);
}

static int take_blob(void *ctx, const struct hotspot_blob *b)
{
	struct text *t = ctx;
	struct java_frame frames[1] = { { .class_name = "", .method = b->name } };

	if (b->code_end > b->code_start &&
	    (!b->is_nmethod || hotspot_name_pc(t->h,
					       (struct code_pc){ .pc = b->code_start,
								 .compile_id = b->compile_id,
								 .is_leaf = true },
					       frames, 1) > 0))
		add_line(t, b->code_start, b->code_end, &frames[0]);
	return 0;
}

static void take_routine(void *ctx, u64 start, u64 end, const char *name)
{
	const struct java_frame frame = { .class_name = "", .method = name };

	if (end > start)
		add_line(ctx, start, end, &frame);
}

static void keep_reason(pid_t pid, enum agent_state state, const char *reason, void *ctx)
{
	*(char **)ctx = xstrdup(reason);
}

/* Returns NULL, or the reason for which there is no agent. */
static char *ask_agent(const char *path, struct process_id id, struct text *out)
{
	struct agents *a = agents_new(path, AGENT_ALWAYS);
	struct agent_figures figures;
	char *reason = NULL;

	agents_request(a, id, id.start_ns, NULL);
	while (agents_is_undecided(a, id)) {
		agents_poll(a);
		usleep(1000);
	}
	/* Keep reading: the replay of a large program does not fit into the ring. */
	u64 end = time_mono_ns() + READ_MAX_NS;
	do {
		agents_poll(a);
	} while (!agents_are_read(a, id) && time_mono_ns() < end && !usleep(1000));
	bool is_whole = agents_are_read(a, id);
	const struct codemap *map = agents_codemap(a, id, &figures);
	if (map && is_whole)
		codemap_each(map, take_code, out);
	else if (map)
		reason = xstrdup("its agent reports code faster than it can be read; try again");
	else
		agents_each(a, keep_reason, &reason);
	agents_free(a);
	return reason;
}

static int ask_tables(struct process_id id, struct text *out)
{
	int err = hotspot_open(id, &out->h);

	if (err)
		return err;
	err = hotspot_each_blob(out->h, take_blob, out);
	hotspot_each_routine(out->h, take_routine, out);
	hotspot_free(out->h);
	return err;
}

#define WAIT_MS 10000

enum place {
	THEIRS,
	OURS,
};

struct outcome {
	int err;
	enum place place;
};

struct folder {
	int fd;
	pid_t pid;   /* in that folder's pid namespace */
	uid_t owner; /* user whose file may be replaced, besides our own */
};

/* Whether the file `name` may be replaced: 0. -EEXIST: it may not. -ENOENT: there is no file. */
static int check_old(const struct folder *f, const char *name)
{
	struct stat st;

	if (fstatat(f->fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	bool is_ours = st.st_uid == f->owner || st.st_uid == geteuid();
	return S_ISREG(st.st_mode) && st.st_nlink == 1 && is_ours ? 0 : -EEXIST;
}

static int replace(const struct folder *f, const char *name, const struct str *text)
{
	char fresh[WIRE_NONCE_LEN + 16] = ".perf-map-";

	inject_nonce(fresh + strlen(fresh));
	auto_close int fd =
		openat(f->fd, fresh, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	int err = fchmod(fd, 0644) ? -errno : file_write_all(fd, text->at, text->len);
	if (!err && renameat(f->fd, fresh, f->fd, name))
		err = -errno;
	if (err)
		unlinkat(f->fd, fresh, 0);
	return err;
}

static int put(const struct folder *f, const struct str *text)
{
	char name[32];

	snprintf(name, sizeof(name), "perf-%d.map", (int)f->pid);
	int err = check_old(f, name);
	if (err && err != -ENOENT)
		return err;
	if (text)
		return replace(f, name, text);
	return !err && unlinkat(f->fd, name, 0) ? -errno : 0;
}

static int put_theirs(const struct process_root *t, const struct str *text)
{
	const struct folder theirs = { t->tmp_fd, t->status.nspid, t->status.euid };
	int err = process_root_become(t);

	if (err)
		return err;
	err = put(&theirs, text);
	process_root_unbecome(t);
	return err;
}

static int put_ours(pid_t pid, uid_t owner, const struct str *text)
{
	auto_close int fd = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct folder ours = { fd, pid, owner };

	return fd < 0 ? -errno : put(&ours, text);
}

/*
 * For a process in another mount namespace perf looks in its /tmp for the innermost PID, otherwise
 * in ours.
 */
static struct outcome put_both(struct process_id id, const struct str *text)
{
	struct process_root t;
	uid_t owner = geteuid();
	int err = id.start_ns ? process_root_open(id, &t) : -ESRCH;

	if (err && (text || err != -ESRCH))
		return (struct outcome){ err, THEIRS };
	if (!err) {
		owner = t.status.euid;
		err = t.has_our_root ? 0 : put_theirs(&t, text);
		process_root_close(&t);
		if (err)
			return (struct outcome){ err, THEIRS };
	}
	return (struct outcome){ put_ours(id.pid, owner, text), OURS };
}

/* Runs in a child, because it changes its ids and may hang in the process's file system. */
static struct outcome run_child(struct process_id id, const struct str *text)
{
	struct outcome outcome = { -ETIMEDOUT, THEIRS };
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return (struct outcome){ -errno, OURS };
	pid_t child = fork();
	if (child == 0) {
		signal(SIGPIPE, SIG_IGN);
		outcome = put_both(id, text);
		_exit(write(ends[1], &outcome, sizeof(outcome)) != sizeof(outcome));
	}
	int err = errno;
	close(ends[1]);
	struct pollfd p = { .fd = ends[0], .events = POLLIN };
	if (child < 0)
		outcome = (struct outcome){ -err, OURS };
	else if (poll(&p, 1, WAIT_MS) == 1 &&
		 read(ends[0], &outcome, sizeof(outcome)) != sizeof(outcome))
		outcome = (struct outcome){ -EIO, THEIRS };
	close(ends[0]);
	if (child > 0) {
		/*
		 * The kill has no effect while the file system in which the child hangs is frozen.
		 */
		kill(child, SIGKILL);
		waitpid(child, NULL, outcome.err == -ETIMEDOUT ? WNOHANG : 0);
	}
	return outcome;
}

static char *explain_denial(pid_t pid, enum place place, const char *whose)
{
	auto_str struct str why = { 0 };
	struct proc_status status;

	if (place == OURS || proc_status_read(pid, &status) ||
	    !(process_root_capabilities(&status) & ~capabilities_read()))
		return xasprintf("/tmp/perf-%d.map may not be written in %s by its user; make that "
				 "writable, or remove the file",
				 (int)pid, whose);
	process_root_explain(pid, -EPERM, &why);
	return str_take(&why);
}

/*
 * Replaces the files, or removes them if `text` is NULL. It follows no links, changes only regular
 * files of ours or of the process, and acts with the process's rights in the process's /tmp.
 * Returns NULL, or "reason; what to do", which the caller frees.
 */
static char *perf_map_put(struct process_id id, const struct str *text)
{
	struct outcome o = run_child(id, text);
	const char *whose = o.place == OURS ? "/tmp" : "its /tmp";

	switch (-o.err) {
	case 0:
		return NULL;
	case ESRCH:
		return xstrdup("it has ended");
	case EEXIST:
		return xasprintf("the perf map in %s is not a regular file of its user; remove it",
				 whose);
	case ENOSPC:
	case EDQUOT:
		return xasprintf("%s is full; make room there", whose);
	case EROFS:
		return xasprintf("%s is read-only; mount a writable one", whose);
	case EPERM:
	case EACCES:
		return explain_denial(id.pid, o.place, whose);
	default:
		return xasprintf("%s cannot be written to (%s)", whose, strerror(-o.err));
	}
}

char *perf_map_write(const char *agent_path, struct process_id id, struct perf_map_done *out)
{
	struct text text = { 0 };
	auto_free char *no_agent = ask_agent(agent_path, id, &text);

	if (no_agent && ask_tables(id, &text))
		return take(no_agent);
	char *why = perf_map_put(id, &text.lines);
	str_fini(&text.lines);
	if (!why)
		*out = (struct perf_map_done){ text.nr, take(no_agent) };
	return why;
}

char *perf_map_remove(struct process_id id)
{
	return perf_map_put(id, NULL);
}
