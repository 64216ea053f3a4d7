/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a process may be attached to, and may get a SIGQUIT; in which JVMs an attach failed. */
#include "jvm/attach/readiness.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/str.h"
#include "base/time.h"
#include "calls.h"
#include "jvm/process/java_args.h"
#include "jvm/process/javaproc.h"
#include "jvmmap/wire.h"
#include "proc/cgroup.h"
#include "proc/status.h"
#include "proc/target_file.h"
#include "sandbox/rights.h"

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
#define X(name, x86, arm64, arm64_name) [CALL_##name] = MACHINE_CALL(#name, #arm64_name),
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

#define TEXT_MAX    (1u << 20)
#define STARTING_NS (5 * NS_PER_SEC)
/* after its signal thread has started, the handler is set within this time */
#define DISPATCHING_NS NS_PER_SEC
#define QUIT_BIT       (1ull << (SIGQUIT - 1))
/* The ring, the agent's own memory, the JVM's memory for its events. */
#define MEMORY_MIN (2ull * WIRE_RING_BYTES)

#define DISABLES_ATTACH "it runs with -XX:+DisableAttachMechanism; start it without"
#define DISABLES_AGENTS "it runs with -XX:-EnableDynamicAgentLoading; start it without"

/* An option on a command line or in an options variable that forbids an agent. */
struct veto {
	const char *text, *why;
};

static const struct veto vetoes[] = {
	{ "-XX:+DisableAttachMechanism", DISABLES_ATTACH },
	{ "-XX:-EnableDynamicAgentLoading", DISABLES_AGENTS },
	{ "-Djvmmap.disable", "it opted out by the property jvmmap.disable" },
	{ "-XX:ArchiveClassesAtExit", "it dumps a class archive at exit, which agents prevent" },
	{ "-XX:AOTMode=record", "it records an AOT cache, which agents prevent" },
	{ "-XX:AOTMode=create", "it creates an AOT cache, which agents prevent" },
	{ "-XX:AOTCacheOutput", "it records an AOT cache, which agents prevent" },
	{ "-Xshare:dump", "it dumps a class archive, which agents prevent" },
	{ "-XX:CRaCCheckpointTo",
	  "it can be checkpointed, which the agent's buffer would prevent" },
};

static const char *find_veto(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(vetoes); i++)
		if (strstr(text, vetoes[i].text))
			return vetoes[i].why;
	return NULL;
}

/*
 * Opens an options file by its path in the target's root. A relative path is opened in the target's
 * working folder, even if we see that folder under another path.
 */
static int open_options(const struct process_root *t, const char *name)
{
	char folder[PATH_MAX], own_link[32];
	auto_close int cwd = process_root_open_proc(t, "cwd", O_PATH | O_DIRECTORY);
	snprintf(own_link, sizeof(own_link), "/proc/self/fd/%d", cwd);
	ssize_t len = readlink(own_link, folder, sizeof(folder) - 1);
	bool is_relative = *name != '/' && len > 0 && cwd >= 0;

	folder[len > 0 ? len : 0] = '\0';
	auto_free char *path = xasprintf("%s/%s", is_relative ? folder : "", name);
	int fd = process_root_open_file(t, path);
	if (fd >= 0 || !is_relative)
		return fd;
	const struct target_root folder_root = { cwd, t->status.fsuid, t->status.fsgid };
	return target_file_open(&folder_root, name);
}

/* Searches an options file as a whole, because its words may be quoted or escaped. */
static const char *find_veto_in_file(const struct process_root *t, const char *path)
{
	char text[65536];
	auto_close int fd = open_options(t, path);
	ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	text[len > 0 ? len : 0] = '\0';
	return find_veto(text);
}

/*
 * Whether the program is the JDK's launcher. Other launchers have arguments of their own, which
 * options of the VM may follow.
 */
static bool is_java(const char *program)
{
	const char *slash = strrchr(program, '/');

	return !strcmp(slash ? slash + 1 : program, "java");
}

static const char *find_veto_in_args(const struct process_root *t, const char *cmdline, size_t len)
{
	struct java_args args;
	const char *arg = java_args_next(cmdline, len, NULL);

	java_args_parse(cmdline, len, &args);
	if (arg && !is_java(arg))
		args.main_at = SIZE_MAX;
	for (size_t i = 0; arg && i < args.main_at; i++, arg = java_args_next(cmdline, len, arg)) {
		const char *why = find_veto(arg);
		if (!why && *arg == '@' && arg[1] != '@')
			why = find_veto_in_file(t, arg + 1);
		if (!why && !strncmp(arg, "-XX:VMOptionsFile=", 18))
			why = find_veto_in_file(t, arg + 18);
		if (!why && !strncmp(arg, "-XX:Flags=", 10))
			why = find_veto_in_file(t, arg + 10);
		if (why)
			return why;
	}
	return NULL;
}

static const char *find_veto_in_environment(const char *environ, size_t len)
{
	static const char *const variables[] = { "JAVA_TOOL_OPTIONS=", "JDK_JAVA_OPTIONS=",
						 "_JAVA_OPTIONS=" };
	const char *why = NULL;

	for (const char *v = java_args_next(environ, len, NULL); v && !why;
	     v = java_args_next(environ, len, v)) {
		if (!strncmp(v, "JVMMAP_DISABLE=", 15))
			return "it opted out by the environment variable JVMMAP_DISABLE";
		for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
			if (!strncmp(v, variables[i], strlen(variables[i])))
				why = find_veto(v);
	}
	return why;
}

/* Whether its program has the class and machine for which our agent was built. */
static bool is_our_machine(const struct process_root *t)
{
	Elf64_Ehdr head;
	auto_close int fd = process_root_open_proc(t, "exe", O_RDONLY | O_NONBLOCK);

	return fd >= 0 && read(fd, &head, sizeof(head)) == sizeof(head) &&
	       !memcmp(head.e_ident, ELFMAG, SELFMAG) && head.e_ident[EI_CLASS] == ELFCLASS64 &&
	       head.e_machine == MACHINE_ELF;
}

static char *read_in(const char *folder, const char *name)
{
	auto_free char *path = xasprintf("%s/%s", folder, name);
	char *text = NULL;
	size_t len;

	return file_read(path, 4096, &text, &len) ? NULL : text;
}

/* Whether its control group is frozen. In version 2, a frozen process looks like a sleeping one. */
static bool is_frozen(const struct process_root *t)
{
	struct cgroup_mounts mounts = { 0 };
	auto_free char *groups = NULL;
	bool is_frozen = false;
	size_t len;

	if (file_read_at(t->proc_fd, "cgroup", 65536, &groups, &len) || cgroup_mounts_read(&mounts))
		return false;
	auto_free char *two = cgroup_folder(&mounts, groups, NULL);
	auto_free char *one = cgroup_folder(&mounts, groups, "freezer");
	auto_free char *events = two ? read_in(two, "cgroup.events") : NULL;
	auto_free char *state = one ? read_in(one, "freezer.state") : NULL;
	cgroup_mounts_fini(&mounts);
	is_frozen |= events && strstr(events, "frozen 1");
	is_frozen |= state && strstr(state, "FR") == state; /* FREEZING, FROZEN */
	return is_frozen;
}

static bool is_stopped(const struct process_root *t, char state)
{
	return strchr("Tt", state) || is_frozen(t);
}

/* The memory of the ring is charged to the process's control group. */
static bool has_memory(const struct process_root *t, struct str *why)
{
	struct memory_room room;

	if (!memory_room_read(t->status.pid, &room) || room.left >= MEMORY_MIN)
		return true;
	str_clear(why);
	str_addf(why,
		 "its control group has %llu KB left of %llu KB, and the agent may take %llu KB; "
		 "raise its memory limit",
		 (unsigned long long)room.left >> 10, (unsigned long long)room.limit >> 10,
		 MEMORY_MIN >> 10);
	return false;
}

static enum readiness answer(enum readiness r, const char *text, struct str *why)
{
	str_clear(why);
	str_add(why, text);
	return r;
}

/* Everybody may read the command line; the environment only the process's user. */
static int read_words(const struct process_root *t, const char *name, char **text, size_t *len)
{
	int err = file_read_at(t->proc_fd, name, TEXT_MAX, text, len);

	if (process_root_become_if_denied(t, err)) {
		err = file_read_at(t->proc_fd, name, TEXT_MAX, text, len);
		process_root_unbecome(t);
	}
	return err;
}

static enum vm find_vm(const struct process_root *t)
{
	enum vm vm = javaproc_vm(t->status.pid);

	/* Before Linux 6.14, VM_NONE may also mean that the mappings may not be read. */
	if (vm == VM_NONE && process_root_become_if_denied(t, -EACCES)) {
		vm = javaproc_vm(t->status.pid);
		process_root_unbecome(t);
	}
	return vm;
}

/* The rights for an attach: to act with its ids and to inspect it. */
static bool has_rights(const struct process_root *t, struct str *why)
{
	u64 missing = process_root_capabilities(&t->status) & ~capabilities_read();

	if (missing)
		process_root_explain(t->status.pid, -EPERM, why);
	return !missing;
}

enum readiness readiness_of_vm(const struct hotspot *h, struct str *why)
{
	auto_str struct str options = { 0 };
	bool on;

	if (!hotspot_flag(h, "DisableAttachMechanism", &on) && on)
		return answer(NEVER, DISABLES_ATTACH, why);
	if (!hotspot_flag(h, "EnableDynamicAgentLoading", &on) && !on)
		return answer(NEVER, DISABLES_AGENTS, why);
	hotspot_options(h, &options);
	const char *veto = options.at ? find_veto(options.at) : NULL;
	return veto ? answer(NEVER, veto, why) : READY;
}

enum readiness readiness_to_attach(const struct process_root *t, struct str *why)
{
	auto_free char *cmdline = NULL, *environ = NULL;
	size_t cmdline_len, environ_len;

	switch (find_vm(t)) {
	case VM_HOTSPOT:
		break;
	case VM_OPENJ9:
		return answer(NEVER, "it runs OpenJ9, which is not supported", why);
	case VM_NONE:
		return answer(NEVER, "it is not a JVM", why);
	}
	if (!has_rights(t, why))
		return NEVER;
	if (!is_our_machine(t))
		return answer(NEVER, "it is of another architecture than sysflame", why);
	int err = read_words(t, "cmdline", &cmdline, &cmdline_len);
	err = err ? err : read_words(t, "environ", &environ, &environ_len);
	if (err) {
		process_root_explain(t->status.pid, err, why);
		return NEVER;
	}
	const char *veto = find_veto_in_environment(environ, environ_len);
	if (!veto)
		veto = find_veto_in_args(t, cmdline, cmdline_len);
	if (veto)
		return answer(NEVER, veto, why);
	/* A stopped process would execute the command much later, when nobody waits for it. */
	if (is_stopped(t, t->status.state))
		return answer(NOT_YET, "it is stopped; let it run", why);
	return has_memory(t, why) ? READY : NOT_YET;
}

/* How far a VM has started, judged by its thread that takes signals. */
enum start {
	START_UNKNOWN, /* no such thread, or one without a name, as in JDK 8 */
	START_OVER,    /* its handler of SIGQUIT is set */
};

/* The VM sets its handler right after it has started this thread. */
static enum start start_of(pid_t pid)
{
	char path[64];
	struct proc_status thread;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	auto_closedir DIR *dir = opendir(path);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		if (*e->d_name == '.' || proc_status_read(atoi(e->d_name), &thread) ||
		    strcmp(thread.comm, "Signal Dispatch"))
			continue;
		return time_boot_ns() < thread.start_ns + DISPATCHING_NS ? START_UNKNOWN
									 : START_OVER;
	}
	return START_UNKNOWN;
}

enum readiness readiness_for_signal(const struct process_root *t, bool handles_quit,
				    struct str *why)
{
	struct proc_status now;

	if (proc_status_read(t->status.pid, &now) ||
	    !process_id_same(proc_status_id(&now), proc_status_id(&t->status)))
		return answer(NEVER, "it has ended", why);
	if (strchr("ZXx", now.state))
		return answer(NEVER, "it has ended", why);
	if (is_stopped(t, now.state))
		return answer(NOT_YET, "it is stopped; let it run", why);
	if (now.shdpnd & QUIT_BIT)
		return answer(NOT_YET, "it has not yet taken an earlier SIGQUIT; wait", why);
	if (now.sigcgt & QUIT_BIT && !(now.sigign & QUIT_BIT))
		return READY;
	enum start start = start_of(t->status.pid);
	if (start != START_OVER && time_boot_ns() < t->program_ns + STARTING_NS)
		return answer(NOT_YET, "it is still starting; wait", why);
	return answer(handles_quit && start == START_UNKNOWN ? NOT_YET : NEVER, READINESS_DEAF,
		      why);
}

enum readiness readiness_of_handler(const struct process_facts *f, const struct mappings *code,
				    struct str *why)
{
	const struct mapping *m = mappings_find(code, f->quit_handler);

	if (!f->are_known)
		return answer(
			NEVER,
			"whether its SIGQUIT is the JVM's cannot be read, and the signal "
			"might end it; run sysflame with CAP_BPF and CAP_PERFMON, or start it "
			"with -XX:+StartAttachListener",
			why);
	if (m && javaproc_is_libjvm(m))
		return READY;
	return answer(
		NEVER,
		"the program handles SIGQUIT itself, so the signal of an attach might end it; "
		"start its JVM with -XX:+StartAttachListener",
		why);
}

bool readiness_for_live_events(const char *version)
{
	int major = atoi(version), minor = 0, update = 0;

	if (major == 1) { /* "1.8.0_382" */
		const char *underscore = strchr(version, '_');
		return !strncmp(version, "1.8.", 4) && underscore && atoi(underscore + 1) >= 382;
	}
	if (major == 11 && sscanf(version, "11.%d.%d", &minor, &update) == 2)
		return minor > 0 || update >= 20;
	return major >= 17;
}

#define FIRST_NS    (600 * NS_PER_SEC)
#define MOST_NS     (86400 * NS_PER_SEC)
#define REFUSAL_MAX 4096

/* Whether only root or this user can have written the file. */
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

	return !file_read_at(folder, name, REFUSAL_MAX, &text, &len) && parse(text, out);
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
