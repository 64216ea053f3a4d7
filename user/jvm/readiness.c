/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a process may be attached to, and whether it may be sent SIGQUIT. */
#include "jvm/readiness.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "base/time.h"
#include "jvm/java_args.h"
#include "jvm/javaproc.h"
#include "jvmmap/wire.h"
#include "proc/cgroup.h"
#include "proc/memory_room.h"

#define TEXT_MAX    (1u << 20)
#define STARTING_NS (5 * NS_PER_SEC)
#define QUIT_BIT    (1ull << (SIGQUIT - 1))
#define MEMORY_MIN \
	(2ull * WIRE_RING_BYTES) /* the ring, the agent's own, the JVM's for its events */

#ifdef __x86_64__
#define OUR_MACHINE EM_X86_64
#else
#define OUR_MACHINE EM_AARCH64
#endif

#define DISABLES_ATTACH "it runs with -XX:+DisableAttachMechanism; start it without"
#define DISABLES_AGENTS "it runs with -XX:-EnableDynamicAgentLoading; start it without"

/* What on a command line or in an options variable means that an agent is not welcome. */
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
 * With the process's ids: some files of the kernel's, which only root may open, do something when
 * read. By the path in its root, or, if that is not how we see its working folder, from there.
 */
static int open_options(const struct target *t, const char *name)
{
	char folder[PATH_MAX];
	ssize_t len = readlinkat(t->proc_fd, "cwd", folder, sizeof(folder) - 1);
	auto_close int cwd = openat(t->proc_fd, "cwd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool is_relative = *name != '/' && len > 0 && cwd >= 0;

	folder[len > 0 ? len : 0] = '\0';
	auto_free char *path = xasprintf("%s/%s", is_relative ? folder : "", name);
	int err = target_become(t);
	if (err)
		return err;
	int fd = target_open_file(t, path);
	if (fd < 0 && is_relative)
		fd = file_open_regular(cwd, name, RESOLVE_NO_SYMLINKS);
	target_unbecome(t);
	return fd;
}

/* An options file is searched as a whole: its words may be quoted and escaped. */
static const char *find_veto_in_file(const struct target *t, const char *path)
{
	char text[65536];
	auto_close int fd = open_options(t, path);
	ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	text[len > 0 ? len : 0] = '\0';
	return find_veto(text);
}

/* Other launchers than the JDK's have words of their own, and options may stand behind them. */
static bool is_java(const char *program)
{
	const char *slash = strrchr(program, '/');

	return !strcmp(slash ? slash + 1 : program, "java");
}

static const char *find_veto_in_args(const struct target *t, const char *cmdline, size_t len)
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

/* Whether its program is of the class and machine that our agent was built for. */
static bool is_our_machine(const struct target *t)
{
	Elf64_Ehdr head;
	auto_close int fd = openat(t->proc_fd, "exe", O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd >= 0 && read(fd, &head, sizeof(head)) == sizeof(head) &&
	       !memcmp(head.e_ident, ELFMAG, SELFMAG) && head.e_ident[EI_CLASS] == ELFCLASS64 &&
	       head.e_machine == OUR_MACHINE;
}

static char *read_in(const char *folder, const char *name)
{
	auto_free char *path = xasprintf("%s/%s", folder, name);
	char *text = NULL;
	size_t len;

	return file_read(path, 4096, &text, &len) ? NULL : text;
}

/* Whether its control group is frozen; of version 2, it looks like a sleeping process then. */
static bool is_frozen(const struct target *t)
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

static bool is_stopped(const struct target *t, char state)
{
	return strchr("Tt", state) || is_frozen(t);
}

/* What the ring takes counts for the group of the process. */
static bool has_memory(const struct target *t, struct str *why)
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

enum readiness readiness_to_attach(const struct target *t, struct str *why)
{
	auto_free char *cmdline = NULL, *environ = NULL;
	size_t cmdline_len, environ_len;

	switch (javaproc_vm(t->status.pid)) {
	case VM_HOTSPOT:
		break;
	case VM_OPENJ9:
		return answer(NEVER, "it runs OpenJ9, which is not supported", why);
	case VM_NONE:
		return answer(NEVER, "it is no JVM", why);
	}
	if (!is_our_machine(t))
		return answer(NEVER, "it is of another architecture than sysflame", why);
	if (file_read_at(t->proc_fd, "cmdline", TEXT_MAX, &cmdline, &cmdline_len) ||
	    file_read_at(t->proc_fd, "environ", TEXT_MAX, &environ, &environ_len))
		return answer(NEVER,
			      "its command line or environment cannot be read; run sysflame "
			      "as root or with CAP_SYS_PTRACE",
			      why);
	const char *veto = find_veto_in_environment(environ, environ_len);
	if (!veto)
		veto = find_veto_in_args(t, cmdline, cmdline_len);
	if (veto)
		return answer(NEVER, veto, why);
	/* A command to a stopped one would be obeyed much later, when nobody waits for it. */
	if (is_stopped(t, t->status.state))
		return answer(NOT_YET, "it is stopped; let it run", why);
	return has_memory(t, why) ? READY : NOT_YET;
}

enum readiness readiness_for_signal(const struct target *t, struct str *why)
{
	struct proc_status now;

	if (proc_status_read(t->status.pid, &now) ||
	    !proc_same_start(now.start_ns, t->status.start_ns))
		return answer(NEVER, "it has ended", why);
	if (strchr("ZXx", now.state))
		return answer(NEVER, "it has ended", why);
	if (is_stopped(t, now.state))
		return answer(NOT_YET, "it is stopped; let it run", why);
	if (now.shdpnd & QUIT_BIT)
		return answer(NOT_YET, "it has not yet taken an earlier SIGQUIT; wait", why);
	if (!(now.sigcgt & QUIT_BIT) || now.sigign & QUIT_BIT) {
		if (time_boot_ns() < t->program_ns + STARTING_NS)
			return answer(NOT_YET, "it is still starting; wait", why);
		return answer(NEVER,
			      "it does not listen to SIGQUIT (-Xrs?) and has no attach socket in "
			      "its /tmp; start it without -Xrs",
			      why);
	}
	return READY;
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
