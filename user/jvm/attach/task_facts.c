/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about a process that only the kernel has. */
#include "jvm/attach/task_facts.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "calls.h"

#define STATUS_MAX 65536

/* Set once: the function that opens iterators. */
static int (*open_iterator)(void);

void task_facts_use(int (*open)(void))
{
	open_iterator = open;
}

int task_facts_open(void)
{
	return open_iterator ? open_iterator() : -ENOSYS;
}

static void add(const struct task_facts *t, pid_t pid, struct process_facts *out)
{
	if ((pid_t)t->pid != pid)
		return;
	if (!out->are_known)
		*out = (struct process_facts){ true, 0, ~0u };
	if (t->quit_handler)
		out->quit_handler = t->quit_handler;
	out->allowed &= t->allowed;
}

void task_facts_read(int fd, pid_t pid, struct process_facts *out)
{
	struct task_facts all[256];
	size_t have = 0;
	ssize_t got;

	*out = (struct process_facts){ 0 };
	while ((got = fd < 0 ? 0 : read(fd, (char *)all + have, sizeof(all) - have))) {
		if (got < 0 && errno != EINTR && errno != EAGAIN)
			break;
		have += got > 0 ? (size_t)got : 0;
		size_t nr = have / sizeof(*all), rest = have % sizeof(*all);
		for (size_t i = 0; i < nr; i++)
			add(&all[i], pid, out);
		for (size_t i = 0; i < rest; i++)
			((char *)all)[i] = ((char *)all)[nr * sizeof(*all) + i];
		have = rest;
	}
	if (got)
		*out = (struct process_facts){ 0 };
}

static const char *const names[NR_CALLS] = {
#ifdef __x86_64__
#define X(name, x86, arm64, arm64_name) [CALL_##name] = #name,
#else
#define X(name, x86, arm64, arm64_name) [CALL_##name] = #arm64_name,
#endif
	CALLS_OF_AGENT(X) CALLS_OF_LISTENER(X)
#undef X
};

/* Whether a thread has a filter, as everybody may see. */
static bool has_filter(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	auto_closedir DIR *dir = opendir(path);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		auto_free char *text = NULL;
		size_t len;
		snprintf(path, sizeof(path), "/proc/%d/task/%.16s/status", (int)pid, e->d_name);
		if (*e->d_name != '.' && !file_read(path, STATUS_MAX, &text, &len) &&
		    strstr(text, "\nSeccomp:") && !strstr(text, "\nSeccomp:\t0"))
			return true;
	}
	return false;
}

bool task_facts_allow(const struct process_facts *f, pid_t pid, bool starts_listener,
		      struct str *why)
{
	u32 nr = starts_listener ? NR_CALLS : CALL_bind, nr_named = 0;

	str_clear(why);
	if (!f->are_known) {
		if (!has_filter(pid))
			return true;
		str_add(why, "its seccomp filter may end it during an attach, and cannot be "
			     "read; run sysflame with CAP_BPF and CAP_PERFMON");
		return false;
	}
	for (u32 i = 0; i < nr; i++)
		if (!(f->allowed & 1u << i))
			str_addf(why, "%s%s", nr_named++ ? ", " : "its seccomp filter forbids ",
				 names[i]);
	if (!nr_named)
		return true;
	str_add(why, ", and an attach would need that; allow it in the filter");
	return false;
}
