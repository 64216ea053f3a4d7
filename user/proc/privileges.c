/* SPDX-License-Identifier: Apache-2.0 */
/* Which process keeps which capabilities. */
#include "proc/privileges.h"

#include <errno.h>
#include <sys/prctl.h>

#include "proc/capability.h"

#define RECORDER(number, stand_in, purpose)                                                        \
	{                                                                                          \
		PRIVILEGED_RECORDER, number, stand_in, PRIVILEGE_ALWAYS, "sysflame", purpose, NULL \
	}
#define RECORDER_IF(reason, number, purpose, words)                                 \
	{                                                                           \
		PRIVILEGED_RECORDER, number, -1, reason, "sysflame", purpose, words \
	}
#define ATTACH(number, stand_in, purpose)                                                          \
	{                                                                                          \
		PRIVILEGED_ATTACH, number, stand_in, PRIVILEGE_ALWAYS, "sysflame-attach", purpose, \
			NULL                                                                       \
	}
#define OPENER(number, stand_in, purpose)                                                          \
	{                                                                                          \
		PRIVILEGED_OPENER, number, stand_in, PRIVILEGE_ALWAYS, "sysflame-opener", purpose, \
			NULL                                                                       \
	}

static const struct privilege table[] = {
	RECORDER(CAP_BPF, CAP_SYS_ADMIN, "BPF programs and their maps"),
	RECORDER(CAP_PERFMON, CAP_SYS_ADMIN, "perf events, also of CPUs that come later; probes"),
	RECORDER(CAP_SYS_PTRACE, -1, "memory, mappings and roots of processes"),
	RECORDER(CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, "files of other users; tracefs"),
	RECORDER(CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN, "mapped files, by map_files"),
	RECORDER(CAP_SYSLOG, -1, "kernel names"),
	RECORDER(CAP_SYS_NICE, -1, "its priority while it is behind"),
	RECORDER_IF(PRIVILEGE_UPROBES, CAP_SYS_ADMIN, "uprobes", "before Linux 6.10"),
	RECORDER_IF(PRIVILEGE_PARANOID, CAP_SYS_ADMIN, "perf events",
		    "while perf_event_paranoid is above 2"),
	RECORDER_IF(PRIVILEGE_MEASURE, CAP_SYS_ADMIN, "run time of BPF programs", "with --measure"),
	RECORDER_IF(PRIVILEGE_OUTPUT, CAP_DAC_OVERRIDE, "the output",
		    "if another user owns its folder"),
	RECORDER_IF(PRIVILEGE_OUTPUT, CAP_FOWNER, "the output", "if another user owns its folder"),
	ATTACH(CAP_SYS_ADMIN, -1, "mounts the agent's file into containers"),
	ATTACH(CAP_SYS_CHROOT, -1, "enters their mount namespaces for it"),
	ATTACH(CAP_SETUID, -1, "acts as the user of a JVM"),
	ATTACH(CAP_SETGID, -1, "acts as the group of a JVM"),
	ATTACH(CAP_SYS_PTRACE, -1, "memory, root and descriptors of JVMs"),
	ATTACH(CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, "files of JVMs"),
	ATTACH(CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN, "mapped files, by map_files"),
	OPENER(CAP_SETUID, -1, "opens files as the user of a process"),
	OPENER(CAP_SETGID, -1, "opens files as the group of a process"),
	OPENER(CAP_SYS_PTRACE, -1, "roots and mappings of processes"),
	OPENER(CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, "files of other users"),
	OPENER(CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN, "mapped files, by map_files"),
	{ PRIVILEGED_MEMORY, CAP_SYS_PTRACE, -1, PRIVILEGE_ALWAYS, "sysflame-memory",
	  "memory of processes", NULL },
};

void privileges_each(privilege_fn visit, void *ctx)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		visit(&table[i], ctx);
}

u64 privileges_of(enum privileged process, u32 reasons, u64 held)
{
	u64 kept = 0;

	for (const struct privilege *p = table; p < table + ARRAY_SIZE(table); p++) {
		u64 wanted = CAPABILITY(p->number);
		if (p->process != process || (p->reason && !(p->reason & reasons)))
			continue;
		if (!(held & wanted) && p->stand_in >= 0)
			wanted = CAPABILITY(p->stand_in);
		kept |= held & wanted;
	}
	return kept;
}

/* Without CAP_SETPCAP the bounding set stays. It grants nothing by itself. */
static void bound(u64 kept)
{
	for (int number = 0; prctl(PR_CAPBSET_READ, number) >= 0; number++)
		if (!(kept & CAPABILITY(number)))
			prctl(PR_CAPBSET_DROP, number);
}

int privileges_keep(enum privileged process, u32 reasons)
{
	u64 kept = privileges_of(process, reasons, capabilities_read());

	bound(kept);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	int err = capabilities_keep(kept);
	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	return err;
}
