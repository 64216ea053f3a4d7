/* SPDX-License-Identifier: Apache-2.0 */
/* JVMs in which an attach failed. */
#include "jvm/attach/refusals.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/time.h"
#include "base/utf8.h"
#include "proc/status.h"

#define FIRST_NS (600 * NS_PER_SEC)
#define MOST_NS  (86400 * NS_PER_SEC)
#define TEXT_MAX 4096

/* Only root or we can have written to it. */
static bool is_safe(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid()) &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

static int open_folder_at(int at, const char *name, bool may_make)
{
	if (may_make && mkdirat(at, name, 0755) && errno != EEXIST)
		return -errno;
	auto_close int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return is_safe(fd) ? take_fd(fd) : -EPERM;
}

static int open_folder(bool may_make)
{
	auto_close int run = open("/run", O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_close int ours = run < 0 ? -1 : open_folder_at(run, "sysflame", may_make);

	return ours < 0 ? -1 : open_folder_at(ours, "refused", may_make);
}

static void name_of(struct process_id id, char out[64])
{
	snprintf(out, 64, "%d-%llu", (int)id.pid, (unsigned long long)(id.start_ns / PROC_TICK_NS));
}

/* "UNTIL NR SIGNALLED REASON" */
static bool parse(char *text, struct refusal *out)
{
	unsigned long long until;
	unsigned nr, was_signalled;
	auto_str struct str clean = { 0 };
	int at = 0;

	text[strcspn(text, "\n")] = '\0';
	if (sscanf(text, "%llu %u %u %n", &until, &nr, &was_signalled, &at) != 3 || !at)
		return false;
	utf8_clean(&clean, text + at, sizeof(out->reason) - 1);
	*out = (struct refusal){ until, nr, was_signalled, "" };
	memcpy(out->reason, clean.at, clean.len + 1);
	return true;
}

static bool read_at(int folder, const char *name, struct refusal *out)
{
	auto_free char *text = NULL;
	size_t len;

	return !file_read_at(folder, name, TEXT_MAX, &text, &len) && parse(text, out);
}

bool refusal_read(struct process_id id, struct refusal *out)
{
	auto_close int folder = open_folder(false);
	char name[64];

	name_of(id, name);
	return folder >= 0 && read_at(folder, name, out);
}

/* Whether the process of a file, complete or temporary, is still alive. */
static bool is_alive(const char *name)
{
	struct proc_status status;
	unsigned long long ticks;
	int pid;

	return sscanf(name + (*name == '.'), "%d-%llu", &pid, &ticks) == 2 &&
	       !proc_status_read(pid, &status) && status.start_ns / PROC_TICK_NS == ticks;
}

static void sweep(int folder)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_closedir DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	for (struct dirent *e; dir && (e = readdir(dir));)
		if (e->d_type == DT_REG && !is_alive(e->d_name))
			unlinkat(folder, e->d_name, 0);
}

static void write_at(int folder, const char *name, const struct refusal *r)
{
	char tmp[80];

	snprintf(tmp, sizeof(tmp), ".%s.%d", name, (int)getpid());
	int fd = openat(folder, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	bool is_whole = dprintf(fd, "%llu %u %d %s\n", (unsigned long long)r->until_ns, r->nr,
				r->was_signalled, r->reason) > 0;
	close(fd);
	if (!is_whole || renameat(folder, tmp, folder, name))
		unlinkat(folder, tmp, 0);
}

void refusal_add(struct process_id id, const char *reason, bool was_signalled)
{
	auto_close int folder = open_folder(true);
	auto_str struct str clean = { 0 };
	struct refusal r = { 0 };
	char name[64];

	if (folder < 0)
		return;
	sweep(folder);
	name_of(id, name);
	read_at(folder, name, &r);
	u64 wait_ns = r.nr < 8 ? FIRST_NS << r.nr : MOST_NS;
	r.until_ns = time_boot_ns() + (wait_ns < MOST_NS ? wait_ns : MOST_NS);
	r.nr++;
	r.was_signalled |= was_signalled;
	utf8_clean(&clean, reason, sizeof(r.reason) - 1);
	memcpy(r.reason, clean.at, clean.len + 1);
	write_at(folder, name, &r);
}

void refusal_forget(struct process_id id)
{
	auto_close int folder = open_folder(false);
	char name[64];

	name_of(id, name);
	if (folder >= 0)
		unlinkat(folder, name, 0);
}

bool refusal_holds(const struct refusal *r, struct str *why)
{
	u64 now = time_boot_ns();

	if (now >= r->until_ns)
		return false;
	str_clear(why);
	str_addf(why, "%s; left alone for %llu min more, --agent always does not wait", r->reason,
		 (unsigned long long)((r->until_ns - now) / (60 * NS_PER_SEC) + 1));
	return true;
}
