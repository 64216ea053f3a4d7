/* SPDX-License-Identifier: Apache-2.0 */
/* BPF programs of other processes. */
#include "capture/programs/other_programs.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/str.h"

#define PROGRAMS_MAX 1024
/* most descriptors of a process that are examined: servers with more hold sockets */
#define DESCRIPTORS_MAX 4096
#define LINE_MAX_BYTES  4096
#define PINS            "/sys/fs/bpf"
#define PINS_MAX        4096 /* files and folders */
#define PINS_DEPTH      8

/* The value of the line `key` in fdinfo; NULL if there is no such line. */
static const char *value_of(const char *info, const char *key)
{
	const char *at = strstr(info, key);

	return at ? at + strlen(key) + strspn(at + strlen(key), " \t") : NULL;
}

static u64 number_of(const char *info, const char *key)
{
	const char *value = value_of(info, key);

	return value ? strtoull(value, NULL, 10) : 0;
}

/* Programs of these types run with bpf_prog_active held, so our perf program does not run. */
static bool holds_others_up(u64 type)
{
	return type == BPF_PROG_TYPE_KPROBE || type == BPF_PROG_TYPE_TRACEPOINT ||
	       type == BPF_PROG_TYPE_PERF_EVENT;
}

static struct other_program *find(const other_program_list *all, u64 id)
{
	vec_each(p, all)
		if (p->id == id)
			return p;
	return NULL;
}

static void name_holder(int proc_fd, struct other_program *p)
{
	auto_free char *path = xasprintf("%d/comm", (int)p->pid);
	auto_free char *text = NULL;
	auto_str struct str clean = { 0 };
	size_t len;

	if (file_read_at(proc_fd, path, 64, &text, &len))
		return;
	utf8_clean(&clean, text, strcspn(text, "\n"));
	copy_text(p->comm, sizeof(p->comm), clean.len ? clean.at : "");
}

/*
 * Adds a program. `info` is the fdinfo of the program or of a link to it; only a program's has a
 * run time. Returns NULL if the program is already in the list.
 */
static struct other_program *add_program(const char *info, other_program_list *out)
{
	struct other_program p = { .id = (u32)number_of(info, "prog_id:"),
				   .is_timed = value_of(info, "run_time_ns:") != NULL,
				   .run_ns = number_of(info, "run_time_ns:") };
	const char *tag = value_of(info, "prog_tag:");
	struct other_program *known = find(out, p.id);

	if (known && p.is_timed && !known->is_timed) { /* so far only its link was seen */
		known->is_timed = true;
		known->run_ns = p.run_ns;
	}
	if (known)
		return NULL;
	snprintf(p.tag, sizeof(p.tag), "%.16s", tag ?: "");
	snprintf(p.name, sizeof(p.name), "program %u", p.id);
	vec_push(out, p);
	return &out->at[out->nr - 1];
}

static void add_held(int proc_fd, pid_t pid, const char *fd, other_program_list *out)
{
	auto_free char *path = xasprintf("%d/fdinfo/%s", (int)pid, fd);
	auto_free char *info = NULL;
	size_t len;

	if (file_read_at(proc_fd, path, 4096, &info, &len) ||
	    !holds_others_up(number_of(info, "prog_type:")))
		return;
	struct other_program *p = add_program(info, out);
	if (!p)
		return;
	p->pid = pid;
	name_holder(proc_fd, p);
}

static void add_programs_of(int proc_fd, pid_t pid, other_program_list *out)
{
	auto_free char *path = xasprintf("%d/fd", (int)pid);
	int fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_closedir DIR *fds = fd < 0 ? NULL : fdopendir(fd);
	char target[32];

	for (int i = 0; fds && i < DESCRIPTORS_MAX && out->nr < PROGRAMS_MAX; i++) {
		const struct dirent *d = readdir(fds);
		if (!d)
			return;
		ssize_t len = readlinkat(dirfd(fds), d->d_name, target, sizeof(target) - 1);
		target[len > 0 ? len : 0] = '\0';
		if (!strcmp(target, "anon_inode:bpf-prog"))
			add_held(proc_fd, pid, d->d_name, out);
	}
}

/* Links of these types run their program with bpf_prog_active held. */
static bool links_others_up(const char *info)
{
	const char *type = value_of(info, "link_type:") ?: "";

	return !strncmp(type, "perf", 4) || !strncmp(type, "kprobe_multi\n", 13) ||
	       !strncmp(type, "kretprobe_multi\n", 16);
}

/* A pin keeps a program or a link alive that no process holds. */
static void add_pin(int proc_fd, const char *path, other_program_list *out)
{
	auto_close int fd = bpf_obj_get(path);
	auto_free char *fdinfo = xasprintf("self/fdinfo/%d", fd);
	auto_free char *info = NULL;
	auto_str struct str clean = { 0 };
	size_t len;

	if (fd < 0 || file_read_at(proc_fd, fdinfo, 4096, &info, &len) ||
	    !(holds_others_up(number_of(info, "prog_type:")) || links_others_up(info)))
		return;
	struct other_program *p = add_program(info, out);
	if (!p)
		return;
	utf8_clean(&clean, path, strlen(path));
	copy_text(p->comm, sizeof(p->comm), clean.at);
}

/* Adds pins below `folder`. Returns how many further entries may be examined. */
static u32 add_pins(int proc_fd, const char *folder, u32 depth, u32 left, other_program_list *out)
{
	auto_closedir DIR *pins = depth < PINS_DEPTH ? opendir(folder) : NULL;

	for (const struct dirent *d; pins && left && (d = readdir(pins));) {
		auto_free char *path = xasprintf("%s/%s", folder, d->d_name);
		if (d->d_name[0] == '.')
			continue;
		left--;
		if (d->d_type == DT_DIR)
			left = add_pins(proc_fd, path, depth + 1, left, out);
		else if (d->d_type == DT_REG && out->nr < PROGRAMS_MAX)
			add_pin(proc_fd, path, out);
	}
	return left;
}

/* "ffffffffc0012345 t bpf_prog_TAG_NAME\t[bpf]" */
static int take_name(const char *line, const char *end, void *list)
{
	char tag[20], name[64];

	if (sscanf(line, "%*x %*c bpf_prog_%16[0-9a-f]_%63[A-Za-z0-9_.]", tag, name) != 2)
		return 0;
	vec_each(p, (other_program_list *)list)
		if (!strcmp(p->tag, tag))
			copy_text(p->name, sizeof(p->name), name);
	return 0;
}

void other_programs_read(other_program_list *out)
{
	int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_closedir DIR *proc = proc_fd < 0 ? NULL : fdopendir(proc_fd);

	for (const struct dirent *d; proc && (d = readdir(proc));) {
		pid_t pid = atoi(d->d_name);
		if (pid > 0 && pid != getpid())
			add_programs_of(proc_fd, pid, out);
	}
	if (proc)
		add_pins(proc_fd, PINS, 0, PINS_MAX, out);
	auto_close int names = out->nr ? open("/proc/kallsyms", O_RDONLY | O_CLOEXEC) : -1;
	if (names >= 0)
		file_each_line(names, LINE_MAX_BYTES, take_name, out);
}

void other_program_text(const struct other_program *p, struct str *out)
{
	if (p->pid)
		str_addf(out, "%s of %s-%d", p->name, p->comm, (int)p->pid);
	else
		str_addf(out, "%s (pinned at %s)", p->name, p->comm);
}

static int by_run_time(const void *a, const void *b)
{
	const struct other_program *x = a, *y = b;

	return x->run_ns < y->run_ns ? 1 : x->run_ns > y->run_ns ? -1 : 0;
}

void other_programs_since(const other_program_list *before, other_program_list *now)
{
	vec_each(p, now)
		vec_each(old, before)
			if (old->id == p->id)
				p->run_ns -= old->run_ns < p->run_ns ? old->run_ns : p->run_ns;
	if (now->nr)
		qsort(now->at, now->nr, sizeof(now->at[0]), by_run_time);
}
