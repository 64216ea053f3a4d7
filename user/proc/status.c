/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc/PID/status and /proc/PID/stat. */
#include "proc/status.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"

#define TEXT_MAX   (64 * 1024)
#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

/* The text after "NAME:" at the start of a line, or NULL. */
static const char *find_field(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		if (*line == '\n')
			line++;
		if (!strncmp(line, name, len) && line[len] == ':')
			return line + len + 1;
	}
	return NULL;
}

/* Returns the last number of the line; *nr gets their count. */
static pid_t last_number(const char *at, int *nr)
{
	long number = 0;
	char *end;

	for (*nr = 0;; (*nr)++, at = end) {
		at += strspn(at, " \t");
		if (*at < '0' || *at > '9')
			return (pid_t)number;
		number = strtol(at, &end, 10);
	}
}

static int parse_ids(const char *text, const char *name, u32 *real, u32 *effective, u32 *fs)
{
	const char *at = find_field(text, name);
	u32 saved;

	return at && sscanf(at, "%u %u %u %u", real, effective, &saved, fs) == 4 ? 0 : -EBADMSG;
}

static int parse_mask(const char *text, const char *name, u64 *mask)
{
	const char *at = find_field(text, name);

	if (!at)
		return -EBADMSG;
	*mask = strtoull(at, NULL, 16);
	return 0;
}

/* The comm in parentheses may contain any byte, even ')' and newlines. */
static int parse_stat(const char *stat, struct proc_status *out)
{
	const char *open = strchr(stat, '('), *close = strrchr(stat, ')');
	unsigned long long ticks, start_stack;
	unsigned flags;
	int parent;

	if (!open || !close || close < open)
		return -EBADMSG;
	if (sscanf(close + 1,
		   " %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
		   "%llu %*u %*d %*u %*u %*u %llu",
		   &out->state, &parent, &flags, &ticks, &start_stack) != 5)
		return -EBADMSG;

	size_t len = (size_t)(close - open - 1);
	if (len >= sizeof(out->comm))
		len = sizeof(out->comm) - 1;
	memcpy(out->comm, open + 1, len);
	out->comm[len] = '\0';
	out->pid = (pid_t)atoi(stat);
	out->parent_pid = parent;
	out->is_kernel_thread = flags & PF_KTHREAD;
	out->start_ns = ticks * PROC_TICK_NS;
	out->start_stack = start_stack;
	return 0;
}

int proc_status_parse(const char *status, const char *stat, struct proc_status *out)
{
	struct proc_status s = { 0 };

	int err = parse_stat(stat, &s);
	if (!err)
		err = parse_ids(status, "Uid", &s.uid, &s.euid, &s.fsuid);
	if (!err)
		err = parse_ids(status, "Gid", &s.gid, &s.egid, &s.fsgid);
	if (!err)
		err = parse_mask(status, "SigCgt", &s.sigcgt);
	if (!err)
		err = parse_mask(status, "SigIgn", &s.sigign);
	if (!err)
		err = parse_mask(status, "ShdPnd", &s.shdpnd);
	if (err)
		return err;

	parse_mask(status, "CapPrm", &s.permitted);
	const char *threads = find_field(status, "Threads");
	s.nr_threads = threads ? (u32)strtoul(threads, NULL, 10) : 0;
	const char *tgid = find_field(status, "Tgid");
	s.tgid = tgid ? (pid_t)atoi(tgid) : s.pid;
	/* Kernels without CONFIG_PID_NS do not print NStgid. */
	const char *nstgid = find_field(status, "NStgid");
	s.nspid = nstgid ? last_number(nstgid, &s.nr_nspid) : 0;
	if (!s.nr_nspid) {
		s.nspid = s.pid;
		s.nr_nspid = 1;
	}
	*out = s;
	return 0;
}

int proc_status_read(pid_t pid, struct proc_status *out)
{
	auto_free char *status = NULL, *stat = NULL;
	char path[64];
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	int err = file_read(path, TEXT_MAX, &status, &len);
	if (!err) {
		/*
		 * Reads the main thread's file: the process's takes a millisecond with 10,000
		 * threads.
		 */
		snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, pid);
		err = file_read(path, TEXT_MAX, &stat, &len);
	}
	if (err)
		return err == -ENOENT ? -ESRCH : err;
	return proc_status_parse(status, stat, out);
}

pid_t proc_pid_parse(const char *text)
{
	size_t len = strspn(text, "0123456789");
	long pid = len && len < 11 && !text[len] ? strtol(text, NULL, 10) : 0;

	return pid <= INT32_MAX ? (pid_t)pid : 0;
}

pid_t proc_other_thread(pid_t pid)
{
	char path[64];
	pid_t found = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *dir = opendir(path);
	for (struct dirent *e; dir && !found && (e = readdir(dir));) {
		pid_t tid = atoi(e->d_name);
		snprintf(path, sizeof(path), "/proc/%d/root/", tid);
		if (tid > 0 && tid != pid && !access(path, F_OK))
			found = tid;
	}
	if (dir)
		closedir(dir);
	return found;
}

bool proc_has_ended(struct process_id id)
{
	struct proc_status now;

	if (proc_status_read(id.pid, &now))
		return true;
	if (id.start_ns && !process_id_same(proc_status_id(&now), id))
		return true;
	return strchr("ZXx", now.state) && !proc_other_thread(id.pid);
}
